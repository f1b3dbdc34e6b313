"""Owns scenes: as their writer set them up, each begun as one row beside its conversation and found by its id; who is
in one, who joins or leaves at any turn, and how far it may go on.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement
from sqlmodel import Session, col, or_, select

from service.content.fields import ContentProblem, problem, schema_errors
from service.content.made import wrong_texts
from service.content.references import check_ids
from service.content.scenes import Scene, StagedScene, check_scene, named
from service.conversation.start import insert_running, participants
from service.conversation.transcript import end_row, held, log_own, require, turns_of, turns_said
from service.conversation.turn_taking import FEWEST, carry_on, spots, those_there
from service.errors import SceneWrong, WrongLine, existing, refuse
from service.llm.chat import Role
from service.locales import Phrase
from service.people.worlds import WorldRepository, WorldView
from service.store.event_kinds import ConversationJoined, ConversationLeft
from service.store.events import log_in, publish
from service.store.ids import new_id
from service.store.perception import is_there
from service.store.phase import ClockPolicy, EndReason, Modulator, Phase, TurnForm, TurnPolicy
from service.store.tables import ConversationKey, ConversationRow, ParticipantRow, SummaryRow

MOST = 8
"""People in one conversation."""


def begin(
    session: Session, world: WorldView, scene: Scene, models: Mapping[Role, str], conversation_id: str = ""
) -> ConversationRow:
    """Begin the scene, which stands before its first turn until somebody lets it go on (`go_on`); the caller has locked
    the world, and commits. Nobody is engaged: wherever they are in the world, they play. Where it was played before, a
    number is put behind its id. `conversation_id`: "": a new one.

    Raises:
        NotFound: there is no such character or NPC.
        Invalid: they are too few or too many, or one of them is named twice.
    """
    ids = tuple(one.id for one in scene.participants)
    _require_many(ids)
    for person_id in ids:
        world.cast.actor(person_id)
    location, time, situation = (one.of(world.language) for one in (scene.location, scene.time, scene.situation))
    is_node = location in world.map.nodes
    before = _played(session, world.id, scene.previous_scene) if scene.previous_scene else []
    number = max(map(_number, _played(session, world.id, scene.scene_id)), default=0) + 1
    # What was remembered of the scene before by who remembers most; "": nothing yet.
    of_last = col(SummaryRow.conversation_id).in_([one.id for one in before[-1:]])
    summaries = select(SummaryRow.summary).where(SummaryRow.world_id == world.id, of_last)
    row = ConversationRow(
        id=conversation_id or new_id(),
        world_id=world.id,
        node_id=location if is_node else "",
        place="" if is_node else location,
        clock_policy=ClockPolicy.NONE,
        language=world.language,
        max_turns=scene.max_turns,
        phase=Phase.RUNNING,
        started_at=world.now,
        models={str(role): name for role, name in models.items()},
        told=list(filter(None, (time, situation))) or None,
        form=TurnForm.SCENE,
        turn_policy=TurnPolicy(scene.turn_policy),
        modulator=Modulator(scene.modulator),
        perceptions=scene.perceptions,
        stands_at=0,
        scene_id=scene.scene_id if number == 1 else f"{scene.scene_id}.{number}",
        definition=scene.model_dump(mode="json", by_alias=True, exclude_unset=True),
        carried=max(session.exec(summaries), key=len, default="") if before else "",
    )
    row.participants = participants(session, world, row, ids)
    for one, person in zip(row.participants, scene.participants, strict=True):
        one.goal, one.plan, one.spot = (text.of(world.language) for text in (person.goal, person.plan, person.spot))
    insert_running(session, world, row)
    log_in(session, row.key, world.now, "started", scene=row.definition, conversation_id=row.id)
    session.flush()
    return row


def go_on(session: Session, worlds: WorldRepository, key: ConversationKey, turns: int | None = None) -> ConversationRow:
    """Let a scene that stands go on for so many turns more (None: to its end); the caller commits.

    Raises:
        NotFound: there is no such conversation.
        WrongPhase: it is over.
    """
    row, _ = held(session, worlds, key)
    require(row, Phase.RUNNING)
    row.stands_at = None if turns is None else turns_said(session, row) + turns
    carry_on(session, row)
    return row


def join(session: Session, row: ConversationRow, world: WorldView, person_id: str, spot: str = "") -> ParticipantRow:
    """The person takes part from the next turn on, in the next seat, at that spot ("": where most are); who was there
    before takes its own seat again, and knows nothing of what was said meanwhile. The caller holds the row, and
    commits.

    Raises:
        WrongPhase: it is over.
        Invalid: the person is there already, or they would be too many.
    """
    require(row, Phase.RUNNING)
    said = turns_of(session, row.key)
    turn, most = len(said), Counter(spots(row, said).values()).most_common(1)[0][0]
    there = [one.person_id for one in those_there(row, turn)]
    _require_many((*there, person_id))
    again = next((one for one in row.participants if one.person_id == person_id), None)
    if again is None:
        (again,) = participants(session, world, row, [person_id], seat=len(row.participants))
        row.participants.append(again)
    else:
        _keep_what_it_perceived(session, row, again)
    again.joined_turn, again.left_turn, again.spot = turn, None, spot or most
    placed = {"spot": again.spot} if row.form == TurnForm.SCENE else {}
    log_own(session, row, world, "joined", person_id=person_id, **placed)
    session.flush()
    publish(session, row, world.now, ConversationJoined(conversation_id=row.id), person_id)
    return again


def leave(session: Session, row: ConversationRow, world: WorldView, person_id: str) -> None:
    """The person takes part no longer, from the next turn on; where fewer than two are left, the conversation ends. The
    caller holds the row, and commits.

    Raises:
        WrongPhase: it is over.
        Invalid: the person is not there.
    """
    require(row, Phase.RUNNING)
    turn = turns_said(session, row)
    there = {one.person_id: one for one in those_there(row, turn)}
    refuse((person_id not in there, "person_id", "answers.invalid_fields.takes_no_part"))
    there[person_id].left_turn = turn
    log_own(session, row, world, "left", person_id=person_id)
    publish(session, row, world.now, ConversationLeft(conversation_id=row.id), person_id)
    if len(there) - 1 < FEWEST:
        end_row(session, row, world, EndReason.WANTS_TO_END, said=turn)
    session.flush()


def _keep_what_it_perceived(session: Session, row: ConversationRow, person: ParticipantRow) -> None:
    """Who perceived the turns of the person's stay is written down, for it says no more by itself when it was there."""
    for turn in turns_of(session, row.key):
        if is_there(person, turn.turn):
            there = [one.person_id for one in those_there(row, turn.turn)]
            turn.seen_by = there if turn.seen_by is None else turn.seen_by
            turn.heard_by = there if turn.heard_by is None else turn.heard_by


def _require_many(person_ids: tuple[str, ...]) -> None:
    """Raises: Invalid: too few or too many, or somebody twice."""
    count, twice = len(person_ids), next((one for one in person_ids if person_ids.count(one) > 1), None)
    refuse(
        (not FEWEST <= count <= MOST, "people", Phrase("answers.invalid_fields.how_many", count=count)),
        (twice is not None, "people", Phrase("answers.invalid_fields.takes_part_twice", id=twice)),
    )


def read_scene(session: Session, world: WorldView, said: dict[str, Any]) -> Scene:
    """A scene that a client has given, as a file of content says it.

    Raises:
        SceneWrong: it names everything that is wrong with it.
    """
    try:
        wrong = [*wrong_texts((), said)]
    except RecursionError as exc:
        raise _refused([problem("", (), "content.nested_too_deeply")]) from exc
    if wrong:
        raise _refused(wrong)
    try:
        file = named("scene", Scene.model_validate(said))
    except ValidationError as exc:
        raise _refused(schema_errors(Scene, "", exc)) from exc
    cast = world.cast
    known = {
        "person": [*cast.npcs, *cast.characters],
        "need": [need.id for need in cast.catalogue.needs.all],
        "scene": {*cast.scenes, *(row.scene_id or "" for row in scenes_of(session, world.id))},
    }
    found = [*check_ids({"": file}, known), *check_scene("", file, world.map.nodes)]
    if found:
        raise _refused(found)
    return file


def _refused(wrong: Iterable[ContentProblem]) -> SceneWrong:
    return SceneWrong([WrongLine(where=f"body.scene.{one.key_path}".rstrip("."), reason=one.said) for one in wrong])


def definition_of(row: ConversationRow) -> Scene:
    """The scene as its writer set it up."""
    return StagedScene.model_validate(row.definition)


def staged(session: Session, world_id: str, scene_id: str) -> ConversationRow:
    """The scene. Raises: NotFound."""
    query = select(ConversationRow).where(ConversationRow.world_id == world_id, ConversationRow.scene_id == scene_id)
    return existing(session.exec(query).unique().first(), "scene", scene_id)


def scenes_of(session: Session, world_id: str, *which: ColumnElement[bool]) -> list[ConversationRow]:
    """The scenes that were begun in the world, the newest first."""
    of_world = (ConversationRow.world_id == world_id, col(ConversationRow.scene_id).is_not(None))
    query = select(ConversationRow).where(*of_world, *which)
    newest = (col(ConversationRow.started_at).desc(), col(ConversationRow.id).desc())
    return list(session.exec(query.order_by(*newest)).unique())


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneSetting:
    """What a scene's prompts take from its file: when it plays, in words ("": as the world's clock shows), and what
    each remembers of the scene `before` it, by person. `grows`: somebody is to come in.
    """

    time: str = ""
    grows: bool = False
    before: Mapping[str, str] = field(default_factory=dict)


def setting_of(session: Session, row: ConversationRow) -> SceneSetting:
    """The setting of a scene; an empty one where the conversation is no scene of a file."""
    if row.definition is None:
        return SceneSetting()
    definition = definition_of(row)
    played = _played(session, row.world_id, definition.previous_scene) if definition.previous_scene else []
    remembered = select(SummaryRow).where(
        SummaryRow.world_id == row.world_id,
        col(SummaryRow.conversation_id).in_([one.id for one in played[-1:]]),
    )
    return SceneSetting(
        time=definition.time.of(row.language),
        grows=any(one.do.add_person for one in definition.interventions),
        before={one.person_id: one.summary for one in session.exec(remembered)},
    )


def following(session: Session, scene: ConversationRow) -> list[str]:
    """Ids of the scenes that were begun as going on from this one, the newest first."""

    def is_after(one: ConversationRow, previous: str) -> bool:
        before = [row for row in _played(session, one.world_id, previous) if _order(row) < _order(one)]
        return bool(before) and before[-1].id == scene.id

    found = ((one, definition_of(one).previous_scene) for one in scenes_of(session, scene.world_id))
    return [one.scene_id or "" for one, previous in found if previous and is_after(one, previous)]


def _order(scene: ConversationRow) -> tuple[int, str]:
    return scene.started_at, scene.id


def _played(session: Session, world_id: str, scene_id: str) -> list[ConversationRow]:
    """How often that scene was begun, in that order."""
    own = col(ConversationRow.scene_id)
    which = or_(own == scene_id, own.startswith(f"{scene_id}.", autoescape=True))
    return sorted(scenes_of(session, world_id, which), key=_number)


def _number(row: ConversationRow) -> int:
    _, _, number = (row.scene_id or "").partition(".")
    return int(number or 1)
