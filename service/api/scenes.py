"""Owns the endpoints of scenes: they are begun, go on, are interfered with, end, are brought back to a turn, and taken
away as a log or a report.
"""

from contextlib import nullcontext, suppress
from functools import partial
from operator import itemgetter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic.alias_generators import to_camel
from sqlmodel import Session

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    After,
    AsAsked,
    AtMost,
    OnceReadAnew,
    Serving,
    Slug,
    WorldId,
    cut,
    describe,
)
from service.api.scene_schemas import (
    AuthoredSceneOut,
    InterventionIn,
    InterventionOut,
    ProposalIn,
    ProposalOut,
    RewoundOut,
    SceneDetail,
    SceneId,
    SceneIn,
    SceneOut,
    SceneRewindIn,
    ScenesOut,
    SceneTurnOut,
    TurnsIn,
)
from service.content.scenes import SceneEffect
from service.conversation.interventions import intervene, judge, proposals_of, propose
from service.conversation.scene_log import (
    Form,
    SceneLog,
    SceneReport,
    as_json,
    as_script,
    as_yaml,
    read_log,
    read_report,
)
from service.conversation.scenes import begin, definition_of, following, go_on, read_scene, scenes_of, staged
from service.conversation.transcript import turns_of, turns_said
from service.conversation.turn_taking import interventions_in
from service.core import Core
from service.errors import NotFound, SceneOver, existing, refuse
from service.history.rewind import PastMoment
from service.locales import Phrase
from service.people.proposals import Proposal
from service.people.worlds import WorldView
from service.runtime import snapshots
from service.store.idempotency import Once, Replayed, first_answer, once, write_once
from service.store.jobs import job_of
from service.store.perception import perceivers
from service.store.phase import Phase, ProposalState
from service.store.tables import ConversationKey, ConversationRow, InterventionRow

router = APIRouter(prefix="/scenes", tags=["conversations"], dependencies=[KNOWN_QUERY])

Wait = Annotated[bool, Query(description="Answer when the turns are spoken, not at once")]
_TYPES = {"json": "application/json", "yaml": "application/yaml", "script": "text/markdown", "text": "text/plain"}
_WAITED: dict[int | str, dict[str, Any]] = {
    200: {"model": SceneDetail, "description": "With wait=true: as it stands after its turns"}
}


@router.post("", status_code=201, responses=describe(404, 409))
async def begin_scene(
    body: SceneIn,
    response: Response,
    deps: Serving,
    world_id: WorldId,
    request: OnceReadAnew,
) -> SceneDetail:
    """Begin a scene: one of the game's files, or a whole one. It stands before its first turn; nobody in it is kept
    from living meanwhile.
    """
    refuse(((body.scene_id is None) == (body.scene is None), "body.scene_id", "answers.invalid_fields.one_scene"))
    deps.require_models()
    conversation = deps.conversation

    def work(session: Session) -> str:
        world = conversation.worlds.open(session, world_id, lock=True)
        scene = (
            existing(world.cast.scenes.get(body.scene_id or ""), "scene", body.scene_id)
            if body.scene is None
            else read_scene(session, world, body.scene)
        )
        conversation.budget.require_talk(session)
        return begin(session, world, scene, conversation.models.names()).scene_id or ""

    scene_id = await first_answer(write_once(conversation.database, request, work))
    response.headers["Location"] = views.address(world_id, f"/scenes/{scene_id}")
    return await read_scene_of_world(scene_id, deps, world_id)


@router.get("")
async def list_scenes(deps: Serving, world_id: WorldId, after: After = None, limit: AtMost = None) -> ScenesOut:
    """The scenes that were begun in this world, and those of the game's files."""

    def work(session: Session, world: WorldView) -> ScenesOut:
        found, following = cut(scenes_of(session, world_id), lambda scene: scene.scene_id or "", after, limit)
        return ScenesOut(
            items=[SceneOut.of(row, **_of_scene(session, row, world)) for row in found],
            next=following,
            authored=[
                AuthoredSceneOut(
                    id=one.scene_id,
                    location=one.location.of(world.language),
                    time=one.time.of(world.language),
                    situation=one.situation.of(world.language),
                    people={who.id: world.name_of(who.id) for who in one.participants},
                )
                for one in world.cast.scenes.values()
            ],
        )

    return await deps.read(world_id, work)


@router.get("/{scene_id}")
async def read_scene_of_world(scene_id: SceneId, deps: Serving, world_id: WorldId) -> SceneDetail:
    """A scene with its turns, what was done to it, and what may stay with its people for long."""
    return await deps.read(world_id, partial(_detail, scene_id=scene_id))


def _detail(session: Session, world: WorldView, scene_id: str) -> SceneDetail:
    row = staged(session, world.id, scene_id)
    return SceneDetail.of(
        row,
        **_of_scene(session, row, world),
        turns=[
            SceneTurnOut.of(
                turn,
                seen_by=perceivers(row, turn, turn.seen_by),
                heard_by=perceivers(row, turn, turn.heard_by),
            )
            for turn in turns_of(session, row.key)
        ],
        interventions=[_intervention(world, one) for one in interventions_in(session, row.key)],
        proposals=[_proposal(world, one) for one in proposals_of(session, row.key)],
    )


@router.post("/{scene_id}/turns", status_code=202, responses=_WAITED | describe(409))
async def speak_turns(
    scene_id: SceneId,
    body: TurnsIn,
    response: Response,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
    wait: Wait = False,
) -> SceneDetail:
    """Let the scene go on for so many turns; then it stands again. The answer comes at once (202), or, with
    `wait=true`, when they are spoken (200).
    """
    deps.require_models()
    conversation = deps.conversation

    def work(session: Session) -> ConversationKey:
        row = staged(session, world_id, scene_id)
        if row.phase != Phase.RUNNING:
            raise SceneOver(turns=len(turns_of(session, row.key)))
        go_on(session, conversation.worlds, row.key, body.count)
        return row.key

    writing = write_once(conversation.database, Once.of(world_id, asked, is_read_anew=True), work)
    key = await first_answer(writing, lambda known: ConversationKey(*known))
    await _carry_on(deps, key, response, wait=wait)
    response.headers["Location"] = views.address(world_id, f"/scenes/{scene_id}")
    return await read_scene_of_world(scene_id, deps, world_id)


@router.post(
    "/{scene_id}/interventions",
    status_code=201,
    responses=describe(409, 502),
)
async def intervene_in_scene(
    scene_id: SceneId,
    body: InterventionIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> InterventionOut:
    """Do something to the scene; it holds from its next turn on. A turn that is being spoken is spoken anew.

    `revelation` enters the next thought of one person alone. `long_term_update_request` is answered by one model call,
    also when the scene has ended: see `GET /scenes/{id}/proposals`.
    """
    effect = _effect(body)
    of_past = body.kind == "long_term_update_request"
    if of_past:
        deps.require_models()
    shown = itemgetter(0 if of_past else 1)
    request = Once.of(world_id, asked, is_read_anew=of_past, shown=shown)
    key = await deps.conversation.database.read(lambda s: staged(s, world_id, scene_id).key)
    if not of_past:
        return (await _intervene(deps, key, effect, body.before_turn, request))[1]
    try:
        number, _ = await _intervene(deps, key, effect, body.before_turn, request)
    except Replayed as known:
        number = known.answer

    def told(session: Session, world: WorldView) -> tuple[bool, InterventionOut]:
        row = session.get_one(InterventionRow, (*key, number))
        return "proposed" in row.details, _intervention(world, row)

    is_answered, _ = await deps.read(world_id, told)
    if not is_answered:
        await propose(deps.conversation, key, number)
    return (await deps.read(world_id, told))[1]


async def _intervene(
    deps: Core, key: ConversationKey, effect: SceneEffect, before_turn: int | None, request: Once | None
) -> tuple[int, InterventionOut]:
    """Its number among what was done to the scene, and what it is. What is being said knows nothing of it: it is said
    anew.
    """
    worlds, speaks_on = deps.conversation.worlds, effect.kind == "long_term_update_request"

    def work(session: Session) -> tuple[int, InterventionOut]:
        row = intervene(session, worlds, key, effect, before_turn)
        return row.number, _intervention(worlds.open(session, key.world_id), row)

    async with nullcontext() if speaks_on else deps.jobs.dropped(job_of(key)):
        return await write_once(deps.conversation.database, request, work)


@router.post("/{scene_id}/end", status_code=202, responses=_WAITED | describe(409))
async def end_scene(
    scene_id: SceneId, response: Response, deps: Serving, world_id: WorldId, asked: AsAsked, wait: Wait = False
) -> SceneDetail:
    """End the scene. Its people remember it as any conversation: each what it perceived. One that has ended is answered
    with what came of it.
    """
    key = await deps.conversation.database.read(lambda s: staged(s, world_id, scene_id).key)
    request = Once.of(world_id, asked, is_read_anew=True, shown=itemgetter(0))
    with suppress(Replayed, SceneOver):
        await _intervene(deps, key, _effect(InterventionIn(kind="end_scene")), None, request)
    await _carry_on(deps, key, response, wait=wait)
    return await read_scene_of_world(scene_id, deps, world_id)


@router.post("/{scene_id}/rewind", responses=describe(409))
async def rewind_scene(
    scene_id: SceneId, body: SceneRewindIn, deps: Serving, world_id: WorldId, asked: AsAsked
) -> RewoundOut:
    """Bring the scene back to before a turn, to go on otherwise. It alone goes back: what was learned, felt or promised
    in it after that is no more, while the world and its other scenes stay as they are, also what was said there of what
    was known from this one. As it was all is kept in a snapshot. With `to_world` this world goes on as it was, and
    another world begins at that moment.
    """
    conversation = deps.conversation

    def work(session: Session) -> tuple[ConversationKey, list[str]]:
        row = staged(session, world_id, scene_id)
        return row.key, following(session, row)

    key, followed_by = await conversation.database.read(work)
    if body.to_world is not None:
        moment = PastMoment(conversation_id=key.conversation_id, turn=body.turn)
        request = Once.of(world_id, asked, is_read_anew=True)
        await first_answer(deps.branch(world_id, body.to_world, None, moment, request))
        scene = await read_scene_of_world(scene_id, deps, body.to_world)
        return RewoundOut(world_id=body.to_world, snapshot=None, scene=scene)
    kept = await conversation.database.read(lambda s: _kept_as(s, key, scene_id, body.turn))
    await snapshots.keep(conversation, world_id, kept)

    def go_back(session: Session) -> RewoundOut:
        snapshots.take_back(session, key, body.turn)
        scene = _detail(session, conversation.worlds.open(session, world_id), scene_id)
        return RewoundOut(world_id=world_id, snapshot=kept, followed_by=followed_by, scene=scene)

    return await deps.rewrite(world_id, lambda s: once(s, Once.of(world_id, asked), partial(go_back, s)))


@router.get("/{scene_id}/proposals")
async def list_proposals(scene_id: SceneId, deps: Serving, world_id: WorldId) -> list[ProposalOut]:
    """What may be added to what is people's for long, after this scene; it holds only once it is accepted."""
    return (await read_scene_of_world(scene_id, deps, world_id)).proposals


@router.post("/{scene_id}/proposals/{proposal_id}")
async def judge_proposal(
    scene_id: SceneId,
    proposal_id: Slug,
    body: ProposalIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> ProposalOut:
    """Accept a proposal, in other words if need be, or refuse it. What is accepted stands in that person's prompts from
    its next conversation on: an experience or a goal beside those of its author, a memory among its memories.
    """
    conversation = deps.conversation

    def work(session: Session) -> ProposalOut:
        world = conversation.worlds.open(session, world_id, lock=True)
        key, state = staged(session, world_id, scene_id).key, ProposalState(body.state)
        row = judge(session, conversation.memory, world, key, proposal_id, state, body.text, body.importance)
        return _proposal(world, row)

    found = await write_once(conversation.database, Once.of(world_id, asked), work)
    await deps.bring_on(world_id)
    return found


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
        log = read_log(session, world, scene_id, view)
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

    return await deps.read(world_id, lambda session, world: read_report(session, world, scene_id))


async def _carry_on(deps: Core, key: ConversationKey, response: Response, *, wait: bool) -> None:
    response.status_code = 200 if wait else 202
    if wait:
        await deps.wait(key)


def _effect(body: InterventionIn) -> SceneEffect:
    """Raises: Invalid: something is missing, or of no use with that kind."""
    takes = {
        "person_id": body.kind in ("add_person", "remove_person", "revelation", "long_term_update_request"),
        "text": body.kind in ("scene_situation_update", "add_event", "revelation"),
        "spot": body.kind == "add_person",
    }
    given = body.model_dump(include={*takes}, exclude_none=True)
    too_much = Phrase("answers.invalid_fields.not_of_kind", kind=body.kind)
    missing = Phrase("answers.invalid_fields.of_kind", kind=body.kind)
    refuse(
        *((name in given and not takes[name], f"body.{name}", too_much) for name in takes),
        *((takes[name] and name not in given, f"body.{name}", missing) for name in ("person_id", "text")),
    )
    said: dict[str, Any] = {
        "add_person": {"person": body.person_id} | ({"spot": body.spot} if body.spot else {}),
        "revelation": {"person": body.person_id, "content": body.text},
        "end_scene": True,
    }
    return SceneEffect.model_validate({to_camel(body.kind): said.get(body.kind, body.person_id or body.text)})


def _kept_as(session: Session, key: ConversationKey, scene_id: str, turn: int) -> str:
    """A free name for the world as it is before the scene goes back to that turn. Raises: NotFound: it was not said."""
    if turn >= len(turns_of(session, key)):
        raise NotFound(kind="turn", id=turn)
    taken = {one.name for one in snapshots.snapshots(session, key.world_id)}
    plain, number = f"before-rewind-{scene_id.replace('.', '-')}", 1
    while f"{plain}-{number}" in taken:
        number += 1
    return f"{plain}-{number}"


def _of_scene(session: Session, row: ConversationRow, world: WorldView) -> dict[str, Any]:
    """What the conversation's row calls otherwise, or does not have."""
    definition = definition_of(row)
    said, done = turns_said(session, row), interventions_in(session, row.key)
    told = [one.details["situation"] for one in done if one.kind == "scene_situation_update"]
    stands = row.stands_at is not None and row.stands_at <= said
    address = f"/scenes/{row.scene_id}"
    parts = {"self": "", "turns": "/turns", "interventions": "/interventions", "proposals": "/proposals"}
    return {
        **views.held(row, world),
        "id": row.scene_id,
        "conversation_id": row.id,
        "place": row.place or world.map.label(row.node_id),
        "time": definition.time.of(world.language),
        "situation": told[-1] if told else definition.situation.of(world.language),
        "participants": [{**one.model_dump(), "name": world.name_of(one.person_id)} for one in row.participants],
        "turns_said": said,
        "state": "ended" if row.phase != Phase.RUNNING else "stands" if stands else "speaks",
        "previous_scene": definition.previous_scene,
        "links": {name: views.address(world.id, f"{address}{part}") for name, part in parts.items()}
        | {"page": views.address(world.id, f"/view{address}")},
    }


def _intervention(world: WorldView, row: InterventionRow) -> InterventionOut:
    details = row.details
    text = next((details[name] for name in ("situation", "event", "content") if name in details), "")
    return InterventionOut.of(
        row,
        person_id=row.target_id,
        person_name=None if row.target_id is None else world.name_of(row.target_id),
        text=text,
        spot=details.get("spot", ""),
        failure=details.get("failure"),
    )


def _proposal(world: WorldView, row: Proposal) -> ProposalOut:
    return ProposalOut.of(row, person_name=world.name_of(row.person_id))
