"""Owns clients/web/api.d.ts, made from what a game asks of the service. `python -m tests.clients.web_types` writes it.

openapi-typescript comes with `npm ci --prefix tests/clients`.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.freeze.openapi import description

FILE = Path(__file__).parents[2] / "clients" / "web" / "api.d.ts"
TOOL = Path(__file__).parent / "node_modules" / ".bin" / "openapi-typescript"
OPERATIONS = [
    "readWorld",
    "readMap",
    "readPeople",
    "putPersonOfWorld",
    "placePersonOfWorld",
    "startConversation",
    "sayInConversation",
    "chooseInConversation",
    "interruptConversation",
    "sayWhatBecameOfAction",
    "endConversation",
    "readClientEvents",
]
"""What the client uses, by operationId."""

_SCHEMA = re.compile(r'"#/components/schemas/([^"]+)"')


def types() -> str:
    """The types of all that is sent and answered in those operations, and of a problem."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "openapi.json"
        path.write_text(json.dumps(_used(description())), encoding="utf-8")
        # Without the option a field with a default would have to be sent.
        make: list[str | Path] = [TOOL, path, "--default-non-nullable=false", "--output", path.with_suffix(".ts")]
        subprocess.run(make, check=True, capture_output=True)
        return path.with_suffix(".ts").read_text(encoding="utf-8")


def _used(described: dict[str, Any]) -> dict[str, Any]:
    schemas = described["components"]["schemas"]
    bodies = [
        [told.get("requestBody"), *(answer for status, answer in told["responses"].items() if status < "300")]
        for methods in described["paths"].values()
        for told in methods.values()
        if told["operationId"] in OPERATIONS
    ]
    names = {"Problem", *_reached([bodies, schemas["Problem"]], schemas, set())}
    used = {name: _plain(schema) for name, schema in schemas.items() if name in names}
    return described | {"paths": {}, "components": {"schemas": used}}


def _reached(part: Any, schemas: dict[str, Any], seen: set[str]) -> Iterator[str]:
    for name in _SCHEMA.findall(json.dumps(part)):
        if name not in seen:
            seen.add(name)
            yield name
            yield from _reached(schemas[name], schemas, seen)


def _plain(part: Any) -> Any:
    """Without what would make each comment many lines: titles, examples, and defaults, which the descriptions tell."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _plain(value)
        for name, value in part.items()
        if not (name in ("title", "examples", "default") and not isinstance(value, dict))
    }


if __name__ == "__main__":
    FILE.write_text(types(), encoding="utf-8")
