"""Owns the tests of the count of model calls."""

import asyncio

from service.store.session import Database
from service.store.usage import count, usage_rows
from service.usage import Usage

CALL = Usage(calls=1, prompt_tokens=10, completion_tokens=3, cached_tokens=2)


def test_parallel_counts_lose_nothing(database: Database) -> None:
    async def run() -> None:
        await asyncio.gather(*(database.write(lambda s: count(s, "main", 1, "npc", CALL.failed)) for _ in range(30)))

    asyncio.run(run())
    (row,) = database.read_now(lambda s: usage_rows(s, "main"))
    assert (row.calls, row.failures, row.prompt_tokens, row.completion_tokens, row.cached_tokens) == (
        30,
        30,
        300,
        90,
        60,
    )


def test_one_estimate_makes_the_sum_an_estimate(database: Database) -> None:
    database.write_now(lambda s: count(s, "main", 1, "npc", CALL))
    assert [r.estimated for r in database.read_now(lambda s: usage_rows(s, "main"))] == [False]
    database.write_now(lambda s: count(s, "main", 1, "npc", Usage(calls=1, estimated=True)))
    database.write_now(lambda s: count(s, "main", 1, "npc", CALL))
    assert [r.estimated for r in database.read_now(lambda s: usage_rows(s, "main"))] == [True]
