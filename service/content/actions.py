"""actions.json: its form, and the world's catalogue made of it."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from service.content.fields import (
    LARGEST_NUMBER,
    ContentModel,
    ListOf,
    Minutes,
    NonEmpty,
    Number,
    OpenHours,
    Slug,
    Text,
    refusal,
)
from service.content.game_actions import GameActionEntry
from service.locales import Language
from world.actions import BUILT_IN, ActionDef, Between, Catalogue, Where
from world.needs import Need, Needs
from world.places import ALWAYS_OPEN

_MOST_SEATS = 1_000_000


def _own(action_id: str) -> str:
    if action_id in BUILT_IN:
        raise refusal("built_in")
    return action_id


def _bounded(value: object) -> object:
    if value == {}:
        raise refusal("no_bounds")
    return value


Cost = Annotated[float, Field(ge=0, le=LARGEST_NUMBER, allow_inf_nan=False)]


class NeedEntry(ContentModel):
    """Something a character has more or less of."""

    id: Slug = Field(description="the need's id / 欲求のid")
    name: Text = Field(description="what people call it / 呼び名")
    lowest: Number = Field(default=0.0, description="the lowest level / いちばん低い値")
    highest: Number = Field(default=100.0, description="the highest level / いちばん高い値")
    start: Number = Field(description="the level a character begins with / キャラクターの始めの値")
    critical: Number | None = Field(
        default=None,
        description="at or below it the need is urgent; left out: never / この値以下で切迫。なければ切迫しない",
    )
    drift_per_hour: Number = Field(default=0.0, description="change in an hour by itself / 何もしない1時間の増減")


class BoundsEntry(ContentModel):
    """A precondition on one need."""

    at_least: Number = Field(default=float("-inf"), description="the lowest level allowed / この値以上")
    at_most: Number = Field(default=float("inf"), description="the highest level allowed / この値以下")


class ActionEntry(ContentModel):
    """Something a character can do. `hours` left out: at any time."""

    id: Annotated[Slug, AfterValidator(_own)] = Field(
        description="the action's id; none that is built in / 行動のid。組み込みの名前は使えない"
    )
    name: Text = Field(description="what people call it / 呼び名")
    where: Annotated[Where, Field(strict=False)] = Field(
        default=Where.FACILITY, description="where it can be done / どこでできるか"
    )
    tags: ListOf[Slug] = Field(
        default=(),
        description="the facility carries one of them; only with `where` facility / "
        "施設の `tags` のどれか1つ。`where` が facility のときだけ",
    )
    minutes: Minutes = Field(description="how long it takes / 所要分")
    seats: Annotated[int, Field(ge=1, le=_MOST_SEATS)] | None = Field(
        default=None,
        description="how many can do it at once in one facility; left out: any number / "
        "1つの施設で同時にできる人数。なければ無制限",
    )
    hours: NonEmpty[OpenHours] = Field(default=ALWAYS_OPEN, description="when it may begin / 始められる時間帯")
    requires: dict[str, Annotated[BoundsEntry, BeforeValidator(_bounded)]] = Field(
        default={},
        description="which level a need must have, by its id; one bound at least / "
        "前提となる欲求の値(idごと、上下どちらかは要る)",
    )
    cost: dict[str, Cost] = Field(default={}, description="taken from a need when it begins / 始めに欲求から引かれる値")
    effects: dict[str, Number] = Field(
        default={},
        description="what the whole of it does to a need, gained evenly / 全体での欲求の増減。時間とともに均等に得る",
    )
    interruptible: bool = Field(
        default=True, description="false: nobody can speak to who does it / false なら話しかけられない"
    )
    ends_day: bool = Field(
        default=False,
        description="the night's sleep: it clears the day's conversations; one action must be / "
        "夜の眠り。その日の会話が消える。1つは必要",
    )


class TalkEntry(ContentModel):
    """What talking does to needs."""

    effects_per_hour: dict[str, Number] = Field(
        default={}, description="what an hour of talking does to a need / 会話1時間での欲求の増減"
    )


class ActionsFile(ContentModel):
    """actions.json."""

    needs: ListOf[NeedEntry] = Field(description="what a character has more or less of / キャラクターの欲求")
    talk: TalkEntry = Field(default=TalkEntry(), description="what talking does to needs / 会話が欲求に及ぼす効果")
    actions: NonEmpty[ActionEntry] = Field(description="what a character can do / キャラクターにできること")
    game_actions: ListOf[GameActionEntry] = Field(
        default=(),
        description="what people may ask of the game while they talk with a player / "
        "プレイヤーと話す人物がゲームに頼めること",
    )


def catalogue(file: ActionsFile, language: Language) -> Catalogue:
    """What can be done, with names in that language.

    Raises:
        ValueError: an id is there twice, a need is not there, or a level lies out of bounds.
    """
    return Catalogue(
        needs=Needs(all=tuple(Need(**need.in_language(language)) for need in file.needs)),
        actions=tuple(_action(action, language) for action in file.actions),
        talk_effects=file.talk.effects_per_hour,
    )


def _action(entry: ActionEntry, language: Language) -> ActionDef:
    requires = (
        Between(need_id=need_id, at_least=bounds.at_least, at_most=bounds.at_most)
        for need_id, bounds in entry.requires.items()
    )
    return ActionDef(**{**entry.in_language(language), "tags": frozenset(entry.tags), "requires": tuple(requires)})
