"""Owns the form of the one structured answer that a closing asks for. Its field names go out with every closing: they
are short, and no docstring of theirs does.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from service.content.profile import Mood
from service.memory.record import Mode

Sentence = Annotated[str, Field(max_length=300)]
Short = Annotated[str, Field(max_length=80)]
Ref = Annotated[str, Field(max_length=12)]
Turn = Annotated[int, Field(ge=0, le=9999)]
Degree = Annotated[int, Field(ge=-3, le=3)]
Weight = Annotated[int, Field(ge=1, le=10)]
"""How much something matters: 1 is small talk, 10 changes a life."""
MOST_SENTENCES = 4
"""Of a paragraph."""
MOST_EACH = 10
"""Memories of each who took part."""

Asked = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
"""Of whom an entry is asked, by ref: towards whom, and to whom it is judged how each stands."""


class Bounded(BaseModel, extra="forbid"):
    """Every text and list has an end: small models run on where there is none."""


class ShortMemoryDraft(Bounded):
    """Something that one of them (`owner`) takes away, for a small model. `about` is a ref or a name, `teller` the ref
    of who said it ("": it was done, seen or agreed), `replaces` the ref of the memory it ends ("": none). `lasts`: for
    long, or as something on the owner's mind these days.
    """

    owner: Ref
    text: Sentence
    turns: list[Turn] = Field(min_length=1, max_length=4)
    about: Short
    teller: Ref
    mode: Mode
    importance: Weight
    lasts: Literal["long", "low", "medium", "high"]
    replaces: Ref


class MemoryDraft(ShortMemoryDraft):
    """The same with whom the teller has it from (a ref or a name), what of `about` has one value at a time, and a short
    line worth keeping in its own voice; each may be "".
    """

    heard_from: Short
    slot: Short
    quote: Annotated[str, Field(max_length=120)]


class PromiseDraft(Bounded):
    """A promise that was made in `turn`, or an open one (`ref`) that was moved, released or kept there. `place` is an
    id or a name, `day` YYYY-MM-DD, `time` HH:MM or a part of the day; each may be "".
    """

    status: Literal["made", "moved", "released", "kept"]
    by: Ref
    to: Ref
    what: Sentence
    place: Short
    day: Annotated[str, Field(max_length=10)]
    time: Annotated[str, Field(max_length=9)]
    turn: Turn
    ref: Ref


class AttitudeDraft(Bounded):
    """How a person stands to another now, on three scales from -3 to 3."""

    power: Degree
    intimacy: Degree
    task_oriented: Degree


class PersonEntry(Bounded):
    """How one of them leaves the conversation. `affinity` is how it likes the other now, -100..100. `attitude` is None
    where it was not judged: it stays as it was.
    """

    paragraph: list[Sentence] = Field(min_length=1, max_length=MOST_SENTENCES)
    topics: list[Short] = Field(max_length=5)
    mood: Mood
    affinity: int = Field(ge=-100, le=100)
    attitude: AttitudeDraft | None


class Entries(Bounded):
    """An entry for each who took part. They are fields, and no list, so that even the smallest model leaves nobody
    out.
    """

    a: PersonEntry
    b: PersonEntry


class ClosingAnswer(Bounded):
    """The whole answer."""

    people: Entries
    memories: list[MemoryDraft] = Field(max_length=2 * MOST_EACH)
    promises: list[PromiseDraft] = Field(max_length=12)
    not_to_quote: list[Turn] = Field(max_length=20)

    def entry(self, ref: str) -> Any:
        """The entry of the one with that ref."""
        return getattr(self.people, ref)

    def affinity(self, ref: str, other_ref: str) -> int:
        """How much the one with the first ref likes the other now."""
        entry = self.entry(ref)
        liked: int = entry.affinity if isinstance(entry, PersonEntry) else getattr(entry.towards, other_ref)
        return liked

    def attitude(self, ref: str, other_ref: str) -> AttitudeDraft | None:
        """How it stands to the other now; None: it was not judged."""
        judged = getattr(self.entry(ref), "attitude", None)
        return judged if isinstance(judged, AttitudeDraft | None) else getattr(judged, other_ref, None)


class ShortClosingAnswer(ClosingAnswer):
    """The whole answer of a small model."""

    memories: list[ShortMemoryDraft] = Field(max_length=MOST_EACH)  # type: ignore[assignment] # it has no more fields


@lru_cache(maxsize=64)
def answer_form(asked: Asked, *, is_short: bool) -> type[ClosingAnswer]:
    """The form of the answer; for more than two it is made for those who took part."""
    base = ShortClosingAnswer if is_short else ClosingAnswer
    if len(asked) <= 2:
        return base
    entries = _form("Entries", {ref: (_entry(ref, others, judged), ...) for ref, others, judged in asked})
    draft = ShortMemoryDraft if is_short else MemoryDraft
    most = Field(max_length=MOST_EACH * len(asked))
    fields: dict[str, Any] = {"people": (entries, ...), "memories": (list[draft], most)}  # type: ignore[valid-type] # either
    return create_model("ClosingAnswer", __base__=base, **fields)


def _entry(ref: str, others: Iterable[str], judged: Iterable[str]) -> type[BaseModel]:
    """The entry of one among more than two: fields for each other one, in the place of one affinity and attitude."""
    kept = {name: (field.annotation, field) for name, field in PersonEntry.model_fields.items()}
    liked, name = kept.pop("affinity"), f"Entry{ref.upper()}"
    kept.pop("attitude")
    fields: dict[str, Any] = {**kept, "towards": (_form(f"{name}Towards", dict.fromkeys(others, liked)), ...)}
    if attitudes := dict.fromkeys(judged, (AttitudeDraft, ...)):
        fields["attitude"] = (_form(f"{name}Attitude", attitudes), ...)
    return _form(name, fields)


def _form(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    return create_model(name, __base__=Bounded, **fields)
