"""Owns cards of this project's own, in the shapes that public cards have: JSON, PNG and CHARX."""

import base64
import io
import json
import zipfile
import zlib
from typing import Any

from studio.exchange.card import SIGNATURE

Values = dict[str, Any]


def card(**data: Any) -> Values:
    """A card of version 2 whose person tends a lighthouse."""
    return {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {
            "name": "Ione",
            "description": "{{char}} tends the lighthouse of Skarn.\nShe counts every ship.",
            "personality": "Dry and patient.",
            "scenario": "",
            "first_mes": '*She lifts the lantern.* "Out of the rain, {{user}}. Now."',
            "mes_example": "",
            "creator_notes": "",
            "system_prompt": "",
            "post_history_instructions": "",
            "alternate_greetings": [],
            "tags": [],
            "creator": "",
            "character_version": "",
            "extensions": {},
            **data,
        },
    }


def as_json(values: Values) -> bytes:
    """The card in a file of its own."""
    return json.dumps(values, ensure_ascii=False).encode()


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


def png(*texts: tuple[str, bytes]) -> bytes:
    """A PNG of one grey point, with these texts."""
    header = chunk(b"IHDR", bytes.fromhex("00000001000000010800000000"))
    said = b"".join(chunk(b"tEXt", keyword.encode() + b"\0" + text) for keyword, text in texts)
    return SIGNATURE + header + said + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def as_png(values: Values, keyword: str = "chara") -> bytes:
    """The card in a PNG."""
    return png((keyword, base64.b64encode(as_json(values))))


def charx(entries: dict[str, bytes], *, comment: bytes = b"") -> bytes:
    """A CHARX with these entries."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
        archive.comment = comment
    return whole.getvalue()


def as_charx(values: Values) -> bytes:
    """The card in a CHARX, beside a picture."""
    return charx({"assets/icon/images/main.png": png(), "card.json": as_json(values)})
