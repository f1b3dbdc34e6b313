"""actions.json: its form, the world's catalogue made of it, and what people may ask of the game while they talk
(`gameActions`)."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from service.content.fields import (
    LARGEST_NUMBER,
    UNWRITTEN,
    ContentModel,
    FlagEntry,
    ListOf,
    MapId,
    Minutes,
    Names,
    NeedId,
    NodeId,
    NonEmpty,
    Number,
    OpenHours,
    Slug,
    Text,
    Words,
    refusal,
)
from service.locales import Language
from world.actions import BUILT_IN, ActionDef, Between, Catalogue, Where
from world.needs import Need, Needs
from world.places import ALWAYS_OPEN

LONGEST_ARGUMENT = 200
"""Most characters of a text where the author sets no bound: small models run on where there is none."""
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
_LONGEST_MINUTES = 525_600


class ArgumentEntry(ContentModel):
    """One argument, in JSON Schema."""

    type: Literal["string", "integer", "number", "boolean"] = Field(description="what it is / 値の型")
    description: Text = Field(default=UNWRITTEN, description="what it means, for the model / モデルに伝える意味")
    enum: ListOf[Words] = Field(default=(), description="the only texts it may be / とりうる文字列")
    minimum: Number | None = Field(default=None, description="the least number / 最小の数")
    maximum: Number | None = Field(default=None, description="the greatest number / 最大の数")
    max_length: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="most characters; left out: 200 / 最大の文字数。なければ 200"
    )


class ArgumentsEntry(ContentModel):
    """The arguments of an action, in JSON Schema: an object of plain values."""

    type: Literal["object"] = Field(default="object", description="always `object` / 常に `object`")
    properties: dict[Words, ArgumentEntry] = Field(default={}, description="each argument by its name / 引数(名前ごと)")
    required: ListOf[Words] = Field(default=(), description="those that must be there / 必ず要る引数")


class RequiresEntry(ContentModel):
    """What must be so for the action to be offered."""

    affinity: Annotated[int, Field(ge=-100, le=100)] | None = Field(
        default=None, description="the person likes the other at least so much / 相手への好感度がこの値以上"
    )
    item: Text = Field(default=UNWRITTEN, description="the person carries this thing / この物を持っている")
    flags: dict[str, FlagEntry] = Field(
        default={},
        description="each of these flags of the world is so (`PUT /world/flags`); one that was never set is false / "
        "世界のフラグ(`PUT /world/flags`)がこの値。設定されていないフラグは false",
    )


class ScopeEntry(ContentModel):
    """Where the action is offered."""

    nodes: ListOf[NodeId] = Field(default=(), description="ids of nodes; left out: any / ノードのid。なければどこでも")
    maps: ListOf[MapId] = Field(default=(), description="ids of maps; left out: any / マップのid。なければどこでも")


class GameAction(ContentModel):
    """Something that the game does for a person who talks with a player."""

    id: Slug = Field(description="the id the game knows it by / ゲームが知っているid")
    description: Text = Field(description="what it is, for the model and for memories / 何をするか(モデルと記憶のため)")
    arguments: ArgumentsEntry = Field(
        default=ArgumentsEntry(), description="JSON Schema of its arguments / 引数のJSON Schema"
    )
    who: ListOf[Annotated[str, Names("who")]] = Field(
        default=(),
        description="ids of people, or `npc`, `character`; left out: everybody / "
        "人物のid、または `npc`、`character`。なければ誰でも",
    )
    requires: RequiresEntry = Field(
        default=RequiresEntry(), description="what must be so for it to be offered / 使える条件"
    )
    scope: ScopeEntry = Field(default=ScopeEntry(), description="where it is offered / 使える場所")
    confirm: bool = Field(
        default=True,
        description="false: it counts as done as soon as it is asked for; else the game says whether it is / "
        "false なら頼んだ時点で済んだことになる。そうでなければゲームの返事を待って決まる",
    )
    cooldown_minutes: Annotated[int, Field(ge=0, le=_LONGEST_MINUTES)] = Field(
        default=0,
        description="world minutes after it was done in which the same person does not do it again / "
        "済んだあと、同じ人物が繰り返せない世界時間の分",
    )
    await_result: bool = Field(
        default=False,
        description="the answer to what the player says next waits for the game's word / "
        "プレイヤーの次の発言への返事は、ゲームの返事を待つ",
    )

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def told(self) -> str:
        """The line of a prompt that says what it is."""
        return f"{self.id}: {self.description}"

    @cached_property
    def form(self) -> type[BaseModel]:
        """Its arguments as a model whose fields are called by number: an author's names may be anything."""
        fields: dict[str, Any] = {
            f"argument_{number}": _field(name, one, is_required=name in self.arguments.required)
            for number, (name, one) in enumerate(self.arguments.properties.items())
        }
        return create_model(f"{self.id}_arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _field(name: str, entry: ArgumentEntry, *, is_required: bool) -> tuple[Any, Any]:
    kind: Any = Literal[entry.enum] if entry.enum else _TYPES[entry.type]
    bounds: dict[str, Any] = {}
    if entry.type in ("integer", "number"):
        bounds = {
            "ge": _TYPES[entry.type](-LARGEST_NUMBER if entry.minimum is None else entry.minimum),
            "le": _TYPES[entry.type](LARGEST_NUMBER if entry.maximum is None else entry.maximum),
        }
        bounds |= {"allow_inf_nan": False} if entry.type == "number" else {}
    elif entry.type == "string" and not entry.enum:
        bounds = {"max_length": entry.max_length or LONGEST_ARGUMENT}
    kind = Annotated[kind, Field(**bounds)] if bounds else kind
    told: dict[str, Any] = {"alias": name, "description": entry.description or None}
    return (kind, Field(**told)) if is_required else (kind | None, Field(default=None, **told))


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
    requires: dict[NeedId, Annotated[BoundsEntry, BeforeValidator(_bounded)]] = Field(
        default={},
        description="which level a need must have, by its id; one bound at least / "
        "前提となる欲求の値(idごと、上下どちらかは要る)",
    )
    cost: dict[NeedId, Cost] = Field(
        default={}, description="taken from a need when it begins / 始めに欲求から引かれる値"
    )
    effects: dict[NeedId, Number] = Field(
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

    effects_per_hour: dict[NeedId, Number] = Field(
        default={}, description="what an hour of talking does to a need / 会話1時間での欲求の増減"
    )


class ActionsFile(ContentModel):
    """actions.json."""

    needs: ListOf[NeedEntry] = Field(description="what a character has more or less of / キャラクターの欲求")
    talk: TalkEntry = Field(default=TalkEntry(), description="what talking does to needs / 会話が欲求に及ぼす効果")
    actions: NonEmpty[ActionEntry] = Field(description="what a character can do / キャラクターにできること")
    game_actions: ListOf[GameAction] = Field(
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
        needs=Needs(all=tuple(Need(**dict(need.in_language(language))) for need in file.needs)),
        actions=tuple(_action(action, language) for action in file.actions),
        talk_effects=file.talk.effects_per_hour,
    )


def _action(entry: ActionEntry, language: Language) -> ActionDef:
    requires = (
        Between(need_id=need_id, at_least=bounds.at_least, at_most=bounds.at_most)
        for need_id, bounds in entry.requires.items()
    )
    return ActionDef(
        **{**dict(entry.in_language(language)), "tags": frozenset(entry.tags), "requires": tuple(requires)}
    )
