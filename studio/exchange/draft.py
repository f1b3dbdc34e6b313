"""Owns a person that comes from another program, before it has a place in a world: what of its texts it always has in
mind, and what only comes to mind when there is talk of it; what is wrong with its file, and what was not carried over.
Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, model_validator

from service.content.fields import ContentProblem, Key, Problems, problem, quote, schema_errors
from service.content.files import MOST_BYTES, Unreadable, read_bytes, values_of
from service.content.made import LONGEST_NAME
from service.errors import Invalid
from service.llm.chat import estimate_tokens
from service.locales import sentence
from studio.exchange.clean import chunks, has_orders, language_of, plain, spoken, without_orders
from world.ids import SLUG_MAX

M = TypeVar("M", bound=BaseModel)

Report = list[ContentProblem]
"""What was not carried over, or was changed on the way: each with its place in the file that was read."""


class ImportRefused(Invalid):
    """Nothing was written; `problems` are all that was found. Facts: `count`, `errors` (one a line)."""

    def __init__(self, problems: Sequence[ContentProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(count=len(problems), errors=Problems(problems))


@contextmanager
def refusing(file: str) -> Iterator[None]:
    """Whatever makes the file unreadable refuses it as a whole.

    Raises:
        ImportRefused.
    """
    try:
        yield
    except Unreadable as exc:
        raise ImportRefused([ContentProblem(file=file, key_path="", said=exc.reason)]) from exc


def file_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """What is in the file.

    Raises:
        ImportRefused: it cannot be read, or is larger.
    """
    with refusing(path.name):
        return read_bytes(path, most)


def json_of(file: str, raw: bytes, otherwise: str) -> object:
    """What the JSON of a file says; `otherwise` is the key of the sentence for what is no text.

    Raises:
        ImportRefused: it is no JSON.
    """
    with refusing(file):
        try:
            return values_of(raw.decode("utf-8-sig"), ".json")
        except UnicodeDecodeError as exc:
            raise Unreadable(otherwise) from exc


def parsed(model: type[M], file: str, values: object) -> M:
    """The file's values in the model's form. Raises: ImportRefused: everything that is wrong with them."""
    try:
        return model.model_validate(values)
    except ValidationError as exc:
        raise ImportRefused([*schema_errors(model, file, exc)]) from exc


class Foreign(BaseModel, frozen=True, strict=True, extra="allow"):
    """A mapping in another program's file: null is a key left out, and keys that we do not know are kept apart."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value


MOST_LETTERS = 20_000
"""What is read of one text."""
MOST_LINES, MOST_LORE = 60, 1_000
"""Lines, and things to know, that a person is given."""
LONGEST_LINE = 400
"""Letters of a line: as much as may be said in a turn."""
PERSONALITY_TOKENS, PERSONA_TOKENS = 80, 280
"""What of every prompt its personality takes, and all that is told of it, by `estimate_tokens`."""
ALWAYS_TOKENS = 80
"""The same for what it always knows, as service/conversation/lore.py has it."""
FACT_TOKENS, LORE_TOKENS = 40, 60
"""The most of one fact, and of one thing to know: what is longer would never come to mind."""

T = TypeVar("T")

_ID_LETTERS = re.compile(r"[a-z0-9]+")


@dataclass(kw_only=True)
class Notes:
    """What is told of the reading of a file: what was not carried over, or was changed or guessed on the way."""

    file: str
    report: Report = field(default_factory=Report)

    def note(self, key: Key, said: str, /, **facts: object) -> None:
        """Something was not carried over, or not as it was."""
        self.report.append(problem(self.file, key, f"exchange.notes.{said}", **facts))

    def leave_out(self, names: Iterable[str] | None, above: Key) -> None:
        """Keys of the file that have nothing to become."""
        if names:
            self.note(above, "no_key_of_ours", names=", ".join(map(quote, names)))


@dataclass(kw_only=True)
class Draft(Notes):
    """A person as it comes to be: `values` are keys of its file without `id` and place, `lore` entries without `id` and
    `knownBy`, `relations` who else matters to it: its name and what it is, with the place in the file. A fragment has
    keys of a person, and is none.
    """

    name: str
    is_fragment: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    lore: list[dict[str, str]] = field(default_factory=list)
    relations: list[tuple[Key, str, str]] = field(default_factory=list)
    _taken: int = 0
    _always: int = 0

    def text(self, key: Key, raw: str) -> str:
        """The text as sentences, line by line, bounded."""
        return self._about(key, plain(self.bounded(key, raw), self.name))

    def short(self, key: Key, raw: str) -> str:
        """The beginning of the text, as long as one thing to know; the rest comes to mind."""
        first, *more = list(chunks(self.text(key, raw), LORE_TOKENS)) or [""]
        for part in more:
            self.know(key, part, heading=self.name)
        if more:
            self.note(key, "comes_to_mind", count=len(more), tokens=LORE_TOKENS)
        return first

    def first(self, key: Key, found: Sequence[T], most: int) -> Sequence[T]:
        """So many of them."""
        if len(found) > most:
            self.note(key, "too_many", most=most)
        return found[:most]

    def describe(self, key: Key, raw: str) -> None:
        """What is said of the person: its personality, where it has none yet, then facts."""
        text = self.text(key, raw)
        if text and "personality" not in self.values:
            first = next(chunks(text, PERSONALITY_TOKENS))
            self.values["personality"] = first
            self._taken += estimate_tokens(first)
            text = text.removeprefix(first)
        self.tell(key, text)

    def know(self, key: Key, text: str, *, heading: str, always: bool = False) -> None:
        """Something that the person knows. `always`: in each of its prompts, while there is room for it. A fragment
        knows nothing.
        """
        if self.is_fragment:
            self.note(key, "no_lore")
            return
        for part in chunks(text, LORE_TOKENS):
            told = part if heading.lower() in part.lower() else f"{heading}: {part}"
            if any(told == one["text"] for one in self.lore):
                continue
            if always and self._always + estimate_tokens(told) <= ALWAYS_TOKENS:
                self._always += estimate_tokens(told)
                self.lore.append({"text": told, "tell": "always"})
            elif always and self._is_told(told):
                continue
            elif len(self.lore) < MOST_LORE:
                self.lore.append({"text": told, "tell": "recalled"})
            else:
                self.note(key, "no_room", most=MOST_LORE)
                return

    def say(self, key: Key, raw: str) -> None:
        """A line in its own voice, where the text says one."""
        said = self._about(key, spoken(self.bounded(key, raw), self.name))
        if not said:
            if raw.strip():
                self.note(key, "nothing_said")
            return
        line = said
        if len(said) > LONGEST_LINE:
            line = next(chunks(said, LONGEST_LINE // 4))[:LONGEST_LINE]
            self.note(key, "line_shortened", count=len(said), most=len(line))
        if line in self.lines:
            return
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)
        else:
            self.note(key, "no_room", most=MOST_LINES)

    def relate(self, ids: Mapping[str, str]) -> None:
        """Take its relations in: to people of the world, by their `ids` and names, and to others as what it knows."""
        for key, who, what in self.relations:
            if who.casefold() in ids:
                self.values.setdefault("relationships", []).append({"person": ids[who.casefold()], "description": what})
            else:
                self.note(key, "nobody_here", name=quote(who))
                self.know(key, what, heading=who)

    def whole(self) -> dict[str, Any]:
        """The keys of its file, but `id` and place."""
        told = {"facts": self.facts, "lines": self.lines}
        written = {**self.values, **{key: texts for key, texts in told.items() if texts}}
        if self.is_fragment:
            return written
        nothing = sentence(language_of(self.name), "exchange.no_personality")
        return {"name": written["name"], "personality": nothing} | written

    def tell(self, key: Key, text: str) -> None:
        """Facts; those for which the persona has no room come to mind when there is talk of them."""
        kept = 0
        for said in chunks(text, FACT_TOKENS):
            if not self._is_told(said):
                self.know(key, said, heading=self.name)
                kept += 1
        if kept:
            self.note(key, "comes_to_mind", count=kept, tokens=PERSONA_TOKENS)

    def _is_told(self, said: str) -> bool:
        """Make it a fact, while there is room in the persona."""
        if said in self.facts:
            return True
        if self._taken + estimate_tokens(said) > PERSONA_TOKENS:
            return False
        self._taken += estimate_tokens(said)
        self.facts.append(said)
        return True

    def _about(self, key: Key, text: str) -> str:
        """The text without what is said to a model instead of about the person."""
        if not has_orders(text):
            return text
        self.note(key, "to_model")
        return without_orders(text)

    def bounded(self, key: Key, raw: str) -> str:
        """So much of a text as is read."""
        if len(raw) > MOST_LETTERS:
            self.note(key, "shortened", count=len(raw), most=MOST_LETTERS)
        return raw[:MOST_LETTERS]


def name_in(file: str, key: Key, raw: str) -> str:
    """What a person is called, on one line.

    Raises:
        ImportRefused: nothing of it is a name.
    """
    name = " ".join(plain(raw[:MOST_LETTERS], "").replace("{", "").replace("}", "").split())[:LONGEST_NAME].strip()
    if not any(letter.isalnum() for letter in name):
        raise ImportRefused([problem(file, key, "exchange.no_name")])
    return name


def id_of(name: str) -> str:
    """An id for who is called so: its letters a-z and digits; where a name has none, what is the same for it
    always.
    """
    flat = unicodedata.normalize("NFKD", name.casefold())
    words = _ID_LETTERS.findall(flat.encode("ascii", "ignore").decode())
    letters = [letter for letter in flat if letter.isalnum()]
    if 2 * sum(letter.isascii() for letter in letters) > len(letters):
        return "_".join(words)[:SLUG_MAX].rstrip("_")
    return f"p_{blake2b(name.encode(), digest_size=5).hexdigest()}"
