"""Owns the end of a run: the days of everybody, how they are, and what it cost."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from service.decision.wording import action_name, clock_of, need_name
from service.people.worlds import WorldView
from service.run.cost import Prices, Spent, total
from service.run.ledger import Day, Ledger
from service.run.texts import ROLES, one_line, say
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime, clock_label


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
    yield say("summary", language, since=clock_label(outcome.since, language), until=world.label)
    for person_id in world.cast.characters:
        how = say("by_model" if person_id in outcome.deciding else "by_routine", language)
        yield say("person", language, name=world.name_of(person_id), how=how)
        for number, day in sorted(outcome.ledger.days.get(person_id, {}).items()):
            yield from _day(world, number, day)
        levels = outcome.needs.get(person_id, {})
        told = (f"{need_name(world, need_id)} {round(level)}" for need_id, level in levels.items())
        yield say("needs", language, value=_listed(world, told))
    yield ""
    yield from cost(outcome)


def cost(outcome: Outcome) -> Iterator[str]:
    """Calls, tokens, money, machine time."""
    language, shares = outcome.world.language, len(outcome.deciding) * outcome.days
    yield say("cost", language)
    all_of_it = total(outcome.spent)
    for role, spent in (*sorted(outcome.spent.items()), ("total", all_of_it)):
        if spent.calls or role == "total":
            name = ROLES[role][language] if role in ROLES else say(role, language)
            yield _role(outcome.world, name, spent, shares)
    if all_of_it.estimated:
        yield say("estimated", language)
    if outcome.prices is not None:
        yield say("paid", language, money=outcome.prices.of(all_of_it))
    yield say("seconds", language, seconds=f"{outcome.seconds:.1f}", days=f"{outcome.days:g}")


def _role(world: WorldView, name: str, spent: Spent, shares: float) -> str:
    line = say(
        "role",
        world.language,
        role=name,
        calls=f"{spent.calls:,}",
        prompt=f"{spent.prompt_tokens:,}",
        completion=f"{spent.completion_tokens:,}",
        calls_each=f"{spent.calls / shares:.1f}" if shares else "-",
        prompt_each=f"{spent.prompt_tokens / shares:,.0f}" if shares else "-",
    )
    return line + (say("failures", world.language, failures=spent.failures) if spent.failures else "")


def _day(world: WorldView, number: int, day: Day) -> Iterator[str]:
    language = world.language
    began = WorldTime(number * MINUTES_PER_DAY + world.settings.day_starts_minutes)
    yield f"  {clock_label(began, language).rsplit(' ', 1)[0].rstrip(',')}"
    did = (
        say("hours", language, what=action_name(world, action_id), hours=f"{minutes / MINUTES_PER_HOUR:.1f}")
        for action_id, minutes in day.minutes.most_common()
    )
    if day.minutes:
        yield say("did", language, value=_listed(world, did))
    for talk in day.talks:
        told = {"at": clock_of(talk.at), "partner": world.name_of(talk.partner_id)}
        yield say("talked", language, **told, summary=one_line(talk.summary))
    for text, found in (("learned", day.learned), ("mid_term", day.mid_term)):
        for statement in dict.fromkeys(found):
            yield say(text, language, value=one_line(statement))


def _listed(world: WorldView, parts: Iterator[str]) -> str:
    return ("、" if world.language == "ja" else ", ").join(parts)
