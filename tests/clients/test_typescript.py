"""A TypeScript client is made of the description, and a small strict program compiles with it.

The tools come from `npm ci --prefix tests/clients` (see .ci/run); package-lock.json says which.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.freeze.openapi import description
from tests.servers import missing

HERE = Path(__file__).parent
TOOLS = HERE / "node_modules" / ".bin"


def run(*command: str | Path, cwd: Path) -> None:
    """It must end well."""
    told = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.server
def test_a_strict_program_compiles_with_the_types_of_the_description(tmp_path: Path) -> None:
    if not (TOOLS / "tsc").exists():
        missing("TypeScript: npm ci --prefix tests/clients")
    (tmp_path / "openapi.json").write_text(json.dumps(description()), encoding="utf-8")
    # Without the option a field with a default would have to be sent.
    make = (TOOLS / "openapi-typescript", "openapi.json", "--default-non-nullable=false", "--output", "api.d.ts")
    run(*make, cwd=tmp_path)
    shutil.copy(HERE / "program.ts", tmp_path)
    run(TOOLS / "tsc", "--strict", "--noEmit", "--module", "esnext", "--target", "es2022", "program.ts", cwd=tmp_path)


def test_the_lock_names_no_host() -> None:
    lock: dict[str, Any] = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert all("integrity" in package for package in packages.values())
    assert [name for name, package in packages.items() if "resolved" in package] == []
