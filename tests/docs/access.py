"""Owns the table of docs/reliability.md that says which key may ask for what, made from what the service itself asks:
`python -m tests.docs.access` writes it anew.
"""

from collections import defaultdict
from pathlib import Path

from fastapi.routing import APIRoute

from service.api.access import ACCESS, Access
from service.api.key import OPEN
from service.app import ROUTES
from service.store.keys import SCOPES

FILE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- access: python -m tests.docs.access -->\n", "<!-- end of access -->\n"
_PLAYER = {
    "path": "its own path",
    "query": "its own, by `person_id`",
    "body": "its own, in the body",
    "conversation": "of conversations in which it takes part",
    "of nobody": "yes",
    None: "no",
}


def table() -> str:
    """The table as it should be."""
    found = defaultdict[Access, list[str]](list)
    for route in ROUTES:
        method = "/".join(sorted(route.methods or ())) if isinstance(route, APIRoute) else "WebSocket"
        if (path := str(getattr(route, "path", ""))) not in OPEN:
            found[ACCESS[str(getattr(route, "name", ""))]].append(f"{method} {path}")
    found[ACCESS["mcp"]].append("POST /mcp")
    lines = ["| scope | a key for one player | operations |", "|---|---|---|"]
    for access, operations in sorted(found.items(), key=lambda one: SCOPES.index(one[0].scope)):
        several = " (no key for one world)" if access.worlds == "several" else ""
        told = ", ".join(f"`{one}`" for one in sorted(operations, key=lambda one: one.partition(" ")[2]))
        lines.append(f"| {access.scope}{several} | {_PLAYER[access.player]} | {told} |")
    return "\n".join([*lines, ""])


def page() -> str:
    """The whole page with that table in it."""
    before, _, rest = FILE.read_text("utf-8").partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    FILE.write_text(page(), "utf-8")
