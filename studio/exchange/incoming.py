"""Owns what would become of files of other programs that somebody sends: each is known by what it says, and nothing is
written.
"""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from service.public.files import ContentProblem, Unreadable, quote
from studio.exchange.card import read_card
from studio.exchange.draft import refusing
from studio.exchange.place import Wish, planned, planned_map
from studio.exchange.tiled import TiledMap, read_tiled
from studio.exchange.tinytroupe import read_tinytroupe

_TILED = (".tmx", ".tmj")
_TYPE = re.compile(rb'"type"\s*:\s*"(map|TinyPerson|Fragment)"')
"""What a file of JSON says that it is; a card says nothing of this kind."""
_NAME = re.compile(r"\w[\w .()+-]{0,79}")
_NAMED = re.compile(r"""(\b(?:source|template)"?\s*[=:]\s*)("[^"]*"|'[^']*')""")
"""Where a file of Tiled's names another one."""
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".svg")
"""Named, and not read."""


def incoming(
    directory: Path, files: Mapping[str, bytes], person_id: str | None, home: str | None, replace: bool
) -> tuple[Mapping[str, str | None], Sequence[ContentProblem]]:
    """What would become of a Character Card, an agent of TinyTroupe, or a map of Tiled's, the first of the files that
    is one; the others are its tilesets. See service.content.editing.Importer.

    Raises:
        ImportRefused: it is none of them; it would be wrong in this world; or it is there already.
    """
    files = {PurePosixPath(name).name: raw for name, raw in files.items()}
    first = next((name for name in files if name.lower().endswith(_TILED)), next(iter(files)))
    said = _TYPE.search(files[first])
    if first.lower().endswith(_TILED) or (said and said[1] == b"map"):
        tiled = _read_map(first, files)
        return planned_map(directory, tiled, replace_it=replace), tiled.report
    draft = (read_tinytroupe if said else read_card)(first, files[first])
    return planned(directory, [(draft, Wish(id=person_id, home=home))], replace_it=replace), draft.report


def _read_map(first: str, files: Mapping[str, bytes]) -> TiledMap:
    """The map, read among the files that came with it.

    Raises:
        ImportRefused: it names a file that did not come with it, as one of this machine.
    """
    with tempfile.TemporaryDirectory(prefix="kataribe-map-") as folder, refusing(first):
        for name, raw in files.items():
            if not _NAME.fullmatch(name):
                raise Unreadable("exchange.not_beside", file=quote(name))
            Path(folder, name).write_text(_alone(raw, files), encoding="utf-8")
        return read_tiled(Path(folder, first))


def _alone(raw: bytes, files: Mapping[str, bytes]) -> str:
    """The text of a file of Tiled's in which every file that it names is one of these, beside it.

    Raises:
        Unreadable: it names another one; or it is no text.
    """

    def beside(found: re.Match[str]) -> str:
        name = PurePosixPath(found[2][1:-1]).name
        if name not in files and not name.lower().endswith(_PICTURES):
            raise Unreadable("exchange.not_beside", file=quote(found[2][1:-1]))
        return f'{found[1]}"{name}"'

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Unreadable("exchange.no_tiled", reason="UTF-8") from exc
    with suppress(ValueError, RecursionError):  # in JSON a name may be written in ways that only JSON reads
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return _NAMED.sub(beside, text)
