"""Measures days of the sample village without a model: what is repeated, who waits, what is remembered of it."""

import asyncio
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import Session, col, select

from service.content.files import bundled_content
from service.content.load import load_content
from service.locales import Language
from service.memory.record import FACTS, Kind
from service.people.worlds import WorldView
from service.public.events import StoryEvent
from service.store.perception import perceives
from service.store.tables import ConversationRow, EventRow, MemoryRow, TurnRow
from studio.terminal.feed import Ledger
from tests.runtime.lives import House, house, rehearsal
from world.actions import WAIT
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime

_SENTENCE = re.compile(r"[^。！？!?.…\n]+[。！？!?.…」』”\"']*")
_GREETING = re.compile(
    r"^\W*(?:hello|hi|welcome|good (?:morning|day|evening)|goodbye|see you|thank|おはよう|こんにちは|こんばんは|いらっしゃい|"  # noqa: E501
    r"ようこそ|はじめまして|ありがと|さようなら|またね|では、また|それでは、また)",
    re.IGNORECASE,
)
"""What greets, thanks or takes leave: written for this measure, not taken from the speaker."""
_ASKS = re.compile(r"[?？][」』\"”']*$|(?:です|ます|ません|ました|でした)か[。」』]*$")
_SLEEP = "sleep"
_NOON = 12 * 60


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How long, and in which languages."""

    minutes: int = 10 * MINUTES_PER_DAY
    languages: tuple[Language, ...] = ("en", "ja")


def run(scale: Scale | None = None) -> dict[str, float]:
    """Figures by language."""
    scale = scale or Scale()
    return {
        f"{language}_{figure}": value
        for language in scale.languages
        for figure, value in asyncio.run(_village(language, scale.minutes)).items()
    }


async def _village(language: Language, minutes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        content, most = load_content(bundled_content()), max(minutes, MINUTES_PER_DAY)
        async with house(
            content,
            Path(directory),
            rehearsal(),
            language=language,
            llm={"provider": "rehearsal"},
            max_tick_minutes=most,
        ) as lived:
            await lived.live(minutes)
            return lived.room.database.read_now(lambda s: _figures(s, lived, minutes))


def _figures(session: Session, lived: House, minutes: int) -> dict[str, float]:
    world = lived.room.worlds.open(session, "main")
    people = [*world.cast.characters.values(), *world.cast.npcs.values()]
    written = [text for person in people for text in (*person.lines, *person.facts)]
    return {
        "authored_sentences": sum(len(_sentences(text)) for text in written),
        "conversations": len(session.exec(select(ConversationRow.id)).all()),
        **_repeats(session, world),
        **_waits_and_sleeps(session, world, minutes),
        **_facts(session),
    }


def _repeats(session: Session, world: WorldView) -> dict[str, float]:
    """How many of the spoken sentences had been said before: in the conversation by anybody, or by the same speaker to
    one of those who hear them now, that day or ever.
    """
    heard: dict[str, set[object]] = defaultdict(set)
    repeats: Counter[str] = Counter()
    spoken = turns = 0
    for talk, turn in _turns(session):
        others = [one for one in talk.participants if one.person_id != turn.speaker_id]
        hearers = [one.person_id for one in others if perceives(one, turn.turn, turn.speaker_id, turn.heard_by)]
        day = world.at(WorldTime(turn.at)).day
        turns += 1
        for sentence in _sentences(turn.text):
            spoken += 1
            said: dict[str, set[object]] = {
                "in_a_conversation": {(talk.id, sentence)},
                "in_a_day": {(turn.speaker_id, hearer, day, sentence) for hearer in hearers},
                "ever": {(turn.speaker_id, hearer, sentence) for hearer in hearers},
            }
            for span, keys in said.items():
                repeats[span] += not heard[span].isdisjoint(keys)
                heard[span] |= keys
    shares = {
        f"repeated_{span}_share": repeats[span] / max(1, spoken) for span in ("in_a_conversation", "in_a_day", "ever")
    }
    return {"turns": turns, "sentences": spoken, **shares}


def _turns(session: Session) -> Iterator[tuple[ConversationRow, TurnRow]]:
    talks = {talk.id: talk for talk in session.exec(select(ConversationRow)).unique()}
    query = select(TurnRow).order_by(col(TurnRow.at), col(TurnRow.conversation_id), col(TurnRow.turn))
    return ((talks[turn.conversation_id], turn) for turn in session.exec(query))


def _waits_and_sleeps(session: Session, world: WorldView, minutes: int) -> dict[str, float]:
    ledger = Ledger(world, world.started_at)
    nights: Counter[tuple[str, int]] = Counter()
    for event in session.exec(select(EventRow).order_by(col(EventRow.id))):
        ledger.take(StoryEvent(event=event))
        if event.kind == "activity_started" and event.data.get("action_id") == _SLEEP:
            nights[event.person_id or "", (event.at - _NOON) // MINUTES_PER_DAY] += 1
    ledger.finish(world.now)
    first = (world.started_at - _NOON) // MINUTES_PER_DAY + 1
    slept = [
        nights[person, night]
        for person in world.cast.characters
        for night in range(first, first + minutes // MINUTES_PER_DAY - 1)
    ]
    waits = [day.minutes[WAIT] / MINUTES_PER_HOUR for days_of in ledger.days.values() for day in days_of.values()]
    return {
        "longest_wait_in_a_day_h": max(waits),
        "mean_wait_in_a_day_h": sum(waits) / len(waits),
        "fewest_sleeps_in_a_night": min(slept, default=0),
        "most_sleeps_in_a_night": max(slept, default=0),
    }


def _facts(session: Session) -> dict[str, float]:
    kept = select(MemoryRow.text).where(col(MemoryRow.kind).in_([*FACTS, Kind.SELF]), col(MemoryRow.deleted).is_(False))
    told = session.exec(kept).all()
    empty = [one for one in told if any(_ASKS.search(part) or _GREETING.search(part) for part in _quoted(one))]
    return {"facts": len(told), "facts_that_greet_or_ask": len(empty)}


def _quoted(text: str) -> list[str]:
    """The sentences of what is quoted; of the whole where nothing is."""
    quote = re.search(r"[「\"](.+)[」\"]", text)
    return _sentences(quote[1] if quote else text)


def _sentences(text: str) -> list[str]:
    return [found.strip() for found in _SENTENCE.findall(text) if found.strip()]
