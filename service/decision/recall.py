"""Owns what a character recalls when it decides: the day's talks, mid-term memories, and long-term memory."""

from collections.abc import Collection
from dataclasses import dataclass

from service.decision.dependencies import DecisionDependencies
from service.memory.mid_term import OnMind
from service.memory.recall import is_promise, recent_memory, remembered, talk_line
from service.memory.secrets import discretion
from service.memory.telling import Told, tell
from service.people.worlds import WorldView

MAX_REMEMBERED = 4
"""Memories that a decision is told; a talk is told more of them."""
REMEMBERED_TOKENS = 150
"""They take no more of its prompt, by `estimate_tokens`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TalkOfToday:
    """A talk of this day, and how it is told."""

    conversation_id: str
    partner_id: str
    told: str


@dataclass(frozen=True, kw_only=True)
class Recent:
    """Unexpired mid-term memories, the most urgent last, without promises; the day's talks, oldest first; what the
    character carries.
    """

    mid_term: tuple[OnMind, ...]
    today: tuple[TalkOfToday, ...]
    items: tuple[str, ...]


async def recent(deps: DecisionDependencies, world: WorldView, character_id: str) -> Recent:
    """The SQL part, in one read. What would give a secret away is left out: others see what is decided."""
    kept = discretion(world.cast.character(character_id))
    found = await deps.database.read(lambda session: recent_memory(session, world, character_id, None))
    return Recent(
        mid_term=tuple(one for one in found.mid_term if not is_promise(one) and kept.lets(one.content)),
        today=tuple(
            TalkOfToday(
                conversation_id=one.conversation_id,
                partner_id=one.partner_id,
                told=talk_line(world, one).text if kept.lets(one.summary) else f"{world.name_of(one.partner_id)}: …",
            )
            for one in found.today
        ),
        items=tuple(found.person.items),
    )


async def recalled(
    deps: DecisionDependencies, world: WorldView, character_id: str, query: str, today: Collection[str]
) -> Told:
    """What of the long-term memory answers `query`; nothing while that memory is away.

    What comes from the conversations `today` (their ids) is left out: their summaries are told; and so is what would
    give a secret away, which no decision needs.
    """
    limit = deps.settings.memory.recall_limit
    found = await remembered(deps.memory, world, character_id, query, limit=2 * limit)
    known = discretion(world.cast.character(character_id)).known(found, world)
    older = [one for one in known if one.memory.conversation_id not in today][: min(limit, MAX_REMEMBERED)]
    return tell(world, character_id, older, tokens=REMEMBERED_TOKENS)
