"""Owns what of scenes travels over HTTP."""

from typing import Annotated, Any, Literal

from pydantic import Field

from service.api.fields import NOT_BLANK, PLAIN, In, OneToTen, Out, Slug, Whole, WorldTimeText
from service.api.schemas import CostOut, FailureOut, Page
from service.content.profile import Emotion
from service.content.scenes import MOST_TURNS, InterventionKind
from service.people.proposals import LongTermKind
from service.store.phase import EndReason, Loudness, Modulator, Phase, ProposalState, TurnPolicy

SceneId = Annotated[str, Field(pattern=r"^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*(?:\.[0-9]{1,6})?$", max_length=72)]
"""Of a scene that was begun: with a number behind it, where it was played before."""

_TurnNumber = Annotated[Whole, Field(ge=0, le=MOST_TURNS)]
_Words = Annotated[str, Field(min_length=1, max_length=400, pattern=NOT_BLANK), PLAIN]


class SceneIn(In):
    """Which scene begins: one of the game's files, or the one that stands here."""

    scene_id: Slug | None = Field(default=None, description="id of a scene of the game's files", examples=["S001"])
    scene: dict[str, Any] | None = Field(
        default=None, description="a whole scene, with the keys of scenes/*.yaml (docs/content.md)"
    )


class TurnsIn(In):
    """How far a scene goes on."""

    count: Annotated[Whole, Field(ge=1, le=MOST_TURNS)] = Field(default=1, description="so many turns more")


class InterventionIn(In):
    """What its writer does to a scene."""

    kind: InterventionKind = Field(
        description="how things stand now; something happens; somebody comes in, or leaves; the scene ends; somebody "
        "alone realises something; what is to stay with somebody for long is proposed"
    )
    person_id: Slug | None = Field(
        default=None,
        description="id of who comes in, leaves, realises something, or is to keep something; of no use with others",
    )
    text: _Words | None = Field(
        default=None, description="how things stand, what happens, or what is realised; of no use with others"
    )
    spot: _Words | None = Field(default=None, description="where who comes in stands; left out: where the others are")
    before_turn: _TurnNumber | None = Field(
        default=None, description="the turn, from 0, from which on it holds: the next one; left out: that one"
    )


class SceneRewindIn(In):
    """Back to which turn, and where."""

    turn: _TurnNumber = Field(description="the first turn, from 0, that was not spoken yet")
    to_world: Slug | None = Field(
        default=None, description="the world that begins there, beside this one; left out: this world goes back itself"
    )


class ProposalIn(In):
    """What becomes of a proposal."""

    state: Literal["accepted", "refused"] = Field(description="only what is accepted holds")
    text: _Words | None = Field(default=None, description="in other words; left out: as it was proposed")
    importance: OneToTen | None = Field(default=None, description="1 to 10; left out: as it was proposed")


class SceneParticipantOut(Out):
    """Somebody in a scene."""

    person_id: str = Field(description="id of the person")
    name: str = Field(description="name of the person")
    goal: str = Field(description="what it wants of this scene; empty: nothing was said")
    plan: str = Field(description="how it means to get it; empty: nothing was said")
    spot: str = Field(description="where it stands; empty: where the others are")
    joined_turn: int = Field(description="the first turn, from 0, that it may perceive")
    left_turn: int | None = Field(description="the first turn that it does not perceive any more; null: it is there")


class SceneTurnOut(Out):
    """A turn: what its speaker thinks, does and says, and who perceives it."""

    turn: int = Field(description="its place in the scene, counted from 0")
    speaker_id: str = Field(description="id of whose turn it is")
    speaker_name: str = Field(description="name of the person")
    think: str = Field(description="what it thinks: nobody else perceives that; empty: nothing")
    act: str = Field(description="what it does; empty: nothing")
    text: str = Field(description="what it says; empty: nothing")
    emotion: Emotion = Field(description="how it shows itself")
    addressed: list[str] | None = Field(description="ids of those it speaks to; null: all")
    loudness: Loudness = Field(description="how loud it speaks")
    seen_by: list[str] = Field(description="ids of the others who see what it does")
    heard_by: list[str] = Field(description="ids of the others who hear what it says")
    urgency: int | None = Field(description="how much it wants to go on, 0 to 10; null: it was not asked")
    note: str = Field(description="what it was told before this turn; empty: nothing, or it is not kept any more")
    at: WorldTimeText = Field(description="the world time")
    model: str = Field(description="which model made it")


class ProposalOut(Out):
    """Something that may be added to what is a person's for long."""

    id: str = Field(description="by which it is accepted or refused")
    person_id: str = Field(description="whose it is")
    person_name: str = Field(description="name of the person")
    kind: LongTermKind = Field(description="an experience, a goal, or a memory")
    text: str = Field(description="what is proposed")
    importance: int = Field(description="how much it matters, 1 to 10")
    evidence: list[int] = Field(description="the turns, from 0, that it rests on")
    state: ProposalState = Field(description="only what is accepted holds")
    at: WorldTimeText = Field(description="the world time of its state")


class InterventionOut(Out):
    """Something that was done to a scene."""

    number: int = Field(description="its place among them, from 0")
    before_turn: int = Field(description="the first turn, from 0, for which it holds")
    kind: InterventionKind = Field(description="what was done to it")
    person_id: str | None = Field(description="whom it concerns; null: all")
    person_name: str | None = Field(description="its name; null: all")
    text: str = Field(description="how things stand, what happens, or what is realised; empty: of other kinds")
    spot: str = Field(description="where who comes in stands; empty: where the others are")
    rule: str | None = Field(description="id of the scene's own rule that did it; null: its writer's hand")
    failure: str | None = Field(description="type of the problem that kept the model from proposing; null: none")
    at: WorldTimeText = Field(description="the world time")


class SceneOut(Out):
    """A scene that was begun, without its turns."""

    id: str = Field(description="its id; with a number behind it, where it was played before", examples=["S001"])
    conversation_id: str = Field(description="the conversation that it is (`GET /conversations/{id}`)")
    place: str = Field(description="where it is, in words")
    time: str = Field(description="when it is, in words; empty: nothing was said")
    situation: str = Field(description="how things stand by now")
    participants: list[SceneParticipantOut] = Field(description="everybody who is or was in it, in their order")
    turn_policy: TurnPolicy = Field(description="who is next")
    modulator: Modulator = Field(description="what decides who perceives a turn")
    perceptions: int = Field(description="so many of what it perceived last a speaker goes by")
    max_turns: int = Field(description="after so many turns it ends at the latest")
    turns_said: int = Field(description="how many turns were spoken")
    state: Literal["stands", "speaks", "ended"] = Field(
        description="stands: it waits for its writer; speaks: turns are being spoken; ended: it is over"
    )
    phase: Phase = Field(description="as its conversation's")
    end_reason: EndReason | None = Field(description="why it ended; null: it has not")
    failure: FailureOut | None = Field(description="what went wrong with a model; null: nothing")
    previous_scene: str | None = Field(description="id of the scene before it; null: it is a first one")
    carried: str = Field(description="the summary of the scene before it; empty: there is none")
    started_at: WorldTimeText = Field(description="the world time it began at")
    models: dict[str, str] = Field(description="who answers per role")
    rehearsal: bool = Field(description="true where no language model speaks, but the rehearsal")
    cost: CostOut = Field(description="what its model calls came to")
    links: dict[str, str] = Field(description="addresses: `self`, `turns`, `interventions`, `proposals`, `page`")


class SceneDetail(SceneOut):
    """A scene with its turns and what was done to it."""

    turns: list[SceneTurnOut] = Field(description="all turns, in order")
    interventions: list[InterventionOut] = Field(description="all that was done to it, in order")
    proposals: list[ProposalOut] = Field(description="what may be added to what is people's for long")


class AuthoredSceneOut(Out):
    """A scene of the game's files, which can be begun."""

    id: str = Field(description="id of the scene")
    location: str = Field(description="a node, or a place in words")
    time: str = Field(description="when it is; empty: nothing is said")
    situation: str = Field(description="how things stand when it begins")
    people: dict[str, str] = Field(description="names of those who are in it when it begins, by their ids")


class ScenesOut(Page):
    """Scenes of the world; every page has those of the game's files."""

    items: list[SceneOut] = Field(description="those that were begun, the newest first")
    authored: list[AuthoredSceneOut] = Field(description="those of the game's files")


class RewoundOut(Out):
    """A scene that goes on otherwise."""

    world_id: str = Field(description="the world in which it stands before that turn: send it as `X-World-Id`")
    snapshot: str | None = Field(
        description="under which the world as it was is kept (`POST /world/restore`); null: it goes on as it was"
    )
    followed_by: list[str] = Field(
        default=[],
        description="ids of the scenes that were begun as going on from it; they stay as they were played, with what "
        "they had carried over",
    )
    scene: SceneDetail = Field(description="the scene as it stands there")
