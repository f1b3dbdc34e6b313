"""Owns scenes as their writer set them up: each begins as one row beside its conversation, and is found by its id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from sqlmodel import Session, col, or_, select

from service.content.made import wrong_texts
from service.content.problem import ContentProblem, problem
from service.content.scenes import Known, Scene, SceneFile, check_scene, named, scene_of
from service.content.schema_errors import schema_errors
from service.conversation.scenes import start_scene
from service.conversation.transcript import conversation_of
from service.errors import NotFound, SceneWrong, WrongLine
from service.llm.chat import Role
from service.people.worlds import WorldView
from service.store.commands import log_in
from service.store.phase import TurnForm
from service.store.tables import ConversationKey, ConversationRow, SceneRow, SummaryRow


def begin(session: Session, world: WorldView, scene: Scene, models: Mapping[Role, str]) -> SceneRow:
    """Begin the scene, which stands before its first turn; the caller has locked the world, and commits. Where it was
    played before, a number is put behind its id.

    Raises:
        NotFound: there is no such character or NPC.
        Invalid: as `start_scene`.
    """
    return stage(session, world, start_scene(session, world, scene, models).key, scene)


def stage(session: Session, world: WorldView, key: ConversationKey, scene: Scene) -> SceneRow:
    """Write down that the conversation, which has just begun, is this scene; the caller commits."""
    before = _played(session, world.id, scene.previous_scene) if scene.previous_scene else []
    staged = SceneRow(
        world_id=world.id,
        id=_free(scene.id, {one.id for one in _played(session, world.id, scene.id)}),
        conversation_id=key.conversation_id,
        definition=scene.model_dump(mode="json"),
        carried=_summary(session, before[-1]) if before else "",
        at=world.now,
    )
    session.add(staged)
    log_in(session, key, world.now, "staged", scene=staged.definition)
    session.flush()
    return staged


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
        file = named("scene", SceneFile.model_validate(said))
    except ValidationError as exc:
        raise _refused(schema_errors(SceneFile, "", exc)) from exc
    cast = world.cast
    known = Known(
        people=[*cast.npcs, *cast.characters],
        nodes=world.map.nodes,
        needs=[need.id for need in cast.catalogue.needs.all],
        scenes={*cast.scenes, *(row.id for row in scenes_of(session, world.id))},
    )
    found = list(check_scene("", file, known))
    if found:
        raise _refused(found)
    return scene_of(file, world.language)


def _refused(wrong: Iterable[ContentProblem]) -> SceneWrong:
    return SceneWrong([WrongLine(where=f"body.scene.{one.key_path}".rstrip("."), reason=one.said) for one in wrong])


def staged(session: Session, world_id: str, scene_id: str) -> tuple[SceneRow, ConversationRow]:
    """The scene and its conversation. Raises: NotFound."""
    row = session.get(SceneRow, (world_id, scene_id))
    if row is None:
        raise NotFound(kind="scene", id=scene_id)
    return row, conversation_of(session, world_id, row.conversation_id)


def key_of(session: Session, world_id: str, scene_id: str) -> ConversationKey:
    """Of its conversation. Raises: NotFound."""
    return staged(session, world_id, scene_id)[1].key


def scenes_of(session: Session, world_id: str) -> list[SceneRow]:
    """All that were begun in the world, the newest first."""
    query = select(SceneRow).where(SceneRow.world_id == world_id)
    return list(session.exec(query.order_by(col(SceneRow.at).desc(), col(SceneRow.conversation_id).desc())))


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a scene's prompts take from its file: when it plays, in words ("": as the world's clock shows), and what
    each remembers of the scene `before` it, by person.
    """

    time: str = ""
    before: Mapping[str, str] = field(default_factory=dict)


def setting_of(session: Session, row: ConversationRow) -> Setting:
    """Of a conversation that is no scene of a file: nothing."""
    query = select(SceneRow).where(SceneRow.world_id == row.world_id, SceneRow.conversation_id == row.id)
    scene = session.exec(query).first() if row.form == TurnForm.SCENE else None
    if scene is None:
        return Setting()
    previous = scene.definition.get("previous_scene")
    played = _played(session, row.world_id, previous) if previous else []
    remembered = select(SummaryRow).where(
        SummaryRow.world_id == row.world_id,
        col(SummaryRow.conversation_id).in_([one.conversation_id for one in played[-1:]]),
    )
    return Setting(
        time=str(scene.definition.get("time") or ""),
        before={one.person_id: one.summary for one in session.exec(remembered)},
    )


def following(session: Session, scene: SceneRow) -> list[str]:
    """Ids of the scenes that were begun as going on from this one, the newest first."""

    def is_after(one: SceneRow, previous: str) -> bool:
        before = [row for row in _played(session, one.world_id, previous) if _order(row) < _order(one)]
        return bool(before) and before[-1].id == scene.id

    found = ((one, one.definition.get("previous_scene")) for one in scenes_of(session, scene.world_id))
    return [one.id for one, previous in found if previous and is_after(one, previous)]


def _order(scene: SceneRow) -> tuple[int, str]:
    return scene.at, scene.conversation_id


def _played(session: Session, world_id: str, scene_id: str) -> list[SceneRow]:
    """How often that scene was begun, in that order."""
    own = or_(col(SceneRow.id) == scene_id, col(SceneRow.id).startswith(f"{scene_id}.", autoescape=True))
    rows = session.exec(select(SceneRow).where(SceneRow.world_id == world_id, own)).all()
    return sorted(rows, key=lambda row: _number(row.id))


def _number(scene_id: str) -> int:
    return int(scene_id.rpartition(".")[2]) if "." in scene_id else 1


def _free(scene_id: str, taken: set[str]) -> str:
    number = max(map(_number, taken), default=0) + 1
    return scene_id if number == 1 else f"{scene_id}.{number}"


def _summary(session: Session, before: SceneRow) -> str:
    """What was remembered of it by who remembers most; "": nothing yet."""
    query = select(SummaryRow.summary).where(
        SummaryRow.world_id == before.world_id, SummaryRow.conversation_id == before.conversation_id
    )
    return max(session.exec(query), key=len, default="")
