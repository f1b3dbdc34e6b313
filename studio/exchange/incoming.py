"""Owns what would become of files of other programs that somebody sends: each is known by what it says, and nothing is
written.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from service.public.files import Incoming, IncomingWish, Unreadable, Upload, quote
from studio.exchange.card import read_card
from studio.exchange.draft import ImportRefused, refusing
from studio.exchange.place import Wish, planned, planned_map
from studio.exchange.tiled import TiledMap, read_tiled
from studio.exchange.tinytroupe import read_tinytroupe

_TILED = (".tmx", ".tmj")
_NAMED = re.compile(r"""(\b(?:source|template)"?\s*[=:]\s*)("[^"]*"|'[^']*')""")
"""Where a file of Tiled's names another one."""
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".svg")
"""Named, and not read."""


def incoming(directory: Path, files: Sequence[Upload], wish: IncomingWish) -> Incoming:
    """What would become of a Character Card, an agent of TinyTroupe, or a map of Tiled's, the first of the files that
    is one; the others are tilesets.

    Raises:
        ImportRefused: it is none of them; it would be wrong in this world; or it is there already.
    """
    first = next((one for one in files if one.name.lower().endswith(_TILED)), files[0])
    kind = "map" if first.name.lower().endswith(_TILED) else _type_of(first.data)
    if kind == "map":
        tiled = _read_map(first, files)
        return Incoming(files=planned_map(directory, tiled, replace_it=wish.replace), notes=tiled.report)
    read = read_tinytroupe if kind in ("TinyPerson", "Fragment") else read_card
    draft = read(PurePosixPath(first.name).name, first.data)
    files_of_ours = planned(directory, [(draft, Wish(id=wish.id, home=wish.home))], replace_it=wish.replace)
    return Incoming(files=files_of_ours, notes=draft.report)


def _type_of(raw: bytes) -> object:
    """What a file of JSON says that it is; None: nothing, or it is none."""
    with suppress(ValueError, RecursionError):
        values = json.loads(raw)
        return values.get("type") if isinstance(values, dict) else None
    return None


def _read_map(first: Upload, files: Sequence[Upload]) -> TiledMap:
    """The map, read among the files that came with it.

    Raises:
        ImportRefused: it names a file that did not come with it, as one of this machine.
    """
    names = {PurePosixPath(one.name).name for one in files}
    with tempfile.TemporaryDirectory(prefix="kataribe-map-") as folder:
        for one in files:
            name = PurePosixPath(one.name).name
            with refusing(name):
                _lay(Path(folder, name), _alone(one.data, names))
        return read_tiled(Path(folder, PurePosixPath(first.name).name))


def _lay(path: Path, text: str) -> None:
    """Raises: Unreadable: no file can be called so."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as exc:
        raise Unreadable("exchange.no_tiled", reason=quote(path.name)) from exc


def _alone(raw: bytes, names: set[str]) -> str:
    """The text of a file of Tiled's in which every file that it names is one of these, beside it.

    Raises:
        Unreadable: it names another one; or it is no text.
    """

    def beside(found: re.Match[str]) -> str:
        said = found[2][1:-1]
        name = PurePosixPath(said).name
        if name not in names and not name.lower().endswith(_PICTURES):
            raise Unreadable("exchange.not_beside", file=quote(said))
        return f'{found[1]}"{name}"'

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Unreadable("exchange.no_tiled", reason="UTF-8") from exc
    with suppress(ValueError, RecursionError):  # in JSON a name may be written in ways that only JSON reads
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return _NAMED.sub(beside, text)
