"""Owns the endpoints by which a scene is taken away: its log, whole or as one person perceived it, and the report on
feelings and relations.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from sqlmodel import Session

from service.api.dependencies import KNOWN_QUERY, Serving, WorldId, describe
from service.api.scene_schemas import SceneId
from service.conversation.scene_log import (
    Form,
    SceneLog,
    SceneReport,
    as_json,
    as_script,
    as_yaml,
    scene_log,
    scene_report,
    view_of,
)
from service.conversation.scenes import staged
from service.conversation.transcript import turns_of
from service.conversation.turn_taking import interventions_in
from service.errors import NotFound
from service.people.attitude import attitude_changes, sum_of
from service.people.worlds import WorldView
from service.store.phase import Phase
from service.store.tables import AttitudeChangeRow
from world.time import WorldTime

router = APIRouter(prefix="/scenes", tags=["conversations"], dependencies=[KNOWN_QUERY])

_TYPES = {"json": "application/json", "yaml": "application/yaml", "script": "text/markdown", "text": "text/plain"}


@router.get(
    "/{scene_id}/log",
    response_model=SceneLog,
    responses=describe(400) | {200: {"content": {_TYPES[name]: {} for name in ("script", "text", "yaml")}}},
)
async def read_scene_log(
    scene_id: SceneId,
    deps: Serving,
    world_id: WorldId,
    form: Annotated[
        Literal["json", "yaml"] | Form,
        Query(alias="as", description="JSON or YAML; a script in Markdown; plain text for a word processor"),
    ] = "json",
    view: Annotated[
        str | None, Query(description="A person who takes part: only what it perceived and thought", examples=["aoi"])
    ] = None,
    thoughts: Annotated[bool, Query(description="Whether a script tells what people think")] = False,
) -> Response:
    """What happened in a scene, to be taken away: as JSON in Project Anima's shape, or the same as YAML
    (`application/yaml`), as a script (`text/markdown`), as plain text for a word processor (`text/plain`).
    """

    def work(session: Session, world: WorldView) -> str:
        log = _log(session, world, scene_id, view)
        if form == "json":
            return as_json(log)
        return as_yaml(log) if form == "yaml" else as_script(log, form, world.language, thoughts=thoughts)

    text = await deps.read(world_id, work)
    suffix = {"script": "md", "text": "txt"}.get(form, form)
    name = ".".join(filter(None, (scene_id, view, suffix)))
    return Response(text, media_type=_TYPES[form], headers={"Content-Disposition": f'inline; filename="{name}"'})


@router.get("/{scene_id}/report")
async def read_scene_report(scene_id: SceneId, deps: Serving, world_id: WorldId) -> SceneReport:
    """How people felt from turn to turn, how each came to stand to each other one, and the lines that turned it. All of
    it is counted from what was said: no model judges it.
    """

    def work(session: Session, world: WorldView) -> SceneReport:
        _, row = staged(session, world.id, scene_id)
        names = {person_id: world.name_of(person_id) for person_id in row.person_ids}
        found = attitude_changes(
            session, world.id, WorldTime(row.ended_at or world.now), row.person_ids, row.person_ids
        )
        before = _affinities(one for one in found if one.conversation_id is None or one.conversation_id < row.id)
        after = _affinities(one for one in found if one.conversation_id is None or one.conversation_id <= row.id)
        is_closed = row.phase == Phase.CLOSED
        return scene_report(scene_id, row, turns_of(session, row.key), names, before, after if is_closed else None)

    return await deps.read(world_id, work)


def _affinities(changes: Iterable[AttitudeChangeRow]) -> dict[tuple[str, str], int]:
    """By owner and other. Ids of conversations are in the order in which they began."""
    by_pair = defaultdict[tuple[str, str], list[AttitudeChangeRow]](list)
    for change in changes:
        by_pair[change.owner_id, change.other_id].append(change)
    return {pair: sum_of(some).affinity for pair, some in by_pair.items()}


def _log(session: Session, world: WorldView, scene_id: str, view: str | None) -> SceneLog:
    """Raises: NotFound: there is no such scene, or nobody of that id in it."""
    scene, row = staged(session, world.id, scene_id)
    place = row.place or world.map.label(row.node_id)
    log = scene_log(scene, row, turns_of(session, row.key), interventions_in(session, row.key), place)
    if view is None:
        return log
    if view not in row.person_ids:
        raise NotFound(kind="person", id=view)
    return view_of(log, row, view)
