"""Owns the test that no secret gets out, whatever a model says: a parrot lives in a village with secrets."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import col, func, select

from service.content.load import Content
from service.locales import Language, languages
from service.store.tables import ConversationRow
from tests.runtime.lives import house
from tests.runtime.parrot import SECRETS, Parrot, confide, leaks, secretive, told

CONFIDED = 4


@pytest.mark.parametrize("decision", ["model", "sketch"])
@pytest.mark.parametrize("language", languages())
def test_a_parrot_gives_no_secret_away_but_to_who_may_be_told(
    village: Content, tmp_path: Path, language: Language, decision: str
) -> None:
    """No secret stands in a sketch at all."""

    async def work() -> None:
        parrot = Parrot()
        async with house(secretive(village), tmp_path, parrot, language=language, decision=decision) as lived:
            database = lived.room.database
            await confide(lived.room, CONFIDED)
            await lived.live(20 if decision == "model" else 90)
            names = {one: village.cast(one).world_name for one in languages()}
            assert database.read_now(lambda s: list(leaks(s, parrot.asked, language, names))) == []
            for kept in SECRETS:
                turns = database.read_now(partial(told, kept=kept, language=language))
                assert (turns > 0) is (kept.confidant is not None), kept.owner
            assert database.read_now(lambda s: s.exec(_TALKS).one()) > 3 * CONFIDED + 5
            assert any(one.by == "sketch" for one in parrot.asked) is (decision == "sketch")

    asyncio.run(work())


_TALKS = select(func.count(col(ConversationRow.id)))
