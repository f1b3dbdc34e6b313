"""Measures who knows what: whether a secret gets out in talks whose speakers say every line of their prompts.

The parrot and its village are those of tests/runtime/parrot.py.
"""

import asyncio
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from sqlmodel import col, func, select

from service.content.files import bundled_content
from service.content.load import Content, load_content
from service.locales import Language, languages
from service.store.phase import Phase
from service.store.tables import ConversationRow
from tests.runtime.lives import house
from tests.runtime.parrot import SECRETS, Parrot, confide, leaks, secretive, told

TALKS = 200
_CONFIDED = 5
_STEP = 10


def run(talks: int = TALKS, minutes: int = _STEP, confided: int = _CONFIDED) -> dict[str, float]:
    """All figures. At least so many talks are held, half of them in each language, `minutes` of the world a step; first
    each owner talks `confided` times with who may be told. Then the same where lives are only sketched.
    """
    content, of_each = secretive(load_content(bundled_content())), -(-talks // len(languages()))
    figures = Counter[str]()
    for decision, named in (("model", "secrets"), ("sketch", "sketched")):
        for language in languages():
            held = asyncio.run(_talked(content, language, of_each, minutes, confided, decision=decision))
            figures.update({f"{named}_{name}": count for name, count in held.items()})
    return dict(figures)


async def _talked(
    content: Content, language: Language, talks: int, minutes: int, confided: int, *, decision: str
) -> dict[str, int]:
    parrot = Parrot()
    with tempfile.TemporaryDirectory() as directory:
        async with house(content, Path(directory), parrot, language=language, decision=decision) as lived:
            database = lived.room.database
            await confide(lived.room, confided)
            while (held := database.read_now(lambda s: s.exec(_HELD).one())) < talks:
                await lived.live(minutes)
            names = {one: content.cast(one).world_name for one in languages()}
            return {
                "talks": held,
                "leaked": database.read_now(lambda s: len(list(leaks(s, parrot.asked, language, names)))),
                "told": sum(database.read_now(partial(told, kept=kept, language=language)) > 0 for kept in SECRETS),
            }


_HELD = select(func.count(col(ConversationRow.id))).where(ConversationRow.phase == Phase.CLOSED)
