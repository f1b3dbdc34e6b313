"""Owns the pass over a whole cast: a model is asked what its authors wrote of one person, and cannot both be true."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import BaseModel, Field

from service.content.load import Cast
from service.content.profile import CharacterProfile, NpcProfile
from service.errors import ModelError
from service.llm.chat import ChatModel
from service.llm.prompt import OwnPrompts
from service.locales import Language
from service.offline.model import REHEARSAL
from service.testing.judge import TEMPLATES

_MOST = 99
"""Sentences about one person that are shown."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """A sentence of somebody's file about the person `about`."""

    about: str
    file: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Clash:
    """Two sentences that exclude each other."""

    one: Written
    other: Written


@dataclass(kw_only=True)
class CastJudged:
    """What came of it. `unjudged`: of so many people no model has said anything."""

    clashes: list[Clash]
    calls: int = 0
    unjudged: int = 0


class ClashDraft(BaseModel, extra="forbid"):
    """A pair of sentences, by their numbers."""

    reason: str = Field(max_length=300)
    one: int = Field(ge=1, le=_MOST)
    other: int = Field(ge=1, le=_MOST)


class ClashesDraft(BaseModel, extra="forbid"):
    """What the model answers."""

    clashes: list[ClashDraft] = Field(max_length=8)


@dataclass(frozen=True, kw_only=True)
class CastContext:
    """What the model is told."""

    language: Language
    name: str
    texts: tuple[str, ...]
    own_prompts: OwnPrompts = ()


async def judge_cast(model: ChatModel, cast: Cast, language: Language, limit: asyncio.Semaphore) -> CastJudged:
    """Ask once for each person of whom two sentences stand. Secrets are left out: they may be kept by a lie. Without a
    model nobody is judged.
    """
    by_person = groupby(sorted(_written(cast), key=lambda one: one.about), key=lambda one: one.about)
    asked = [(about, written[:_MOST]) for about, group in by_person if len(written := list(group)) > 1]
    if model.name == REHEARSAL:
        return CastJudged(clashes=[], unjudged=len(asked))
    found = CastJudged(clashes=[])

    async def ask(about: str, written: Sequence[Written]) -> None:
        texts = tuple(one.text for one in written)
        context = CastContext(language=language, name=cast.person(about).name, texts=texts)
        prompt = TEMPLATES.question("cast", "closing", context, ClashesDraft, max_tokens=600, thread=f"cast/{about}")
        try:
            async with limit:
                answer = await model.complete(prompt)
        except ModelError as exc:
            found.calls += exc.usage.calls
            found.unjudged += 1
            return
        found.calls += answer.usage.calls
        pairs = {tuple(sorted((one.one, one.other))) for one in answer.value.clashes}
        found.clashes += [
            Clash(one=written[one - 1], other=written[other - 1])
            for one, other in sorted(pairs)
            if one < other <= len(written)
        ]

    await asyncio.gather(*(ask(*one) for one in asked))
    found.clashes.sort(key=lambda one: (one.one.about, one.one.text))
    return found


def _written(cast: Cast) -> Iterator[Written]:
    """A sentence that begins with a name is about that person; another one about whose file it stands in."""
    people: dict[str, CharacterProfile | NpcProfile] = {**cast.npcs, **cast.characters}
    by_name = {person.name: person_id for person_id, person in people.items()}
    for person in people.values():
        file = f"{'npcs' if person.kind == 'npc' else 'characters'}/{person.id}.yaml"
        for text in person.settled:
            named = next((person_id for name, person_id in by_name.items() if text.startswith(name)), person.id)
            yield Written(about=named, file=file, text=text)
