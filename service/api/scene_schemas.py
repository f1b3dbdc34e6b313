"""Owns what of scenes travels over HTTP."""

from typing import Annotated, Any, Literal

from pydantic import Field

from service.api.dependencies import NOT_BLANK, PLAIN, In, OneToTen, Out, Slug, Whole
from service.api.schemas import HeldOut, Page
from service.content.scenes import MOST_TURNS, InterventionKind
from service.people.proposals import Proposal
from service.store.tables import ConversationRow, InterventionRow, ParticipantRow, TurnRow

SceneId = Annotated[str, Field(pattern=r"^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*(?:\.[0-9]{1,6})?$", max_length=72)]
"""Of a scene that was begun: with a number behind it, where it was played before."""

_TurnNumber = Annotated[Whole, Field(ge=0, le=MOST_TURNS)]
_Words = Annotated[str, Field(min_length=1, max_length=400, pattern=NOT_BLANK), PLAIN]


class SceneIn(
    In,
    examples={
        "of the game's files": {"scene_id": "S001"},
        "a whole scene": {
            "scene": {
                "sceneId": "S009",
                "location": "A classroom",
                "time": "After school",
                "situation": "The evening sun falls in.",
                "participants": [{"id": "aoi", "goal": "Say sorry"}, "npc_taro"],
                "maxTurns": 12,
                "interventions": [{"id": "rain", "when": {"turn": 3}, "do": {"addEvent": "It begins to rain."}}],
            }
        },
    },
):
    """Which scene begins: one of the game's files, or the one that stands here."""

    scene_id: Slug | None = Field(default=None, description="id of a scene of the game's files", examples=["S001"])
    scene: dict[str, Any] | None = Field(
        default=None, description="a whole scene, with the keys of scenes/*.yaml (docs/content.md)"
    )


class TurnsIn(
    In,
    examples={
        "the next one": {"count": 1},
        "five": {"count": 5},
    },
):
    """How far a scene goes on."""

    count: Annotated[Whole, Field(ge=1, le=MOST_TURNS)] = Field(default=1, description="so many turns more")


class InterventionIn(
    In,
    examples={
        "how things stand": {"kind": "scene_situation_update", "text": "It suddenly begins to rain."},
        "something happens": {"kind": "add_event", "text": "A bell rings."},
        "somebody comes in": {"kind": "add_person", "person_id": "npc_harue", "spot": "at the door"},
        "somebody leaves": {"kind": "remove_person", "person_id": "npc_taro"},
        "a revelation to one": {"kind": "revelation", "person_id": "aoi", "text": "You may be simulated."},
        "what is to stay": {"kind": "long_term_update_request", "person_id": "aoi"},
        "the end": {"kind": "end_scene"},
    },
):
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


class SceneRewindIn(
    In,
    examples={
        "go on otherwise": {"turn": 3},
        "in another world, and keep this one": {"turn": 3, "to_world": "what-if"},
    },
):
    """Back to which turn, and where."""

    turn: _TurnNumber = Field(description="the first turn, from 0, that was not spoken yet")
    to_world: Slug | None = Field(
        default=None, description="the world that begins there, beside this one; left out: this world goes back itself"
    )


class ProposalIn(
    In,
    examples={
        "accept": {"state": "accepted"},
        "accept in other words": {"state": "accepted", "text": "Taro had a brother.", "importance": 8},
        "refuse": {"state": "refused"},
    },
):
    """What becomes of a proposal."""

    state: Literal["accepted", "refused"] = Field(description="only what is accepted holds")
    text: _Words | None = Field(default=None, description="in other words; left out: as it was proposed")
    importance: OneToTen | None = Field(default=None, description="1 to 10; left out: as it was proposed")


class SceneParticipantOut(Out, of=ParticipantRow, shows="person_id goal plan spot joined_turn left_turn"):
    """Somebody in a scene."""

    name: str = Field(description="name of the person")


class SceneTurnOut(
    Out,
    of=TurnRow,
    shows="turn speaker_id speaker_name text think act addressed urgency note model at emotion loudness",
):
    """A turn: what its speaker thinks, does and says, and who perceives it."""

    seen_by: list[str] = Field(description="ids of the others who see what it does")
    heard_by: list[str] = Field(description="ids of the others who hear what it says")


class ProposalOut(Out, of=Proposal, shows="person_id kind text importance evidence at state refused_for"):
    """Something that may be added to what is a person's for long."""

    id: str = Field(description="by which it is accepted or refused")
    person_name: str = Field(description="name of the person")


class InterventionOut(Out, of=InterventionRow, shows="number before_turn rule at"):
    """Something that was done to a scene."""

    kind: InterventionKind = Field(description="what was done to it")
    person_id: str | None = Field(description="whom it concerns; null: all")
    person_name: str | None = Field(description="its name; null: all")
    text: str = Field(description="how things stand, what happens, or what is realised; empty: of other kinds")
    spot: str = Field(description="where who comes in stands; empty: where the others are")
    failure: str | None = Field(description="type of the problem that kept the model from proposing; null: none")


class SceneOut(HeldOut, of=ConversationRow, shows="perceptions turn_policy modulator"):
    """A scene that was begun, without its turns."""

    id: str = Field(description="its id; with a number behind it, where it was played before", examples=["S001"])
    conversation_id: str = Field(description="the conversation that it is (`GET /conversations/{id}`)")
    place: str = Field(description="where it is, in words")
    time: str = Field(description="when it is, in words; empty: nothing was said")
    situation: str = Field(description="how things stand by now")
    participants: list[SceneParticipantOut] = Field(description="everybody who is or was in it, in their order")
    turns_said: int = Field(description="how many turns were spoken")
    state: Literal["stands", "speaks", "ended"] = Field(
        description="stands: it waits for its writer; speaks: turns are being spoken; ended: it is over"
    )
    previous_scene: str | None = Field(description="id of the scene before it; null: it is a first one")
    carried: str = Field(description="the summary of the scene before it; empty: there is none")
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


class ScenesOut(Page[SceneOut]):
    """Scenes that were begun in the world, the newest first; every page has those of the game's files."""

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
