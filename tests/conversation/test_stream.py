"""Owns the tests of who follows conversations: who is told, and who listens to words."""

from service.conversation.stream import ALL, Speaking, Stream
from tests.store.conversations import main

KEY = main("a")
WORDS = Speaking(utterance_id="0.1", turn=0, speaker_id="aoi", speaker_name="Aoi", text="Good")


def test_everybody_who_follows_is_told() -> None:
    stream = Stream()
    with stream.mailbox(KEY) as one, stream.mailbox(KEY) as two, stream.mailbox(ALL) as of_all:
        for box in (one, two, of_all):
            box.take()
        stream.tell(KEY, WORDS)
        stream.tell(KEY)
        assert [box.take() for box in (one, two, of_all)] == [(True, {KEY: WORDS})] * 3


def test_another_conversation_is_not_heard() -> None:
    stream = Stream()
    with stream.mailbox(KEY) as box:
        box.take()
        stream.hush(main("b"))
        stream.tell(main("b"), WORDS)
        assert box.take() == (False, {})


def test_who_has_left_hears_no_more_and_is_forgotten() -> None:
    stream = Stream()
    with stream.mailbox(KEY) as box:
        box.take()
    stream.tell(KEY)
    assert stream._boxes == {}
    assert box.take() == (False, {})


def test_who_wants_no_words_is_told_what_is_committed_and_is_no_listener() -> None:
    stream = Stream()
    with stream.mailbox(KEY, to_words=False) as box:
        assert not stream.has_listener(KEY)
        box.take()
        stream.tell(KEY, WORDS)
        assert box.take() == (False, {})
        stream.hush(KEY)
        assert box.take() == (True, {})
    assert not stream.has_listener(KEY)


def test_who_has_left_only_now_is_a_listener_still() -> None:
    stream = Stream()
    with stream.mailbox(KEY):
        assert stream.has_listener(KEY)
    assert stream.has_listener(KEY)
    assert not stream.has_listener(main("b"))


def test_who_follows_is_told_that_the_service_stops_and_so_is_who_comes_after() -> None:
    stream = Stream()
    with stream.mailbox(KEY) as before:
        stream.stop()
        with stream.mailbox(main("b")) as after:
            assert before.is_stopped
            assert after.is_stopped
            assert (before.take()[0], after.take()[0]) == (True, True)
