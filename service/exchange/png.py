"""Owns the reading of texts from a PNG (PNG specification, third edition, sections 5.2 and 11.3.3). Pure: no picture is
decoded.
"""

import zlib
from collections.abc import Iterator

from service.content.files import Unreadable

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FRAME = 12
"""Length, kind and checksum of a chunk, in bytes."""


def png_texts(raw: bytes) -> dict[str, bytes]:
    """What the tEXt chunks hold, by their keywords in small letters; of two with one keyword the first.

    Raises:
        Unreadable: it is no PNG, ends in the middle, or a chunk is damaged.
    """
    found: dict[str, bytes] = {}
    for kind, data in _chunks(raw):
        keyword, parted, text = data.partition(b"\0")
        if kind == b"tEXt" and parted:
            found.setdefault(keyword.decode("latin-1").lower(), text)
    return found


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each chunk's kind and data, to the one that ends the picture."""
    if not raw.startswith(SIGNATURE):
        raise Unreadable("exchange.no_png")
    at, kind = len(SIGNATURE), b""
    while kind != b"IEND":
        length, kind = int.from_bytes(raw[at : at + 4]), raw[at + 4 : at + 8]
        end = at + _FRAME + length
        if end > len(raw) or len(kind) < 4:
            raise Unreadable("exchange.png_cut", at=at, size=len(raw))
        if at == len(SIGNATURE) and kind != b"IHDR":
            raise Unreadable("exchange.no_png")
        if zlib.crc32(raw[at + 4 : end - 4]) != int.from_bytes(raw[end - 4 : end]):
            raise Unreadable("exchange.png_damaged", at=at, kind=kind.decode("latin-1"))
        yield kind, raw[at + 8 : end - 4]
        at = end
