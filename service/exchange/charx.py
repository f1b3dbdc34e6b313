"""Owns the reading of card.json from a CHARX, which is a ZIP. Nothing is unpacked to disk, and of the archive nothing
but that one entry is read. Pure.
"""

import io
import zipfile
import zlib
from pathlib import PurePosixPath

from service.content.fields import quote
from service.content.files import MOST_BYTES, Unreadable

CARD = "card.json"
MOST_ENTRIES = 5_000
"""Pictures, sounds and the card: far more than a card has."""
MOST_RATIO = 100
"""A text packs to a tenth; what packs to less than a hundredth is made to fill a memory."""
_END = b"PK\x05\x06"
_LOCATOR = b"PK\x06\x07"
_END_SIZE, _LOCATOR_SIZE = 22, 20
_LONGEST_COMMENT = 0xFFFF
_LONGEST_ENTRY = 400
"""Bytes of an entry in the list: 46 and its name."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, NotImplementedError, OSError)


def card_json(raw: bytes) -> bytes:
    """What card.json holds.

    Raises:
        Unreadable: it is no ZIP, is damaged or encrypted, has no card.json, or would unpack to more than is read.
    """
    _require_few_entries(raw)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
            for entry in entries:
                _require_inside(entry.filename)
            card = next((entry for entry in entries if entry.filename == CARD), None)
            if card is None:
                raise Unreadable("exchange.no_card_json", card=CARD)
            _require_small(card)
            with archive.open(card) as file:
                unpacked = file.read(MOST_BYTES + 1)
    except _DAMAGED as exc:
        raise Unreadable("exchange.zip_damaged", reason=str(exc) or type(exc).__name__) from exc
    if len(unpacked) > MOST_BYTES:
        raise Unreadable("exchange.unpacks_too_large", entry=CARD, megabytes=MOST_BYTES // 1_000_000)
    return unpacked


def _require_few_entries(raw: bytes) -> None:
    """The list of entries is read whole by who opens the archive: how many there are is looked up before."""
    tail = raw[-(_END_SIZE + _LONGEST_COMMENT + _LOCATOR_SIZE) :]
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_SIZE:
        raise Unreadable("exchange.no_zip")
    count, size = int.from_bytes(tail[at + 10 : at + 12], "little"), int.from_bytes(tail[at + 12 : at + 16], "little")
    # A list may be longer than it counts, and longer still by a ZIP64 record, which no archive of this size needs.
    is_long = tail[max(at - _LOCATOR_SIZE, 0) : at].startswith(_LOCATOR)
    if is_long or count > MOST_ENTRIES or size > MOST_ENTRIES * _LONGEST_ENTRY:
        raise Unreadable("exchange.too_many_entries", most=MOST_ENTRIES)


def _require_inside(name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise Unreadable("exchange.entry_outside", entry=quote(name))


def _require_small(card: zipfile.ZipInfo) -> None:
    if card.flag_bits & 1:
        raise Unreadable("exchange.encrypted", entry=CARD)
    if card.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Unreadable("exchange.other_compression", entry=CARD)
    if card.file_size > MOST_BYTES or card.file_size > MOST_RATIO * max(card.compress_size, 1):
        raise Unreadable("exchange.unpacks_too_large", entry=CARD, megabytes=MOST_BYTES // 1_000_000)
