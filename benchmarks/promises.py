"""Measures appointments in virtual time: how many are kept by characters who take what is offered, when nothing
hinders. They live in the service itself; nobody but the offline model decides.
"""

import asyncio
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sqlmodel import select

from benchmarks.townsfolk import town_content
from service.content.load import Content
from service.people.worlds import WorldView
from service.store.phase import CommitmentState
from service.store.tables import CommitmentRow, EventRow
from tests.runtime.lives import house, rehearsal
from tests.runtime.promised import appointment, place_promises
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime

CHARACTERS = 25
DAYS = 2
APPOINTMENTS = 200
_FIRST, _LAST = 9 * MINUTES_PER_HOUR, 21 * MINUTES_PER_HOUR
_APART = 3 * MINUTES_PER_HOUR
"""Nobody has two appointments closer than that."""


def run(*, characters: int = CHARACTERS, days: int = DAYS, appointments: int = APPOINTMENTS) -> dict[str, float]:
    """The share of the appointments of some days that were kept, and how many the store holds that nobody made."""
    content = town_content(characters)
    with tempfile.TemporaryDirectory() as directory:
        states, due = asyncio.run(_lived(content, Path(directory), days, appointments))
    return {
        "promises_on_time": 100 * states.count(CommitmentState.KEPT) / appointments,
        "promises_made_up": len(states) - appointments,
        "promises_due": due,
    }


async def _lived(content: Content, directory: Path, days: int, appointments: int) -> tuple[list[str], int]:
    async with house(content, directory, rehearsal(), at_once=32) as lived:
        room = lived.room
        world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
        place_promises(room.database, room.worlds, _appointments(world, days, appointments))
        await lived.live(days * MINUTES_PER_DAY)
        states = room.database.read_now(lambda s: list(s.exec(select(CommitmentRow.state))))
        due = room.database.read_now(
            lambda s: len(s.exec(select(EventRow.id).where(EventRow.kind == "commitment_due")).all())
        )
        return states, due


def _appointments(world: WorldView, days: int, appointments: int) -> Iterator[CommitmentRow]:
    """Half of them two characters make with each other, each promising the other; half one makes with an NPC."""
    rng = random.Random(11)
    people, npcs = sorted(world.cast.characters), sorted(world.map.posts)
    places = sorted(world.map.nodes.keys() - world.map.closed_nodes)
    today = world.now - world.now % MINUTES_PER_DAY
    slots = [day * MINUTES_PER_DAY + at for day in range(days) for at in range(_FIRST, _LAST + 1, _APART)]
    free = {person: rng.sample(slots, len(slots)) for person in people}
    made = 0
    while made < appointments // 2:
        one, other = rng.sample(people, 2)
        both = [slot for slot in free[one] if slot in free[other]]
        if not both:
            continue
        place, slot = rng.choice(places), both[0]
        for by, to in ((one, other), (other, one)):
            free[by].remove(slot)
            yield appointment(by, to, place, WorldTime(today + slot), world.now)
            made += 1
    while made < appointments:
        one = rng.choice([person for person in people if free[person]])
        npc = rng.choice(npcs)
        yield appointment(one, npc, world.map.posts[npc], WorldTime(today + free[one].pop()), world.now)
        made += 1
