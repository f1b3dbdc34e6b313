"""An answer whose client leaves."""

import asyncio

from service.api.chat.request import AnswerStream, WholeAnswer


async def left_at_once() -> list[str]:
    put_in_order: list[str] = []

    async def making(speech: AnswerStream) -> WholeAnswer:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            put_in_order.append(speech.heard)
            raise
        raise AssertionError

    speech = AnswerStream(making)
    speech.leave()
    await asyncio.wait({asyncio.create_task(speech.spoken())})
    return put_in_order


def test_who_leaves_before_the_answer_begins_leaves_nothing_undone() -> None:
    assert asyncio.run(left_at_once()) == [""]
