"""Owns the end of a run: the days of everybody, how they are, and what it cost."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from service.decision.options import action_name, clock_of, need_name
from service.locales import Listed, Phrase, clock_label, date_label
from service.people.worlds import WorldView
from service.run.cost import Prices, Spent, total
from service.run.ledger import Day, Ledger
from service.run.show import one_line
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime

LEAST_IN_HOURS = 6
"""Fewer minutes than that are told as minutes: as hours they would be 0.0 or 0.1."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to. `deciding` decided by model; `needs` are levels at the end by person and need id."""

    world: WorldView
    since: WorldTime
    ledger: Ledger
    deciding: Collection[str]
    needs: Mapping[str, Mapping[str, float]]
    spent: Mapping[str, Spent]
    prices: Prices | None
    seconds: float

    @property
    def days(self) -> float:
        """World days that were lived."""
        return (self.world.now - self.since) / MINUTES_PER_DAY


def summary(outcome: Outcome) -> Iterator[str]:
    """The summary's lines: everybody's days, then the cost."""
    world, language = outcome.world, outcome.world.language
    yield ""
    yield world.say("run.summary", since=clock_label(outcome.since, language), until=world.label)
    for person_id in world.cast.characters:
        how = world.say("run.by_model" if person_id in outcome.deciding else "run.by_routine")
        yield world.say("run.person", name=world.name_of(person_id), how=how)
        for number, day in sorted(outcome.ledger.days.get(person_id, {}).items()):
            yield from _day(world, number, day)
        levels = outcome.needs.get(person_id, {})
        told = (f"{need_name(world, need_id)} {round(level)}" for need_id, level in levels.items())
        yield world.say("run.needs", value=Listed(told))
    yield ""
    yield from cost(outcome)


def cost(outcome: Outcome) -> Iterator[str]:
    """Calls, tokens, money, machine time."""
    world, shares = outcome.world, len(outcome.deciding) * outcome.days
    yield world.say("run.cost")
    all_of_it = total(outcome.spent)
    for role, spent in (*sorted(outcome.spent.items()), ("total", all_of_it)):
        if spent["calls"] or role == "total":
            yield _role(world, Phrase(f"run.roles.{role}"), spent, shares)
    if all_of_it["estimated"]:
        yield world.say("run.estimated")
    if outcome.prices is not None:
        yield world.say("run.paid", money=outcome.prices.of(all_of_it))
    yield world.say(
        "run.seconds", seconds=f"{outcome.seconds:.1f}", days=Phrase("counts.days", count=f"{outcome.days:g}")
    )


def _role(world: WorldView, name: Phrase, spent: Spent, shares: float) -> str:
    line = world.say(
        "run.role",
        role=name,
        calls=f"{spent['calls']:,}",
        prompt=f"{spent['prompt_tokens']:,}",
        completion=f"{spent['completion_tokens']:,}",
        calls_each=f"{spent['calls'] / shares:.1f}" if shares else "-",
        prompt_each=f"{spent['prompt_tokens'] / shares:,.0f}" if shares else "-",
    )
    return line + (world.say("run.failures", failures=spent["failures"]) if spent["failures"] else "")


def _spent(world: WorldView, action_id: str, minutes: int) -> str:
    what = action_name(world, action_id)
    if minutes < LEAST_IN_HOURS:
        return world.say("run.minutes", what=what, minutes=minutes)
    return world.say("run.hours", what=what, hours=f"{minutes / MINUTES_PER_HOUR:.1f}")


def _day(world: WorldView, number: int, day: Day) -> Iterator[str]:
    began = WorldTime(number * MINUTES_PER_DAY + world.settings.day_starts_minutes)
    yield f"  {date_label(began, world.language)}"
    did = [_spent(world, action_id, minutes) for action_id, minutes in day.minutes.most_common() if minutes]
    if did:
        yield world.say("run.did", value=Listed(did))
    for talk in day.talks:
        told = {"at": clock_of(talk.at), "partner": world.name_of(talk.partner_id)}
        yield world.say("run.talked", **told, summary=one_line(talk.summary))
    for key, found in (("run.learned", day.learned), ("run.mid_term", day.mid_term)):
        for statement in dict.fromkeys(found):
            yield world.say(key, value=one_line(statement))
