"""Owns how a person, a place or an action is read from its file and changed there, by hand from a page. The file stays
the truth: nothing is kept of it but what it says now.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from service.content.actions import ActionEntry, GameAction
from service.content.check import CheckedContent, examine, newly_wrong
from service.content.fields import ContentModel, ContentProblem, Key, key_path, problem, quote
from service.content.fields import found as found_as
from service.content.files import (
    ACTIONS_FILE,
    MAPS_FILE,
    PICTURES,
    Unreadable,
    read_bytes,
    read_text,
    values_of,
    write_all,
)
from service.content.maps import FacilityEntry, NodeEntry
from service.content.persons import CharacterFile, NpcFile
from service.content.pictures import picture_suffix
from service.content.rewriting import rewritten
from service.errors import ContentChanged, ContentWrong, WrongLine, existing

PartKind = Literal["people", "facilities", "nodes", "actions", "gameActions"]
"""What can be edited; all but people by the keys of the lists in which they stand."""
_FORMS: Mapping[PartKind, tuple[str, type[ContentModel]]] = {
    "facilities": (MAPS_FILE, FacilityEntry),
    "nodes": (MAPS_FILE, NodeEntry),
    "actions": (ACTIONS_FILE, ActionEntry),
    "gameActions": (ACTIONS_FILE, GameAction),
}
"""The file in which it stands, and its form."""

Importer = Callable[
    [Path, Mapping[str, bytes], str | None, str | None, bool],
    tuple[Mapping[str, str | None], Sequence[ContentProblem]],
]
"""Reads files of other programs, by their names, for a content directory: the wished id of a person and its home, and
whether in place of what is there. Gives the files of ours that they become (None: such a file is to be gone), and what
was not carried over.
"""

_writing = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Part:
    """Something that an author has written, as its file says it now.

    `key`: where in the file; `values` None: the file cannot be read, and `problems` say why. `etag` is another one
    whenever the file is. `form` is what it may say.
    """

    file: str
    form: type[ContentModel]
    key: Key = ()
    values: Any = None
    etag: str = ""
    problems: tuple[ContentProblem, ...]

    def field(self, one: ContentProblem) -> str:
        """Where the problem is: ``values.facts[2]``; what is elsewhere with its file, below ``elsewhere``."""
        if one.file == self.file and one.key_path.startswith(where := key_path(self.key)):
            return f"values.{one.key_path.removeprefix(where).lstrip('.')}".rstrip(".")
        return f"elsewhere.{one.file}: {one.key_path}".rstrip(": ")


def read_part(directory: Path, content: CheckedContent, kind: PartKind, part_id: str) -> Part:
    """What the file says of it now; `content` is what was read when the service took it in.

    Raises:
        NotFound: there is no such thing.
    """
    found, form = _FORMS[kind] if kind != "people" else (content.file_of(part_id), CharacterFile)
    file = existing(found, "person", part_id)
    form = NpcFile if file in content.npcs else form
    try:
        etag = digest(read_bytes(directory / file))
        values: Any = values_of(read_text(directory / file), Path(file).suffix)
    except Unreadable as exc:
        return Part(file=file, form=form, problems=(ContentProblem(file=file, key_path="", said=exc.reason),))
    named = {"facilities": "facility", "nodes": "node"}.get(kind, "action")
    key = existing(() if kind == "people" else _key_of(values, kind, part_id), named, part_id)
    for step in key:
        values = values[step]
    part = Part(file=file, form=form, key=key, values=values, etag=etag, problems=())
    own = (one for one in examine(directory).problems if part.field(one).startswith("values"))
    return replace(part, problems=tuple(own))


def changed_part(directory: Path, part: Part, values: Mapping[str, Any], picture: bytes | None) -> dict[str, bytes]:
    """The files that say it with other values, and with a picture as its portrait, if one is given.

    Raises:
        ContentWrong: something would be wrong that is not now.
    """
    if part.values is None:
        raise ContentWrong([WrongLine(where="body.values", reason=one.said) for one in part.problems])
    was, now = part.values.get("id"), values.get("id")
    if was != now:
        said = problem("", (), "content.mismatch", found=found_as(now), expected=quote(str(was))).said
        raise ContentWrong([WrongLine(where="body.values.id", reason=said)])
    field, files = "picture", dict[str, bytes]()
    try:
        if picture is not None:
            name = f"{PICTURES}/{was}-{digest(picture)[:8]}{picture_suffix(picture)}"
            values, files[name] = {**values, "portrait": name}, picture
        field, text = "values", read_text(directory / part.file)
        text = rewritten(text, Path(part.file).suffix, part.key, values)
    except Unreadable as exc:
        raise ContentWrong([WrongLine(where=f"body.{field}", reason=exc.reason)]) from exc
    if wrong := newly_wrong(directory, {part.file: text, **dict.fromkeys(files, "")}):
        raise ContentWrong([WrongLine(where=f"body.{part.field(one)}", reason=one.said) for one in wrong])
    return {**files, part.file: text.encode()}


def write_part(directory: Path, part: Part, files: Mapping[str, bytes]) -> None:
    """Write the files that say the part anew.

    Raises:
        ContentChanged: somebody has changed it meanwhile; nothing was written.
        ContentUnwritable: the system refuses it.
    """
    with _writing:
        if digest(read_bytes(directory / part.file)) != part.etag:
            raise ContentChanged(file=part.file)
        write_all(directory, files)


def digest(raw: bytes) -> str:
    """Another one for other bytes."""
    return hashlib.sha256(raw).hexdigest()[:32]


def _key_of(value: Any, kind: PartKind, part_id: str, above: Key = ()) -> Key | None:
    """Where in the values, however wrong they are, the entry with that id stands."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inside:
        if above[-1:] == (kind,) and isinstance(one, dict) and one.get("id") == part_id:
            return (*above, name)
        if (found := _key_of(one, kind, part_id, (*above, name))) is not None:
            return found
    return None
