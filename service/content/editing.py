"""Owns how a person, a place or an action is read from its file and changed there, by hand from a page. The file stays
the truth: nothing is kept of it but what it says now.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from service.content.actions import ActionEntry, GameAction
from service.content.check import CheckedContent, examine
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
from service.errors import ContentChanged, ContentWrong, NotFound, WrongLine

PartKind = Literal["people", "facilities", "nodes", "actions", "gameActions"]
"""What can be edited; all but people by the keys of the lists in which they stand."""
_ENTRIES: Mapping[PartKind, tuple[str, str, type[ContentModel]]] = {
    "facilities": (MAPS_FILE, "facility", FacilityEntry),
    "nodes": (MAPS_FILE, "node", NodeEntry),
    "actions": (ACTIONS_FILE, "action", ActionEntry),
    "gameActions": (ACTIONS_FILE, "action", GameAction),
}
"""The file in which it stands, what it is called, and its form."""

_writing = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Part:
    """Something that an author has written, as its file says it now.

    `key`: where in the file; `values` None: the file cannot be read, and `problems` say why. `etag` is another one
    whenever the file is. `form` is what it may say.
    """

    file: str
    key: Key
    values: Any
    form: type[ContentModel]
    etag: str
    problems: tuple[ContentProblem, ...]

    def relative(self, one: ContentProblem) -> str:
        """Where the problem is: ``values.facts[2]``; what is elsewhere with its file, below ``elsewhere``."""
        if one.file == self.file and one.key_path.startswith(where := key_path(self.key)):
            return f"values.{one.key_path.removeprefix(where).lstrip('.')}".rstrip(".")
        return f"elsewhere.{one.file}: {one.key_path}".rstrip(": ")


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file that somebody sends."""

    name: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """What would become of files of other programs: files of ours by their names (None: such a file is to be gone), and
    what was not carried over.
    """

    files: Mapping[str, str | None]
    notes: Sequence[ContentProblem]


@dataclass(frozen=True, kw_only=True)
class IncomingWish:
    """How a person or a map is to be taken in: its id (None: made of its name), its home (None: the first open node),
    and whether in place of what is there.
    """

    id: str | None = None
    home: str | None = None
    replace: bool = False


Importer = Callable[[Path, Sequence[Upload], IncomingWish], Incoming]
"""What reads files of other programs for a content directory."""


def read_part(directory: Path, content: CheckedContent, kind: PartKind, part_id: str) -> Part:
    """What the file says of it now; `content` is what was read when the service took it in.

    Raises:
        NotFound: there is no such thing.
    """
    file, called, form = _place(content, kind, part_id)
    found = examine(directory).problems
    try:
        raw = read_bytes(directory / file)
        values = values_of(read_text(directory / file), Path(file).suffix)
    except Unreadable as exc:
        said = (ContentProblem(file=file, key_path="", said=exc.reason),)
        return Part(file=file, key=(), values=None, form=form, etag="", problems=said)
    key = () if kind == "people" else _key_of(values, kind, part_id)
    if key is None:
        raise NotFound(kind=called, id=part_id)
    own = (one for one in found if one.file == file and one.key_path.startswith(key_path(key)))
    return Part(file=file, key=key, values=_at(values, key), form=form, etag=digest(raw), problems=tuple(own))


def changed_part(directory: Path, part: Part, values: Mapping[str, Any], picture: bytes | None) -> dict[str, bytes]:
    """The files that say it with other values, and with a picture as its portrait, if one is given.

    Raises:
        ContentWrong: something would be wrong that is not now.
    """
    if part.values is None:
        raise ContentWrong([WrongLine(where="body.values", reason=one.said) for one in part.problems])
    wrong = list[WrongLine]()
    if values.get("id") != part.values.get("id"):
        other = {"found": found_as(values.get("id")), "expected": quote(str(part.values.get("id")))}
        wrong.append(WrongLine(where="body.values.id", reason=problem("", (), "content.mismatch", **other).said))
    pictures = dict[str, bytes]()
    try:
        if picture is not None:
            name = f"{PICTURES}/{part.values['id']}-{digest(picture)[:8]}{picture_suffix(picture)}"
            values, pictures = {**values, "portrait": name}, {name: picture}
    except Unreadable as exc:
        wrong.append(WrongLine(where="body.picture", reason=exc.reason))
    if wrong:
        raise ContentWrong(wrong)
    text = read_text(directory / part.file)
    try:
        suffix = Path(part.file).suffix
        text = rewritten(text, suffix, _with(values_of(text, suffix), part.key, values))
    except Unreadable as exc:
        raise ContentWrong([WrongLine(where="body.values", reason=exc.reason)]) from exc
    known = {one.line("en") for one in examine(directory).problems}
    after = examine(directory, {part.file: text, **dict.fromkeys(pictures, "")}).problems
    if told := [one for one in after if one.line("en") not in known]:
        raise ContentWrong([WrongLine(where=f"body.{part.relative(one)}", reason=one.said) for one in told])
    return {**pictures, part.file: text.encode()}


def write_unchanged(
    directory: Path, files: Mapping[str, str | bytes | None], file: str, etag: str, now: Callable[[], str]
) -> None:
    """Write the files, where the etag `now` is still that one; `file` is named if it is not.

    Raises:
        ContentChanged: somebody has changed it meanwhile; nothing was written.
        ContentUnwritable: the system refuses it.
    """
    with _writing:
        require_unchanged(file, etag, now())
        write_all(directory, files)


def require_unchanged(file: str, etag: str, now: str) -> None:
    """Raises: ContentChanged: the etag is not the one that the file has now."""
    if etag.strip('"') != now:
        raise ContentChanged(file=file)


def digest(raw: bytes) -> str:
    """Another one for other bytes."""
    return hashlib.sha256(raw).hexdigest()[:32]


def _place(content: CheckedContent, kind: PartKind, part_id: str) -> tuple[str, str, type[ContentModel]]:
    """Raises: NotFound: it is nobody of the content."""
    if kind != "people":
        return _ENTRIES[kind]
    file = content.file_of(part_id)
    if file is None:
        raise NotFound(kind="person", id=part_id)
    return file, "person", NpcFile if file in content.npcs else CharacterFile


def _key_of(values: Any, kind: PartKind, part_id: str) -> Key | None:
    return next((key for key, entry in _entries_of(values, kind) if entry.get("id") == part_id), None)


def _entries_of(values: Any, kind: PartKind) -> Iterator[tuple[Key, dict[str, Any]]]:
    """The entries of that kind, of the file itself and of each of its maps, however wrong the file is."""
    whole = values if isinstance(values, dict) else {}
    areas = [((), whole), *((("maps", number), area) for number, area in enumerate(_listed(whole.get("maps"))))]
    for above, area in areas:
        for number, entry in enumerate(_listed(area.get(kind) if isinstance(area, dict) else None)):
            if isinstance(entry, dict):
                yield (*above, kind, number), entry


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(values: Any, key: Key) -> Any:
    for part in key:
        values = values[part]
    return values


def _with(values: Any, key: Key, new: object) -> Any:
    """The values with another one at that key."""
    if not key:
        return new
    whole = deepcopy(values)
    _at(whole, key[:-1])[key[-1]] = new
    return whole
