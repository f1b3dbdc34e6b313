"""What one connection is told: each thing once, in order, wherever it goes on."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.telling import ClientEvent, StreamPosition, Telling
from service.conversation.stream import Speaking
from service.store.client_event_kinds import NpcThinking, UtteranceCompleted, UtteranceDiscarded, UtteranceStarted
from service.store.event_kinds import Payload
from service.store.phase import Audience
from service.store.tables import ConversationKey, EventRow

KEY = ConversationKey("main", "c1")
TEXT = "(smiles) Good morning, Mr. Smith. The boat is ready! 行こう。"


def row(seq: int, payload: Payload) -> EventRow:
    return EventRow(
        **KEY._asdict(), audience=Audience.PARTICIPANTS, id=seq, at=0, kind=payload.kind, data=payload.stored()
    )


def started(seq: int, attempt: int = 0) -> EventRow:
    told = UtteranceStarted(
        utterance_id=f"c1.1.{attempt}", turn=1, speaker_id="taro", speaker_name="Taro", language="en", voice={"id": 3}
    )
    return row(seq, told)


def completed(seq: int, text: str = TEXT, *, interrupted: bool = False, attempt: int = 0) -> EventRow:
    told = UtteranceCompleted(
        utterance_id=f"c1.1.{attempt}",
        turn=1,
        speaker_id="taro",
        speaker_name="Taro",
        text=text,
        emotion="happy",
        interrupted=interrupted,
        message_id=None,
    )
    return row(seq, told)


def discarded(seq: int, sentences: int | None) -> EventRow:
    return row(seq, UtteranceDiscarded(utterance_id="c1.1.0", spoken_sentences=sentences))


def spoken(text: str, attempt: int = 0, **more: Any) -> Speaking:
    return Speaking(utterance_id=f"c1.1.{attempt}", turn=1, speaker_id="taro", speaker_name="Taro", text=text, **more)


def short(events: list[ClientEvent]) -> list[Any]:
    """Kinds, and what is told of passing events."""
    return [
        (event.kind.removeprefix("utterance."), *(getattr(event.data, name) for name in names))
        if (names := {"delta": ("char_start", "text"), "sentence": ("index", "text", "final")}.get(event.kind[10:]))
        else event.kind
        for event in events
    ]


def test_words_are_told_as_they_grow_and_sentences_as_soon_as_they_are_certain() -> None:
    telling = Telling(StreamPosition(), [])
    told = [*telling.committed(row(1, NpcThinking(person_id="taro"))), *telling.committed(started(2))]
    for length in (5, 36, len(TEXT)):
        told += telling.spoken(KEY, spoken(TEXT[:length], emotion="happy" if length > 5 else None))
    told += telling.committed(completed(3))
    assert short(told) == [
        "npc.thinking",
        "utterance.started",
        ("delta", 0, TEXT[:5]),
        ("delta", 5, TEXT[5:36]),
        ("sentence", 0, "Good morning, Mr. Smith.", False),
        ("delta", 36, TEXT[36:]),
        ("sentence", 1, "The boat is ready!", False),
        ("sentence", 2, "行こう。", True),
        "utterance.completed",
    ]
    assert [event.seq for event in told] == [1, 2, None, None, None, None, None, None, 3]
    first = told[4].data.model_dump()
    assert first == {
        "utterance_id": "c1.1.0",
        "index": 0,
        "final": False,
        "speaker_id": "taro",
        "text": "Good morning, Mr. Smith.",
        "char_start": 0,
        "char_end": 33,
        "language": "en",
        "voice": {"id": 3},
        "emotion": {"label": "happy", "strength": 0.5},
        "gesture": "smiles",
    }


def test_where_another_replica_speaks_the_sentences_come_with_the_whole() -> None:
    telling = Telling(StreamPosition(), [])
    told = [event for one in (started(1), completed(2)) for event in telling.committed(one)]
    assert [event.kind for event in told] == [
        "utterance.started",
        *["utterance.sentence"] * 3,
        "utterance.completed",
    ]


def test_words_of_an_attempt_that_was_not_begun_or_was_taken_back_are_not_told() -> None:
    telling = Telling(StreamPosition(), [])
    assert [*telling.spoken(KEY, spoken("Good"))] == []
    told = [*telling.committed(started(1)), *telling.spoken(KEY, spoken("As an AI"))]
    told += telling.committed(discarded(2, 0))
    assert short(told) == ["utterance.started", ("delta", 0, "As an AI"), "utterance.discarded"]
    assert [*telling.spoken(KEY, spoken("As an AI I"))] == []
    again = [*telling.committed(started(3, attempt=1)), *telling.spoken(KEY, spoken("Good", attempt=1))]
    assert short(again) == ["utterance.started", ("delta", 0, "Good")]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_who_is_cut_off_anywhere_and_comes_back_is_told_all_of_it_once(data: st.DataObject) -> None:
    log = [started(1), discarded(2, 0), started(3, attempt=1), completed(4, attempt=1)]
    moments: list[EventRow | Speaking] = [log[0], spoken("As an"), log[1], log[2]]
    moments += [spoken(TEXT[:n], attempt=1) for n in sorted(data.draw(st.sets(st.integers(1, len(TEXT)))))]
    moments.append(log[3])
    whole = follow(Telling(StreamPosition(), []), moments)
    place = data.draw(st.integers(0, len(whole)))
    had, position = whole[:place], StreamPosition.read(str(whole[place - 1][1])) if place else StreamPosition()
    begun = [one for one in (log[0], log[2]) if one.id == position.seq]
    rest: list[EventRow | Speaking] = [one for one in moments if isinstance(one, Speaking) or one.id > position.seq]
    again = follow(Telling(position, begun), rest)
    assert told_once([*had, *again]) == told_once(whole)


def follow(telling: Telling, moments: list[EventRow | Speaking]) -> list[tuple[ClientEvent, StreamPosition]]:
    """Each event, and the position after it; words are told again whenever something is, as a mailbox has it."""
    told = []
    for one in moments:
        events = telling.spoken(KEY, one) if isinstance(one, Speaking) else telling.committed(one)
        told += [(event, telling.position) for event in events]
    return told


def told_once(told: list[tuple[ClientEvent, StreamPosition]]) -> tuple[list[Any], dict[str, str]]:
    """What is committed and which sentences were told, in order; and the text that the deltas make."""
    texts: dict[str, str] = {}
    for event, _ in told:
        if event.kind == "utterance.delta":
            name, start = event.data.utterance_id, event.data.char_start  # type: ignore[attr-defined]
            assert start == len(texts.get(name, ""))
            texts[name] = texts.get(name, "") + event.data.text  # type: ignore[attr-defined]
    return [one for one in short([event for event, _ in told]) if one[0] != "delta"], texts
