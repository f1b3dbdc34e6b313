"""Owns the endpoints of an author's hand on content files: a person, a place or an action is read and changed in its
file; files of other programs are looked at, and then taken in.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from pydantic import Base64Bytes, Field

from service.api.dependencies import KNOWN_QUERY, AsAsked, In, Out, Serving, Slug, WorldId, describe
from service.api.problem import FieldError, language_of
from service.content.editing import (
    Importer,
    PartKind,
    changed_part,
    digest,
    read_part,
    write_part,
)
from service.content.files import read_bytes, write_all
from service.core import Core
from service.errors import ContentChanged, ContentFixed, Invalid
from service.locales import Phrase
from service.store.idempotency import Once, write_once

router = APIRouter(prefix="/content", tags=["world"], dependencies=[KNOWN_QUERY])

IfMatch = Annotated[str, Header(max_length=100, description="the `etag` of what was read")]


class PartOut(Out):
    """A person, a place or an action, as its file says it now."""

    file: str = Field(description="the file, below the content directory", examples=["characters/aoi.yaml"])
    etag: str = Field(description="another one whenever the file is: `If-Match` of a change")
    values: dict[str, Any] | None = Field(description="its keys as the file has them; null: the file cannot be read")
    form: dict[str, Any] = Field(description="JSON Schema of its keys")
    problems: list[FieldError] = Field(description="what `kataribe check` says against it, by field")
    writable: bool = Field(description="false: it is of the sample, or of a directory that cannot be written to")


class PartIn(
    In, examples={"another line": {"values": {"id": "sora", "name": "Sora", "personality": "Shy.", "home": "square"}}}
):
    """What the file is to say of it instead."""

    values: dict[str, Any] = Field(description="all its keys; those that are as before stay as they were written")
    picture: Base64Bytes | None = Field(
        default=None, description="of a person: a picture (SVG, PNG, JPEG, WebP, GIF, AVIF) that becomes its portrait"
    )


class ImportIn(In, examples={"a card": {"files": {"ione.json": "eyJuYW1lIjogIklvbmUifQ=="}}}):
    """Files of other programs: a Character Card, an agent of TinyTroupe, or a map of Tiled with its tilesets."""

    files: Annotated[dict[str, Base64Bytes], Field(min_length=1, max_length=20)] = Field(
        description="the files in base64, by their names"
    )
    id: Slug | None = Field(default=None, description="the person's id; left out: made of its name")
    home: Slug | None = Field(default=None, description="the node where it lives; left out: the first that is open")
    replace: bool = Field(default=False, description="true: also in place of what is there")


class ImportOut(Out):
    """What becomes, or became, of the files."""

    files: dict[str, str | None] = Field(description="content files by their names; null: such a file is to be gone")
    before: dict[str, str] = Field(description="what those of them say that are there already")
    notes: list[str] = Field(description="what was not carried over, or was changed on the way")
    etag: str = Field(description="`If-Match` with which just this is written")
    written: bool = Field(description="false: this is a preview, and nothing was written")


@router.get("/{kind}/{part_id}", responses=describe(404))
async def read_content(kind: PartKind, part_id: Slug, request: Request, response: Response, deps: Serving) -> PartOut:
    """A person, a facility, a node, an action, or an action of the game, as its file says it now."""
    content = deps.conversation.worlds.content
    part = await asyncio.to_thread(read_part, content.directory, content.checked, kind, part_id)
    response.headers["ETag"] = f'"{part.etag}"'
    language = language_of(request)
    return PartOut(
        file=part.file,
        etag=part.etag,
        values=part.values,
        form=part.form.model_json_schema(),
        problems=[FieldError(field=part.field(one), message=one.message(language)) for one in part.problems],
        writable=deps.conversation.settings.content_dir is not None and os.access(content.directory, os.W_OK),
    )


@router.put("/{kind}/{part_id}", status_code=204, responses=describe(404, 409, 412))
async def change_content(
    kind: PartKind,
    part_id: Slug,
    body: PartIn,
    if_match: IfMatch,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> None:
    """Change it in its file: comments and the order of keys stay. Nothing is written where `kataribe check` would find
    something wrong that was not before (422), or where the file was changed since it was read (412). It is in force as
    soon as every world stands at a minute, and with it whatever else was changed in the content files.
    """
    directory, content = _own_directory(deps), deps.conversation.worlds.content
    part = await asyncio.to_thread(read_part, directory, content.checked, kind, part_id)
    if if_match.strip('"') != part.etag:
        raise ContentChanged(file=part.file)
    files = await asyncio.to_thread(changed_part, directory, part, body.values, body.picture)
    request = Once.of(world_id, asked)
    await write_once(deps.conversation.database, request, lambda _: write_part(directory, part, files))
    deps.content_reload.watch()


@router.post("/import", responses=describe(409, 412))
async def import_content(
    body: ImportIn,
    request: Request,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
    if_match: Annotated[
        str | None, Header(max_length=100, description="the `etag` of a preview: what it tells is written")
    ] = None,
) -> ImportOut:
    """What would become of files of other programs, a preview; with `If-Match`, what the preview told is written, all
    of it or nothing. What a card says to a model is in no prompt (docs/import.md).
    """
    importer: Importer | None = request.app.state.importer
    if importer is None:
        raise Invalid(field="body.files", reason=Phrase("answers.invalid_fields.no_importer"))
    directory = deps.conversation.worlds.content.directory if if_match is None else _own_directory(deps)
    files, notes = await asyncio.to_thread(importer, directory, body.files, body.id, body.home, body.replace)

    there = (name for name in files if (directory / name).is_file())
    before = {name: read_bytes(directory / name).decode(errors="replace") for name in there}
    told = ImportOut(
        files=dict(files),
        before=before,
        notes=[note.line(language_of(request)) for note in notes],
        etag=digest(json.dumps([files, before], sort_keys=True).encode()),
        written=if_match is not None,
    )
    if if_match is not None and if_match.strip('"') != told.etag:
        raise ContentChanged(file=min(files))

    def work(_: object) -> ImportOut:
        if told.written:
            write_all(directory, files)
        return told

    done = await write_once(deps.conversation.database, Once.of(world_id, asked), work)
    if done.written:
        deps.content_reload.watch()
    return done


def _own_directory(deps: Core) -> Path:
    """Raises: ContentFixed: it is the sample that comes with the service."""
    directory = deps.conversation.settings.content_dir
    if directory is None:
        raise ContentFixed
    return directory
