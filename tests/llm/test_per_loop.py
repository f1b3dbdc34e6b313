"""Owns the tests of values that belong to one event loop."""

import asyncio

from service.llm.wrappers import PerLoop


def test_a_loop_keeps_its_value_and_another_loop_gets_another() -> None:
    values = PerLoop(object)

    async def twice() -> object:
        assert values.get() is values.get()
        return values.get()

    assert asyncio.run(twice()) is not asyncio.run(twice())


def test_a_value_that_was_taken_is_forgotten() -> None:
    values = PerLoop(object)

    async def take() -> None:
        assert values.take() is None
        first = values.get()
        assert values.take() is first
        assert values.get() is not first

    asyncio.run(take())
