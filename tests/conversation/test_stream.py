"""Owns the tests of the live view of conversations."""

import asyncio

from service.conversation.stream import QUEUE_LIMIT, Ended, Moment, Settled, Speaking, Stopped, Stream
from service.store.phase import EndReason
from tests.store.conversations import main

ENDED = Ended(reason=EndReason.TURN_LIMIT)


def _speaking(text: str) -> Speaking:
    return Speaking(utterance_id="0.1", turn=0, speaker_id="aoi", speaker_name="Aoi", text=text)


def test_everybody_who_listens_hears_all_in_order() -> None:
    async def heard() -> list[list[Moment | None]]:
        stream = Stream()
        with stream.listen(main("a")) as one, stream.listen(main("a")) as two:
            stream.tell(main("a"), _speaking("Good"))
            stream.tell(main("a"), ENDED)
            return [[await listener.next(1) for _ in range(2)] for listener in (one, two)]

    assert asyncio.run(heard()) == [[_speaking("Good"), ENDED]] * 2


def test_another_conversation_is_not_heard() -> None:
    async def heard() -> Moment | None:
        stream = Stream()
        with stream.listen(main("a")) as listener:
            stream.tell(main("b"), ENDED)
            return await listener.next(0.01)

    assert asyncio.run(heard()) is None


def test_who_has_left_hears_no_more_and_is_forgotten() -> None:
    async def heard() -> Moment | None:
        stream = Stream()
        with stream.listen(main("a")) as listener:
            pass
        stream.tell(main("a"), ENDED)
        assert stream._listeners == {}
        return await listener.next(0.01)

    assert asyncio.run(heard()) is None


def test_who_is_far_behind_loses_words_in_the_making_but_no_news() -> None:
    async def heard() -> list[Moment]:
        stream = Stream()
        with stream.listen(main("a")) as listener:
            for number in range(QUEUE_LIMIT + 5):
                stream.tell(main("a"), _speaking(str(number)))
            stream.tell(main("a"), Settled())
            moments = []
            while (moment := await listener.next(0.01)) is not None:
                moments.append(moment)
            return moments

    moments = asyncio.run(heard())
    assert len(moments) == QUEUE_LIMIT + 1
    assert moments[-1] == Settled()


def test_who_listens_is_told_that_the_service_stops_and_so_is_who_comes_after() -> None:
    async def heard() -> list[Moment | None]:
        stream = Stream()
        with stream.listen(main("a")) as before:
            stream.stop()
            with stream.listen(main("b")) as after:
                return [await before.next(1), await after.next(1)]

    assert asyncio.run(heard()) == [Stopped(), Stopped()]
