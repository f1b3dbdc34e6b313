"""Owns the copying of the bundled content into a directory of the user's own, all of it or nothing."""

import os
import shutil
import tempfile
from pathlib import Path

from service.content.files import (
    ACTIONS_FILE,
    CAST_TESTS,
    CHARACTERS,
    FRAGMENTS,
    LORE,
    MAPS_FILE,
    NPCS,
    SCENES,
    bundled_content,
)
from service.errors import Invalid, system_reason

CONTENT_NAMES = (MAPS_FILE, ACTIONS_FILE, NPCS, CHARACTERS, FRAGMENTS, LORE, SCENES)
_COPIED = (*CONTENT_NAMES, CAST_TESTS)
_OPTIONAL = (ACTIONS_FILE, FRAGMENTS, LORE, SCENES, CAST_TESTS)


class ContentExists(Invalid):
    """Facts: `directory`, `names`."""


class ContentUnwritable(Invalid):
    """Facts: `directory`, `reason`."""


def init_content(target: Path, *, source: Path | None = None) -> list[Path]:
    """Copy maps.json, npcs/ and characters/, and, where there are any, actions.json, fragments/, lore/, scenes/ and
    cast-tests/ (of `source`, else the bundled ones) into `target`, which is made if need be.

    Returns the files written, sorted.

    Raises:
        ContentExists: one of them is there already.
        ContentUnwritable: the directory or a file cannot be made.
    """
    names = [name for name in _COPIED if os.path.lexists(target / name)]
    if names:
        raise ContentExists(directory=str(target), names=", ".join(names))
    made = [parent for parent in (target, *target.parents) if not parent.exists()]
    try:
        target.mkdir(parents=True, exist_ok=True)
        _copy_all(source or bundled_content(), target)
    except OSError as exc:
        for directory in made:
            if directory.is_dir():
                directory.rmdir()
        raise ContentUnwritable(directory=str(target), reason=system_reason(exc)) from exc
    return sorted(path for name in _COPIED for path in (target / name, *(target / name).rglob("*")) if path.is_file())


def _copy_all(source: Path, target: Path) -> None:
    """Copy aside first and move into place last: a full disk leaves nothing half written."""
    moved: list[Path] = []
    with tempfile.TemporaryDirectory(dir=target, prefix=".kataribe-init-") as aside:
        names = [name for name in _COPIED if name not in _OPTIONAL or (source / name).exists()]
        for name in (MAPS_FILE, ACTIONS_FILE):
            if name in names:
                shutil.copyfile(source / name, Path(aside, name))
        for folder in (name for name in names if name not in (MAPS_FILE, ACTIONS_FILE)):
            _copy_folder(source / folder, Path(aside, folder))
        try:
            for name in names:
                Path(aside, name).rename(target / name)
                moved.append(target / name)
        except OSError:
            for path in moved:
                path.rename(Path(aside, path.name))
            raise


def _copy_folder(source: Path, target: Path) -> None:
    """Contents only, no modes: an installed package may be read-only, the user's copy is to be edited."""
    target.mkdir()
    for file in source.iterdir():
        if file.is_file() and not file.name.startswith("."):
            shutil.copyfile(file, target / file.name)
