"""Owns the reading of Character Cards, V1 to V3: as JSON, in a PNG, or in a CHARX. Whoever made a card is not to be
trusted: what it says to a model is in no prompt, and what it says of the person is plain text.

Specifications: https://github.com/malfoyslastname/character-card-spec-v2 and
https://github.com/kwaroran/character-card-spec-v3.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Annotated, Any
from zipfile import is_zipfile

from pydantic import BeforeValidator, JsonValue

from service.content.fields import Key, ListOf, quote
from service.content.files import MOST_BYTES, Unreadable
from service.exchange.charx import card_json
from service.exchange.draft import MOST_LINES, MOST_LORE, Draft, Foreign, json_of, name_in, parsed, refusing
from service.exchange.png import SIGNATURE, png_texts

CARDS = ("ccv3", "chara")
"""Keywords of the texts in a PNG that are a card, the better one first."""
MOST_CARD_BYTES = 100_000_000
"""What is read of a file: a CHARX may hold pictures and sounds."""
_ZIP = b"PK\x03\x04"
_JPEG = b"\xff\xd8\xff"
_START = re.compile(r"<START>", re.IGNORECASE)
_SPEAKER = re.compile(r"^\s*(\{\{char\}\}|\{\{user\}\}|<bot>|<char>|<user>|[^:：\n]{1,60})\s*[:：](.*)$", re.IGNORECASE)
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
    if raw.startswith(_JPEG) and not is_zipfile(BytesIO(raw)):
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
        _leave_out(draft, whole.model_extra or {}, ())
    _leave_out(draft, data.model_extra or {}, above)
    return draft


def _fill(draft: Draft, data: CardData, above: Key) -> None:
    draft.describe((*above, "personality"), data.personality)
    book = data.character_book or Lorebook()
    entries = draft.first((*above, "character_book", "entries"), book.entries, MOST_LORE)
    order = sorted(enumerate(entries), key=lambda one: one[1].insertion_order)
    for number, entry in order:
        _learn(draft, entry, (*above, "character_book", "entries", number))
    draft.describe((*above, "description"), data.description)
    scenario = (*above, "scenario")
    draft.know(scenario, draft.text(scenario, data.scenario), heading=draft.name)
    draft.say((*above, "first_mes"), data.first_mes)
    for name in ("alternate_greetings", "group_only_greetings"):
        for number, greeting in enumerate(draft.first((*above, name), getattr(data, name), MOST_LINES)):
            draft.say((*above, name, number), greeting)
    examples = (*above, "mes_example")
    said = [*_answers(draft.bounded(examples, data.mes_example), draft.name, data.name)]
    for answer in draft.first(examples, said, MOST_LINES):
        draft.say(examples, answer)
    if book.model_extra:
        _leave_out(draft, book.model_extra, (*above, "character_book"))


def _learn(draft: Draft, entry: Entry, key: Key) -> None:
    if not entry.enabled or (_OFF.search(entry.content) and not _ON.search(entry.content)):
        draft.note(key, "entry_off")
        return
    text = draft.text((*key, "content"), entry.content)
    if not text:
        return
    if entry.use_regex or (entry.selective and entry.secondary_keys) or _CONDITIONS.search(entry.content):
        draft.note(key, "conditions")
    plain_keys = [] if entry.use_regex else [draft.text((*key, "keys"), one) for one in entry.keys]
    keys = [one for one in plain_keys if one]
    named = next((one for one in keys if one.lower() in text.lower()), "")
    heading = named or (keys[0] if keys else draft.text((*key, "name"), entry.name)) or draft.name
    draft.know((*key, "content"), text, heading=heading, always=entry.constant or bool(_ON.search(entry.content)))


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


def _leave_out(draft: Draft, values: dict[str, Any], above: Key) -> None:
    """Say of each key that has something why it is not carried over."""
    written = [name for name, value in values.items() if value not in ("", [], {}, None)]
    for name in (name for name in written if name in _NEVER_TOLD):
        draft.note((*above, name), "never_told")
    # A card of both versions says at its top again what its data say.
    draft.leave_out([name for name in written if name not in (*_NEVER_TOLD, *CardData.model_fields)], above)
