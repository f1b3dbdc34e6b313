"""Owns from whom somebody had what it told: a told claim is linked to what its teller had heard before. Pure.

No model says so: the link is made of words alone, and where none holds, the chain begins with the teller.
"""

from collections.abc import Iterable, Sequence

from service.memory.claim import share, words
from service.memory.comparison import SAME, are_same, squeezed
from service.memory.extraction import Claim, ClosingContext, Mode, Source
from service.memory.lexical import is_named, normal
from service.memory.words import Words

FEWEST_WORDS = 2
"""A sentence with fewer telling words is nobody's: it is said every day."""


def came_from(
    claim: Claim, mode: Mode, sentence: str, said: Words, sources: Iterable[Source], context: ClosingContext
) -> Source | None:
    """What the teller had heard and told on with the claim, the nearest to who began it; None: nothing is known of it.

    `sentence` is the one of `said` that holds most of the claim. It links where claim and memory say the same and the
    words hold it, or the very sentence was heard; and where both are about the same people.
    """
    if mode != "hearsay" and squeezed(claim.subject) == squeezed(said.speaker_name):
        return None
    found = [
        source
        for source in sources
        if _about_the_same(claim, mode, said, source, context)
        and (_says_the_same(claim, said, source, context) or _is_verbatim(sentence, source, context.names))
    ]
    return min(found, key=lambda one: (len(one.chain), one.at), default=None)


def people_in(text: str, context: ClosingContext) -> frozenset[str]:
    """The names of people of this world that stand in the text."""
    return frozenset(name for name in context.everybody if is_named(name, text))


def people_meant(context: ClosingContext, chain: Sequence[str], *names: str) -> tuple[str, ...]:
    """The ids of those whom the names stand for: of several who bear one, the one who told it, else the one who took
    part; nobody where that says not who is meant.
    """
    there = [one.person_id for one in context.participants]
    bearing = (context.bearers.get(normal(name), frozenset()) for name in names)
    found = (next((near for some in (chain, there, ids) if len(near := ids & {*some}) == 1), ()) for ids in bearing)
    return tuple(dict.fromkeys(person_id for near in found for person_id in near))


def _says_the_same(claim: Claim, said: Words, source: Source, context: ClosingContext) -> bool:
    names = context.names | set(source.names)
    if not are_same(claim.statement, source.statement, names):
        return False
    return share(words(source.statement, names), said.both) >= SAME


def _is_verbatim(sentence: str, source: Source, names: frozenset[str]) -> bool:
    return len(words(sentence, names)) >= FEWEST_WORDS and squeezed(sentence) in squeezed(source.words)


def _about_the_same(claim: Claim, mode: Mode, said: Words, source: Source, context: ClosingContext) -> bool:
    """Whether the claim names whom the memory is about, and nobody else but those who told it."""
    named = people_in(f"{claim.subject} {claim.statement}", context)
    known = people_in(f"{source.subject} {source.statement}", context)
    about = people_in(source.subject, context) | (known - set(source.names))
    tellers = {*source.names, said.speaker_name} if mode == "hearsay" else {*source.names}
    return about <= named and named - known <= tellers
