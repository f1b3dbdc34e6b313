"""Owns the reading of Character Cards, V1 to V3: as JSON, in a PNG, or in a CHARX, which is a ZIP of which nothing but
the card is read. Whoever made a card is not to be trusted: what it says to a model is in no prompt, and what it says of
the person is plain text.

Specifications: https://github.com/malfoyslastname/character-card-spec-v2 and
https://github.com/kwaroran/character-card-spec-v3.
"""

import base64
import binascii
import re
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import BeforeValidator, JsonValue

from service.public.files import MOST_BYTES, Key, ListOf, Unreadable, quote
from studio.exchange.clean import spoken
from studio.exchange.draft import MOST_LINES, MOST_LORE, Draft, Foreign, json_of, name_in, parsed, refusing

CARDS = ("ccv3", "chara")
"""Keywords of the texts in a PNG that are a card, the better one first."""
MOST_CARD_BYTES = 100_000_000
"""What is read of a file: a CHARX may hold pictures and sounds."""
_ZIP = b"PK\x03\x04"
_JPEG = b"\xff\xd8\xff"
_START = re.compile(r"<START>", re.IGNORECASE)
_SPEAKER = re.compile(r"^\s*(\{\{char\}\}|\{\{user\}\}|<bot>|<char>|<user>|[^:：\n]{1,60})\s*[:：](.*)$", re.IGNORECASE)
_TURN = re.compile(r"^\s*(?:\{\{(char|user)\}\}|<(char|bot|user)>)\s*[:：]", re.IGNORECASE | re.MULTILINE)
_OFF = re.compile(r"^@@(?:dont_activate)\b", re.MULTILINE)
_CONDITIONS = re.compile(r"^@@@?(?!activate$|role|position|depth|instruct_depth)\w+", re.MULTILINE)
_ON = re.compile(r"^@@activate\s*$", re.MULTILINE)
_NEVER_TOLD = ("creator_notes", "creator_notes_multilingual", "system_prompt", "post_history_instructions")


def _entries(value: object) -> object:
    """A lorebook of SillyTavern's own has a mapping from numbers."""
    return list(value.values()) if isinstance(value, dict) else value


class Entry(Foreign):
    """An entry of a lorebook."""

    keys: ListOf[str] = ()
    content: str = ""
    enabled: bool = True
    constant: bool = False
    insertion_order: float = 0
    selective: bool = False
    secondary_keys: ListOf[str] = ()
    use_regex: bool = False
    name: str = ""


class Lorebook(Foreign):
    """What a card's person knows of its world."""

    entries: Annotated[ListOf[Entry], BeforeValidator(_entries)] = ()


class CardData(Foreign):
    """What a card says; the rest of the specification's keys is among the extra ones, and is not carried over."""

    name: str
    nickname: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    alternate_greetings: ListOf[str] = ()
    group_only_greetings: ListOf[str] = ()
    character_book: Lorebook | None = None


class Card(Foreign):
    """Card V2 and V3."""

    spec: JsonValue = None
    spec_version: JsonValue = None
    data: CardData


def read_card(file: str, raw: bytes) -> Draft:
    """The person of a card; `file` is the name by which its errors and its report call it.

    Raises:
        ImportRefused: it is no card, or is damaged.
    """
    with refusing(file):
        packed = _json_in(raw)
        if len(packed) > MOST_BYTES:
            raise Unreadable("content.too_large", megabytes=MOST_BYTES // 1_000_000)
    return _draft(file, json_of(file, packed, "exchange.no_card"))


def _json_in(raw: bytes) -> bytes:
    if raw.startswith(SIGNATURE):
        texts = png_texts(raw)
        found = next((texts[name] for name in CARDS if name in texts), None)
        if found is None:
            raise Unreadable("exchange.png_without_card", keywords=", ".join(CARDS))
        try:
            return base64.b64decode(b"".join(found.split()), validate=True)
        except binascii.Error as exc:
            raise Unreadable("exchange.no_base64", reason=str(exc)) from exc
    if raw.startswith(_JPEG) and not zipfile.is_zipfile(BytesIO(raw)):
        raise Unreadable("exchange.jpeg_without_card")
    if raw.startswith((_ZIP, _JPEG)):  # a CHARX may stand behind a picture
        return card_json(raw)
    if not raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        raise Unreadable("exchange.no_card")
    return raw


def _draft(file: str, values: object) -> Draft:
    above: Key = ("data",) if isinstance(values, dict) and "data" in values else ()
    whole = parsed(Card, file, values) if above else None
    data = whole.data if whole else parsed(CardData, file, values)
    name = name_in(file, (*above, "name"), data.name)
    called = name_in(file, (*above, "nickname"), data.nickname) if data.nickname.strip() else name
    draft = Draft(file=file, name=called)
    draft.values["name"] = name
    _fill(draft, data, above)
    if whole is not None:
        if whole.spec not in ("chara_card_v2", "chara_card_v3"):
            draft.note(("spec",), "other_spec", found=quote(str(whole.spec)))
        _leave_out(draft, whole.model_extra, ())
    _leave_out(draft, data.model_extra, above)
    return draft


def _fill(draft: Draft, data: CardData, above: Key) -> None:
    draft.describe((*above, "personality"), data.personality)
    book = data.character_book or Lorebook()
    entries = draft.first((*above, "character_book", "entries"), book.entries, MOST_LORE)
    for number, entry in sorted(enumerate(entries), key=lambda one: one[1].insertion_order):
        _learn(draft, entry, (*above, "character_book", "entries", number))
    description = (*above, "description")
    told, talk = _apart(draft.bounded(description, data.description))
    if not talk and _TURN.search(told):
        draft.note(description, "maybe_talk")
    draft.describe(description, told)
    scenario = (*above, "scenario")
    draft.know(scenario, draft.text(scenario, data.scenario), heading=draft.name)
    draft.say((*above, "first_mes"), data.first_mes)
    for name in ("alternate_greetings", "group_only_greetings"):
        for number, greeting in enumerate(draft.first((*above, name), getattr(data, name), MOST_LINES)):
            draft.say((*above, name, number), greeting)
    examples = (*above, "mes_example")
    talks = (draft.bounded(examples, data.mes_example), talk)
    said = [answer for one in talks for answer in _answers(one, draft.name, data.name)]
    for answer in draft.first(examples, said, MOST_LINES):
        draft.say(examples, answer)
    _leave_out(draft, book.model_extra, (*above, "character_book"))


def _learn(draft: Draft, entry: Entry, key: Key) -> None:
    if not entry.enabled or (_OFF.search(entry.content) and not _ON.search(entry.content)):
        draft.note(key, "entry_off")
        return
    told, talk = _apart(entry.content)
    answers = (spoken(answer, draft.name) for answer in _answers(talk, draft.name))
    text = draft.text((*key, "content"), "\n".join((told, *answers)))
    if not text:
        return
    if entry.use_regex or (entry.selective and entry.secondary_keys) or _CONDITIONS.search(entry.content):
        draft.note(key, "conditions")
    plain_keys = [] if entry.use_regex else [draft.text((*key, "keys"), one) for one in entry.keys]
    keys = [one for one in plain_keys if one]
    named = next((one for one in keys if one.lower() in text.lower()), "")
    heading = named or (keys[0] if keys else draft.text((*key, "name"), entry.name)) or draft.name
    draft.know((*key, "content"), text, heading=heading, always=entry.constant or bool(_ON.search(entry.content)))


def _apart(text: str) -> tuple[str, str]:
    """What a text tells, and the examples of talk in it ("": none): from a turn, or the mark before one, to the next
    list in brackets. Without a mark or a turn of the other one, a name with a colon may begin a list of traits.
    """
    turns = [first or other for first, other in _TURN.findall(text)]
    if not _START.search(text) and "user" not in map(str.lower, turns):
        return text, ""
    parts, is_talk = (list[str](), list[str]()), False
    for line in text.splitlines():
        is_talk = bool(_START.search(line) or _TURN.match(line)) or (is_talk and not line.lstrip().startswith("["))
        parts[is_talk].append(line)
    told, talk = map("\n".join, parts)
    return told, talk


def _answers(examples: str, *names: str) -> Iterator[str]:
    """What the person says in examples of talk."""
    own = {"{{char}}", "<bot>", "<char>", *(name.casefold() for name in names)}
    for example in _START.split(examples):
        said, mine = list[str](), False
        for line in [*example.splitlines(), "{{user}}:"]:
            begun = _SPEAKER.match(line)
            if begun is None:
                said += [line] if mine else []
                continue
            if mine:
                yield "\n".join(said)
            mine, said = begun[1].strip().casefold() in own, [begun[2]]


def _leave_out(draft: Draft, values: dict[str, Any] | None, above: Key) -> None:
    """Say of each key that has something why it is not carried over."""
    written = [name for name, value in (values or {}).items() if value not in ("", [], {}, None)]
    for name in (name for name in written if name in _NEVER_TOLD):
        draft.note((*above, name), "never_told")
    # A card of both versions says at its top again what its data say.
    draft.leave_out([name for name in written if name not in (*_NEVER_TOLD, *CardData.model_fields)], above)


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
        with zipfile.ZipFile(BytesIO(raw)) as archive:
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


SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FRAME = 12
"""Length, kind and checksum of a chunk, in bytes."""


def png_texts(raw: bytes) -> dict[str, bytes]:
    """What the tEXt chunks of a PNG hold, by their keywords in small letters; of two with one keyword the first.

    Raises:
        Unreadable: it ends in the middle, or a chunk is damaged.
    """
    found: dict[str, bytes] = {}
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
        keyword, parted, text = raw[at + 8 : end - 4].partition(b"\0")
        if kind == b"tEXt" and parted:
            found.setdefault(keyword.decode("latin-1").lower(), text)
        at = end
    return found
