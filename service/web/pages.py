"""Owns the pages: the worlds, one of them with map and people, an NPC, a conversation as it is spoken, scenes, surveys,
quality, work in the background, a memory and how it hangs together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlmodel import Session, col
from starlette.exceptions import HTTPException

from service.content.files import PICTURE_TYPES, PICTURES
from service.content.scenes import InterventionKind
from service.conversation.dependencies import ConversationDependencies
from service.conversation.scenes import scenes_of
from service.locales import Language, language_accepted, languages, room, sentence
from service.people.worlds import WorldView
from service.runtime.content_reload import ContentReload
from service.store.event_kinds import PAYLOADS
from service.store.tables import MAIN_WORLD, ConversationRow
from world.actions import BUILT_IN
from world.ids import is_slug

router = APIRouter(include_in_schema=False)

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",  # noqa: E501
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Vary": "Accept-Language",
}
# An author's picture may be an SVG that holds a script: opened by itself, it runs nothing and loads nothing.
PICTURE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}

_HERE = Path(__file__).parent
_STATIC = StaticFiles(directory=_HERE / "static")
# Named here, for the machine's own table of types can be wrong, and `nosniff` makes that fatal.
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
_TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Which world is looked at, and in which language.

    `asked`: the language the address names, if any. `valid`: one world is named, as a world can be named.
    """

    request: Request
    world: WorldView
    world_id: str
    asked: Language | None
    valid: bool

    @property
    def deps(self) -> ConversationDependencies:
        """What the app serves with."""
        deps: ConversationDependencies = self.request.app.state.deps.conversation
        return deps

    @property
    def language(self) -> Language:
        """The language the address names, else the one the browser asks for, else the world's."""
        return self.asked or language_accepted(self.request.headers.get("accept-language")) or self.world.language

    def address(self, path: str, **query: str) -> str:
        """A page of the same world, in the language the address names, if it names one."""
        keep = {} if self.world_id == MAIN_WORLD else {"world_id": self.world_id}
        if self.asked:
            keep["lang"] = self.asked
        query = keep | query
        return f"{path}?{urlencode(query)}" if query else path

    def render(self, template: str, *, status: int = 200, **more: object) -> HTMLResponse:
        """A page of the world; `more` are the template's own values, `data` of them what its script is given."""
        if not self.valid:
            template, status = "missing.html", 404
        texts = room(self.language, "web")
        script = {"lang": self.language, "asked": self.asked, "world": self.world_id, "texts": dict(texts)}
        data = more.pop("data", {})
        assert isinstance(data, dict)  # noqa: S101 - ours alone
        html = _TEMPLATES.get_template(template).render(
            page=self,
            world=self.world,
            lang=self.language,
            t=texts,
            script=script | {"portraits": self.portraits} | data,
            tongues=[
                (code, sentence(code, "common.own_name"), urlencode(dict(self.request.query_params) | {"lang": code}))
                for code in languages()
            ],
            **more,
        )
        return HTMLResponse(html, status, dict(HEADERS))

    @property
    def portraits(self) -> dict[str, str]:
        """The addresses of the portraits that authors gave, by person."""
        people = self.world.cast.everybody.values()
        return {one.id: picture_address(one.portrait) for one in people if one.portrait}

    def missing(self) -> HTMLResponse:
        """The page for what is not there."""
        return self.render("missing.html", status=404)


async def _page(
    request: Request,
    world_id: Annotated[str | None, Query()] = None,
    x_world_id: Annotated[str | None, Header()] = None,
    lang: Annotated[str | None, Query()] = None,
) -> Visit:
    named = {name for name in (world_id, x_world_id) if name is not None} or {MAIN_WORLD}
    valid = len(named) == 1 and all(map(is_slug, named))
    found = named.pop() if valid else MAIN_WORLD
    return Visit(
        request=request,
        world=await request.app.state.deps.read(found, lambda _, world: world),
        world_id=found,
        asked=lang if lang in languages() else None,
        valid=valid,
    )


Asked = Annotated[Visit, Depends(_page)]


def picture_address(picture: str) -> str:
    """Where the pages find a picture of the content directory."""
    return f"/view/{quote(picture)}"


@router.get("/")
async def world_page(page: Asked) -> Response:
    """The world: clock, map, people, conversations, events."""
    kinds = [payload.kind for payload in PAYLOADS]
    maps = page.deps.worlds.content.checked.maps
    backgrounds = {
        area.id: {**area.background.model_dump(), "file": picture_address(area.background.file)}
        for area in (maps.maps if maps else ())
        if area.background
    }
    return page.render("world.html", data=_names(page) | {"kinds": kinds, "backgrounds": backgrounds})


@router.get("/view/content-errors")
async def content_errors(page: Asked) -> list[str]:
    """What is wrong with content files that were changed since: what was read before is in force."""
    reloads: ContentReload = page.request.app.state.deps.content_reload
    return [problem.line(page.language) for problem in reloads.problems]


@router.get("/docs")
async def docs_page() -> Response:
    """The HTTP API, to read and to try."""
    html = _TEMPLATES.get_template("docs.html").render(texts={code: room(code, "web") for code in languages()})
    return HTMLResponse(html, headers=dict(HEADERS))


@router.get("/login")
async def login_page(page: Asked, next: str = "/", wrong: bool = False, wait: int = 0) -> Response:
    """Where a person shows the service's key; `next` is where that leads. The form is sent to api/key.py."""
    return page.render("login.html", next=next, wrong=wrong, wait=wait)


@router.get("/view/conversations/{conversation_id}")
async def conversation_page(conversation_id: str, page: Asked) -> Response:
    """A conversation: live while it is spoken, and afterwards what it changed."""

    def names(session: Session) -> dict[str, str] | None:
        row = session.get(ConversationRow, (page.world_id, conversation_id))
        name_of = page.world.name_of
        return {"character": name_of(row.opener_id), "npc": name_of(row.partner_id)} if row else None

    people = await page.deps.database.read(names)
    if people is None:
        return page.missing()
    data = {"id": conversation_id, "table": page.world.setting.rules.table}
    return page.render("conversation.html", data=data, people=people)


@router.get("/view/scenes/{scene_id}")
@router.get("/view/scenes/{scene_id}/report")
async def scene_page(scene_id: str, page: Asked) -> Response:
    """A scene: its turns, what was done to it, and what its writer can do; or its feelings and relations, as charts."""
    is_it = col(ConversationRow.scene_id) == scene_id
    if not await page.deps.database.read(lambda s: scenes_of(s, page.world_id, is_it)):
        return page.missing()
    people = [page.world.cast.actor(person_id) for person_id in (*page.world.cast.npcs, *page.world.cast.characters)]
    data = {
        "id": scene_id,
        "names": {one.id: one.name for one in people},
        "kinds": {one.id: one.kind for one in people},
    }
    template = "scene_report.html" if page.request.url.path.endswith("/report") else "scene.html"
    return page.render(template, data=data, scene_id=scene_id, kinds=get_args(InterventionKind))


@router.get("/view/surveys")
async def surveys_page(page: Asked) -> Response:
    """What people are asked, and what they answer."""
    names = {one.id: one.name for one in (*page.world.cast.npcs.values(), *page.world.cast.characters.values())}
    return page.render("surveys.html", data={"names": names}, names=names)


@router.get("/view/characters/{person_id}")
@router.get("/view/npcs/{person_id}")
async def person_page(person_id: str, page: Asked, about: str | None = None) -> Response:
    """How somebody lives and feels now, its facts, and what it remembers, all of it or about somebody else."""
    world, is_npc = page.world, page.request.url.path.startswith("/view/npcs/")
    person = (world.cast.npcs if is_npc else world.cast.characters).get(person_id)
    others = {other_id: other.name for other_id, other in world.cast.everybody.items() if other_id != person_id}
    if person is None or (about is not None and about not in others):
        return page.missing()
    data = _names(page) | {
        "id": person_id,
        "name": person.name,
        "about": about,
        "names": others,
        "kinds": {other_id: other.kind for other_id, other in world.cast.everybody.items()},
        "places": {facility.id: facility.name for facility in world.map.facilities.values()},
    }
    node_id = world.map.npc_nodes[person_id] if is_npc else ""
    place = world.map.label(node_id) if is_npc else ""
    template = "npc.html" if is_npc else "memory.html"
    authored = page.deps.worlds.content.checked.names
    return page.render(
        template, data=data, person=person, others=others, place=place, node_id=node_id, authored=authored
    )


@router.get("/view/characters/{character_id}/graph")
async def graph_page(character_id: str, page: Asked) -> Response:
    """The character's whole long-term memory, drawn as a graph."""
    character = page.world.cast.characters.get(character_id)
    if character is None:
        return page.missing()
    return page.render("graph.html", data={"id": character_id, "name": character.name}, character=character)


@router.get("/view/content")
async def content_page(page: Asked) -> Response:
    """The people, places and actions of the content, each to be edited, and the way in for files of other programs."""
    directory = page.deps.worlds.content.directory
    is_sample = page.deps.settings.content_dir is None
    return page.render("parts.html", groups=_parts(page), directory=directory, is_sample=is_sample)


@router.get("/view/content/{kind}/{part_id}")
async def part_page(kind: str, part_id: str, page: Asked) -> Response:
    """A person, a place or an action, to be edited."""
    groups = _parts(page)
    if part_id not in groups.get(kind, {}):
        return page.missing()
    content = page.deps.worlds.content
    ids = {**groups, "maps": page.world.map.map_names, "pictures": dict.fromkeys(content.checked.pictures, "")}
    tongues = {code: sentence(code, "common.own_name") for code in languages()}
    data = {"kind": kind, "id": part_id, "tongues": tongues}
    return page.render("part.html", data=data, name=groups[kind][part_id] or part_id, ids=ids)


@router.get("/view/static/{name:path}")
async def static_file(name: str, request: Request) -> Response:
    """A script, style sheet or picture of the pages; the browser asks each time whether it has changed."""
    response = await _STATIC.get_response(name, request.scope)
    response.headers["Cache-Control"] = "no-cache"
    response.headers["X-Content-Type-Options"] = "nosniff"
    if response.status_code == 200:
        response.headers["Content-Type"] = _TYPES[Path(name).suffix]
    return response


@router.get("/view/pictures/{name}")
async def picture(name: str, page: Asked) -> Response:
    """A picture that the content has: of a person, or of the ground beneath a map."""
    kind = PICTURE_TYPES.get(Path(name).suffix.lower())
    file = page.deps.worlds.content.directory / PICTURES / Path(name).name
    if kind is None or name.startswith(".") or not file.is_file():
        raise HTTPException(404)
    return FileResponse(file, headers=dict(PICTURE_HEADERS), media_type=kind)


@router.get("/view/{rest:path}")
async def plain_page(rest: str, page: Asked) -> Response:
    """The pages that their scripts fill alone; and any other address below /view, where nothing is."""
    if rest.startswith("static/"):
        raise HTTPException(404)
    return page.render(f"{rest}.html") if rest in ("scenes", "quality", "worlds", "work") else page.missing()


def _parts(page: Visit) -> dict[str, dict[str, str]]:
    """What the content has of each kind, by its id: what it is called, in the page's language."""
    checked, language = page.deps.worlds.content.checked, page.language
    areas = checked.maps.maps if checked.maps else ()
    actions = checked.actions if checked.own_actions else None
    return {
        "people": {one_id: name.of(language) for one_id, name in checked.names.items()},
        "facilities": {one.id: one.name.of(language) for area in areas for one in area.facilities},
        "nodes": {one.id: one.name.of(language) for area in areas for one in area.nodes},
        "actions": {one.id: one.name.of(language) for one in (actions.actions if actions else ())},
        "gameActions": {one.id: one.description.of(language) for one in (actions.game_actions if actions else ())},
    }


def _names(page: Visit) -> dict[str, dict[str, str]]:
    """What everything that can be done, and each need, is called in the page's language."""
    catalogue, language = page.deps.worlds.content.cast(page.language).catalogue, page.language
    built_in = {action_id: sentence(language, f"decision.actions.{action_id}") for action_id in sorted(BUILT_IN)}
    return {
        "actions": built_in | {action.id: action.name for action in catalogue.actions},
        "needs": {need.id: need.name or need.id for need in catalogue.needs.all},
    }
