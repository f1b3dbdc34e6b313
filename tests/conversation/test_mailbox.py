"""A mailbox holds the newest of each conversation and no more, however slow its client is."""

import asyncio

from service.conversation.stream import Mailbox, Speaking, Stream, person_key
from service.store.tables import ConversationKey

KEY = ConversationKey("main", "c1")


def words(text: str) -> Speaking:
    return Speaking(utterance_id="c1.0.0", turn=0, speaker_id="taro", speaker_name="Taro", text=text)


def test_of_a_thousand_words_a_slow_client_finds_the_newest() -> None:
    stream = Stream()
    with stream.mailbox(KEY) as box:
        box.take()
        for count in range(1000):
            stream.tell(KEY, words("a" * count))
        assert box.take() == (False, {KEY: words("a" * 999)})
        assert box.take() == (False, {})


def test_what_is_committed_is_looked_up_and_not_held() -> None:
    stream = Stream()
    with stream.mailbox(KEY) as box:
        box.take()
        stream.tell(KEY, words("Go"))
        stream.hush(KEY)
        assert box.take() == (True, {KEY: words("Go")})


def test_who_comes_in_the_middle_of_an_utterance_finds_what_was_said_of_it() -> None:
    stream = Stream()
    with stream.mailbox(KEY), stream.mailbox() as late:
        stream.tell(KEY, words("Good mor"))
        stream.follow(late, KEY)
        assert late.take() == (True, {KEY: words("Good mor")})
        stream.hush(KEY)
        with stream.mailbox(KEY) as later:
            assert later.take() == (True, {})


def test_a_box_is_woken_by_its_person_and_by_the_end_of_the_service_and_leaves_nothing_behind() -> None:
    async def woken() -> list[tuple[bool, bool]]:
        stream, found = Stream(), []
        with stream.mailbox(person_key("main", "ken")) as box:
            box.take()
            stream.tell_people("main", ("taro", "ken"))
            await box.wait(5)
            found.append((box.take()[0], box.is_stopped))
            stream.stop()
            await box.wait(5)
            found.append((box.take()[0], box.is_stopped))
            with stream.mailbox() as late:
                found.append((late.take()[0], late.is_stopped))
        assert not stream._boxes
        return found

    assert asyncio.run(woken()) == [(True, False), (True, True), (True, True)]


def test_a_settled_conversation_is_followed_no_more() -> None:
    stream = Stream()
    with stream.mailbox(KEY) as box:
        box.take()
        stream.settle(KEY)
        assert box.keys == set()
        stream.tell(KEY, words("late"))
        assert box.take() == (True, {})
    assert isinstance(box, Mailbox)
