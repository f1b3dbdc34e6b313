"""scenes/*.yaml: people whom a writer puts into a situation, and what is to happen to them there. Their form, and what
a cast holds.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self, cast

import networkx as nx
from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from service.content.fields import (
    UNWRITTEN,
    ContentModel,
    ContentProblem,
    FlagEntry,
    Key,
    ListOf,
    Names,
    NonEmpty,
    Number,
    OpenHours,
    PersonId,
    Slug,
    Text,
    closest,
    problem,
    quote,
    refusal,
)
from service.content.references import declared_once, named_once, unknown
from world.ids import is_slug

LEAST_PEOPLE, MOST_PEOPLE = 2, 8
MOST_TURNS = 99
"""The most turns of a scene."""

TurnPolicyName = Literal["in_order", "addressed", "urgency", "moderator"]
ModulatorName = Literal["all", "place", "model"]
InterventionKind = Literal[
    "scene_situation_update",
    "add_event",
    "add_person",
    "remove_person",
    "end_scene",
    "revelation",
    "long_term_update_request",
]

_ALIASES = {"participant_character_ids": "participants", "previous_scene_log_reference": "previousScene"}
"""Keys of the document that scenes come from; its other ones only part words by `_`."""

TurnNumber = Annotated[int, Field(ge=1, le=MOST_TURNS)]


class SceneParticipant(ContentModel):
    """Somebody in the scene; its id alone will do."""

    id: PersonId = Field(description="id of an NPC or a character / NPCかキャラクターのid")
    goal: Text = Field(default=UNWRITTEN, description="what it wants of this scene / この場面で望むこと")
    plan: Text = Field(default=UNWRITTEN, description="how it means to get it / そのためにしようとしていること")
    spot: Text = Field(
        default=UNWRITTEN,
        description="where in the place it stands, in words; left out: where the others are / "
        "その場のどこにいるか(文)。なければほかの人と同じところ",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_id(cls, value: Any) -> Any:
        return {"id": value} if isinstance(value, str) else value


class Said(ContentModel):
    """Words that were said."""

    words: NonEmpty[Text] = Field(description="any of these was said / このどれかが口に出された")
    by: str | None = Field(default=None, description="by this person; left out: by anybody / 言った人。なければ誰でも")


class NeedLevel(ContentModel):
    """How somebody's need stands."""

    person: str = Field(description="id of a character / キャラクターのid")
    need: Annotated[str, Names("need")] = Field(description="a need of actions.json / actions.json の欲求のid")
    below: Number | None = Field(default=None, description="it is below this level / この値より低い")
    above: Number | None = Field(default=None, description="it is above this level / この値より高い")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.below is None and self.above is None:
            raise refusal("no_level")
        return self


class Condition(ContentModel):
    """What must be so; all that is written."""

    turn: TurnNumber | None = Field(
        default=None, description="before this turn, counted from 1 / このターンの前(1から数える)"
    )
    from_turn: TurnNumber | None = Field(default=None, description="before this turn or a later one / このターン以降")
    said: Said | None = Field(
        default=None,
        description="words that were said in the scene, and since it last happened / "
        "場面の中で(前に起きたあとに)口に出された言葉",
    )
    flags: dict[str, FlagEntry] = Field(
        default={},
        description="flags of the world (`PUT /world/flags`); one that was never set is false / "
        "世界のフラグ(`PUT /world/flags`)。設定されていないフラグは false",
    )
    weather: Text | None = Field(default=None, description="the world's weather, as it is called / 世界の天気の呼び名")
    hours: OpenHours | None = Field(default=None, description="the world's time of day / 世界の時刻")
    need: NeedLevel | None = Field(default=None, description="how somebody's need stands / 誰かの欲求の値")


class Revelation(ContentModel):
    """What enters the next thought of one person alone."""

    person: str = Field(description="id of somebody in the scene / 場面にいる人のid")
    content: Text = Field(description="what it realises / 気づくこと")


class Entrance(ContentModel):
    """Who comes in; its id alone will do."""

    person: PersonId = Field(description="id of an NPC or a character / NPCかキャラクターのid")
    spot: Text = Field(default=UNWRITTEN, description="where it stands, in words / 立つところ(文)")

    @model_validator(mode="before")
    @classmethod
    def _from_id(cls, value: Any) -> Any:
        return {"person": value} if isinstance(value, str) else value


class SceneEffect(ContentModel):
    """What happens: one of the keys."""

    scene_situation_update: Text | None = Field(default=None, description="how things stand now / いまの状況")
    add_event: Text | None = Field(default=None, description="something that happens / 起こる出来事")
    add_person: Entrance | None = Field(default=None, description="somebody comes in / 人が加わる")
    remove_person: str | None = Field(default=None, description="id of who leaves / 去る人のid")
    end_scene: Literal[True] | None = Field(default=None, description="true: the scene ends / true で場面が終わる")
    revelation: Revelation | None = Field(
        default=None, description="enters the next thought of one person alone / 一人だけの次の思考に入る"
    )
    long_term_update_request: str | None = Field(
        default=None,
        description="id of whose experiences, goals and memories are to be proposed anew / "
        "経験・目標・記憶の追加案を作る人のid",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for _, value in self) != 1:
            raise refusal("one_effect")
        return self

    @property
    def kind(self) -> InterventionKind:
        """Which of the keys it is."""
        return cast("InterventionKind", next(name for name, value in self if value is not None))

    @property
    def person_id(self) -> str | None:
        """Whom it concerns; None: nobody alone."""
        value = getattr(self, self.kind)
        return getattr(value, "person", value if isinstance(value, str) and not isinstance(value, Text) else None)

    @property
    def text(self) -> Text:
        """How things stand, what happens, or what is realised."""
        value = getattr(self, self.kind)
        return value.content if isinstance(value, Revelation) else value if isinstance(value, Text) else UNWRITTEN

    @property
    def person_key(self) -> Key:
        """Where its person stands."""
        return (to_camel(self.kind), *(("person",) if isinstance(getattr(self, self.kind), ContentModel) else ()))


class Intervention(ContentModel):
    """Something that happens to the scene when it is time."""

    id: Slug = Field(description="its id in the scene / 場面の中でのid")
    when: Condition = Field(description="what must be so / 起こる条件")
    do: SceneEffect = Field(description="what happens / 起こること")
    times: int = Field(default=1, ge=1, le=MOST_TURNS, description="how often at most / 最大の回数")


class Scene(ContentModel):
    """scenes/*.yaml: a scene as its writer set it up."""

    scene_id: Slug = Field(default="", description="its id; left out: as the file is called / id。なければファイル名")
    location: Text = Field(description="id of a node, or in words / ノードのid、または文")
    time: Text = Field(default=UNWRITTEN, description="when it is, in words / いつか(文)")
    situation: Text = Field(description="how things stand when it begins / 始まるときの状況")
    participants: ListOf[SceneParticipant] = Field(
        description="2 to 8 people, in the order in which they speak / 2人から8人。この順に話す"
    )
    turn_policy: TurnPolicyName = Field(
        default="in_order",
        description="who is next: in order; addressed: whom the last words were said to; urgency: who wanted most to "
        "go on; moderator: whom a model chooses / 次に話す人。in_order は順に、addressed は話しかけられた人、"
        "urgency はいちばん話したい人、moderator はモデルが選ぶ人",
    )
    modulator: ModulatorName = Field(
        default="all",
        description="who perceives a turn: all; place: by spot and loudness; model: a model decides / "
        "ターンに気づく人。all は全員、place は立つところと声の大きさで、model はモデルが決める",
    )
    perceptions: int = Field(
        default=3,
        ge=1,
        le=20,
        description="so many of what it perceived last a speaker goes by / 話す人に示す、直近に気づいたことの数",
    )
    max_turns: TurnNumber = Field(default=24, description="the most turns / 最大のターン数")
    previous_scene: Annotated[str, Names("scene")] | None = Field(
        default=None, description="id of the scene whose summary is carried over / あらすじを引き継ぐ前の場面のid"
    )
    interventions: ListOf[Intervention] = Field(
        default=(), description="what happens to it when it is time / 条件がそろったときに起こること"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_aliases(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        named = {_key(name): inside for name, inside in value.items()}
        if len(named) < len(value):
            raise refusal("key_of_two_names")
        reference = value.get("previous_scene_log_reference")
        if isinstance(reference, str):  # of a log: scene_S000.json
            named["previousScene"] = PurePath(reference).stem.removeprefix("scene_")
        return named

    @model_validator(mode="after")
    def _peopled(self) -> Self:
        if not LEAST_PEOPLE <= len(self.participants) <= MOST_PEOPLE:
            raise refusal("scene_people")
        return self


class StagedScene(Scene):
    """A scene that is begun: one of a data set need not say how things stand."""

    situation: Text = UNWRITTEN


def _key(name: Any) -> Any:
    if name in _ALIASES:
        return _ALIASES[name]
    return to_camel(name) if isinstance(name, str) and "_" in name else name


def named(file: str, scene: Scene) -> Scene:
    """With its id: that of its file, where it says none itself."""
    return scene if scene.scene_id else scene.model_copy(update={"scene_id": PurePath(file).stem})


def check_scenes(files: Mapping[str, Scene], nodes: Collection[str] | None) -> Iterator[ContentProblem]:
    """Every id of a scene that is taken, every circle of scenes, and what is wrong within one. `nodes`: ids of places
    (None: the map could not be read).
    """
    yield from declared_once((file, ("sceneId",), scene.scene_id) for file, scene in files.items())
    before = nx.DiGraph((one.previous_scene, one.scene_id) for one in files.values() if one.previous_scene)
    circles = {scene_id for circle in nx.simple_cycles(before) for scene_id in circle}
    for file, scene in files.items():
        yield from check_scene(file, scene, nodes)
        if scene.scene_id in circles:
            yield problem(file, ("previousScene",), "content.scene_circle", id=quote(scene.scene_id))


def check_scene(file: str, scene: Scene, nodes: Collection[str] | None) -> Iterator[ContentProblem]:
    """A place that is not there, whoever is named twice or is not in the scene, and every turn after its last."""
    yield from check_location(file, ("location",), scene.location, nodes)
    people = [one.id for one in scene.participants]
    yield from named_once(file, "participants", people, "id")
    yield from declared_once((file, ("interventions", i, "id"), one.id) for i, one in enumerate(scene.interventions))
    people += sorted({one.do.add_person.person for one in scene.interventions if one.do.add_person})
    for i, one in enumerate(scene.interventions):
        when, key = one.when, ("interventions", i)
        for name, turn in (("turn", when.turn), ("fromTurn", when.from_turn)):
            if turn is not None and turn > scene.max_turns:
                yield problem(file, (*key, "when", name), "content.turn_after_last", turn=turn, most=scene.max_turns)
        named_there: list[tuple[Key, str | None]] = [
            (("do", *one.do.person_key), one.do.person_id),
            (("when", "said", "by"), when.said.by if when.said else None),
            (("when", "need", "person"), when.need.person if when.need else None),
        ]
        for where, person_id in named_there:
            if person_id is not None and person_id not in people:
                yield unknown(file, (*key, *where), "content.not_in_scene", person_id, people)


def check_location(file: str, key: Key, location: Text, nodes: Collection[str] | None) -> Iterator[ContentProblem]:
    """What looks like the id of a node, and is none; see check_scenes."""
    place = location.of("en")
    if nodes is not None and is_slug(place) and place not in nodes and closest(place, nodes):
        yield unknown(file, key, "content.unknown_node_or_words", place, nodes)
