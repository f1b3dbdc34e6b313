"""Measures set one, scripted: which truths and lies of a closing later prompts tell, and what the third day knows.

The closing answers all labels of a talk, the true and the false ones alike; a verifier is right with a chance. It
proves the wiring: who judges is the script.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.memory_filler import filler
from benchmarks.memory_labels import MOST_MEMORIES, Label, Told, sentences_of, verdict
from benchmarks.memory_reading import is_in, stands_in
from benchmarks.memory_stage import Stage, stage
from service.locales import Language
from service.memory.lexical import normal
from world.time import WorldTime, iso, parse_time

CASES = Path(__file__).parent / "memory_cases"
SEED = 11
OTHER_TALKS = 10
"""Between the last talk of an arc and what is asked on its third day; half of them with the one who asks."""
GUEST = {"id": "guest", "name": "Robin", "kind": "npc"}
"""Somebody else, with whom the owner talks."""

Talk = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Arc:
    """The talks of the same people, and what they are asked at the end."""

    language: Language
    talks: Sequence[Talk]
    probes: Sequence[Mapping[str, Any]] = ()

    @property
    def people(self) -> list[Mapping[str, Any]]:
        """Everybody, the guest too."""
        return [*self.talks[0]["people"], GUEST]

    @property
    def has_group(self) -> bool:
        """Whether more than two talk: then humans stand there as the others do."""
        return any(len({turn["speaker"] for turn in talk["turns"]}) > 2 for talk in self.talks)


@dataclass
class Count:
    """How many of how many."""

    held: int = 0
    of: int = 0

    def add(self, held: bool) -> None:
        """One more."""
        self.held, self.of = self.held + held, self.of + 1

    @property
    def share(self) -> float:
        """Of all; 0 of none."""
        return self.held / self.of if self.of else 0.0


@dataclass
class Kept:
    """What of the labels later prompts tell as what is so: truths, lies, and of the lies those that stand bare or are
    given to somebody who said nothing there.
    """

    truths: Count = field(default_factory=Count)
    lies: Count = field(default_factory=Count)
    astray: Count = field(default_factory=Count)


def arcs() -> list[Arc]:
    """Set one: its arcs, and each single talk as an arc of one."""
    cases = json.loads((CASES / "set_one.json").read_text(encoding="utf-8"))
    singles = [{"language": one["language"], "talks": [one], "probes": []} for one in cases["talks"]]
    return [
        Arc(language="ja" if one["language"] == "ja" else "en", talks=one["talks"], probes=one["probes"])
        for one in (*cases["arcs"], *singles)
    ]


async def kept(arc: Arc, right: float | None, counts: Kept) -> None:
    """Count what later prompts tell of each talk of the arc; `right`: the verifier's chance (None: there is none)."""
    async with stage(language=arc.language, start=_start(arc), verify=right is not None) as here:
        _judges(here, arc, right)
        for place, talk in enumerate(arc.talks):
            for part, labels in enumerate(_parts([*talk["truths"], *talk["lies"]])):
                world = f"w{place}-{part}"
                await _play(here, world, arc, place)
                await _hold(here, world, arc, talk, labels)
                await _read(here, world, talk, labels, counts)


async def day_three(arc: Arc, tokens: int, right: float | None = 0.9) -> tuple[Count, Count]:
    """Of what a good answer of the third day needs, what its prompt tells; and of what would be wrong by then, what it
    tells as what is so.
    """
    must, must_not = Count(), Count()
    texts = _statements(arc)
    async with stage(language=arc.language, start=_start(arc), verify=right is not None, context_tokens=tokens) as here:
        _judges(here, arc, right)
        pairs = dict.fromkeys((one["owner"], one["partner"]) for one in arc.probes)
        for number, (owner, partner) in enumerate(pairs):
            world = f"day{number}"
            await _play(here, world, arc, len(arc.talks))
            mine = [one for one in arc.probes if (one["owner"], one["partner"]) == (owner, partner)]
            await _pass(here, world, arc, owner, partner, mine[0]["when"])
            small = filler(arc.talks[0]["language"], 0).summary
            for probe in mine:
                await here.until(world, probe["when"])
                (prompt,) = await here.reads(world, owner, partner, [probe["said"]], small)
                for label in probe["must_know"]:
                    must.add(is_in(prompt, texts[label]))
                for text in probe["must_not"]:
                    must_not.add(any(one.stands for one in stands_in(prompt, text, arc.language, [probe["said"]])))
    return must, must_not


def _judges(here: Stage, arc: Arc, right: float | None) -> None:
    truths = [one["statement"] for talk in arc.talks for one in talk["truths"]]
    truths += [line for talk in arc.talks for line in sentences_of(talk["summary"])]
    lies = [one["statement"] for talk in arc.talks for one in talk["lies"]]
    here.script.judge = lambda text: verdict(text, truths, lies, right or 1.0, SEED)


async def _play(here: Stage, world: str, arc: Arc, count: int) -> None:
    """A new world in which so many talks of the arc have been held, with what they teach."""
    await here.people(world, arc.people, players=not arc.has_group)
    known: set[str] = set()
    for place, talk in enumerate(arc.talks[: count + 1]):
        await _before(here, world, talk, known)
        if place < count:
            await _hold(here, world, arc, talk, [*talk["truths"], *talk["lies"]])


async def _before(here: Stage, world: str, talk: Talk, known: set[str]) -> None:
    """Give people what they know before the talk, once."""
    for one in talk["before"]:
        key = f"{one['owner']}-{one['ref']}"
        if key not in known:
            known.add(key)
            statement = {"id": key, "statement": one["text"], "about": one["about"], "at": one["at"]}
            await here.call("POST", world, f"/people/{one['owner']}/memory", {"statements": [statement]})


async def _hold(here: Stage, world: str, arc: Arc, talk: Talk, labels: Sequence[Label]) -> None:
    """Hold the talk at its time; its closing answers the labels."""
    await here.until(world, talk["when"])
    earlier = {**{one["ref"]: one["text"] for one in talk["before"]}, **_statements(arc)}

    closes = Told(paragraph=talk["summary"], memories=labels, promises=talk["promises"], earlier=earlier)
    await here.talk(world, [(turn["speaker"], turn["text"]) for turn in talk["turns"]], closes)


async def _read(here: Stage, world: str, talk: Talk, labels: Sequence[Label], counts: Kept) -> None:
    """Count how the labels stand in the owners' next prompts: with the same partner, and with somebody else."""
    there = list(dict.fromkeys(turn["speaker"] for turn in talk["turns"]))
    text = {turn["n"]: turn["text"] for turn in talk["turns"]}
    speaker = {turn["n"]: turn["speaker"] for turn in talk["turns"]}
    names = {one["id"]: normal(one["name"]) for one in talk["people"]}
    for owner in dict.fromkeys(one["owner"] for one in labels):
        mine = [one for one in labels if one["owner"] == owner]
        says = list(dict.fromkeys(text[one["turns"][0]] for one in mine))
        partner = next(one for one in there if one != owner)
        prompts = [
            prompt
            for other in (partner, GUEST["id"])
            for prompt in await here.reads(world, owner, other, says, filler(talk["language"], 0).summary)
        ]
        told = "\n".join(message.content for prompt in prompts for message in prompt)
        for one in mine:
            found = [each for each in stands_in(told, one["statement"], here.language, text.values()) if each.stands]
            if "why" in one:
                counts.lies.add(bool(found))
                spoke = {names[speaker[turn]] for turn in one["turns"]}
                counts.astray.add(any(each.is_bare or (each.teller and each.teller not in spoke) for each in found))
            else:
                counts.truths.add(bool(found))


async def _pass(here: Stage, world: str, arc: Arc, owner: str, partner: str, when: str) -> None:
    """Ten other talks of the owner until that time, half of them with that partner."""
    last = arc.talks[-1]
    begun, ends = (parse_time(one) for one in (last["when"], when))
    there = [one["id"] for one in last["people"] if one["id"] not in (owner, partner)]
    for number in range(OTHER_TALKS):
        other = partner if number % 2 == 0 else [*there, GUEST["id"]][number // 2 % (len(there) + 1)]
        step = begun + (ends - begun) * (number + 1) // (OTHER_TALKS + 2)
        await here.until(world, iso(WorldTime(step)))
        small = filler(last["language"], number)
        lines = [(other if n % 2 == 0 else owner, text) for n, text in enumerate(small.lines)]
        label = {"owner": owner, "about": other, "statement": small.memory, "turns": [0], "importance": 2}
        await here.talk(world, lines, Told(paragraph=small.summary, memories=[label]))


def _start(arc: Arc) -> str:
    first: str = min(talk["when"] for talk in arc.talks)
    return first


def _statements(arc: Arc) -> dict[str, str]:
    return {
        f"{talk['id']}:{number}": one["statement"] for talk in arc.talks for number, one in enumerate(talk["truths"])
    }


def _parts(labels: Sequence[Label]) -> Iterator[Sequence[Label]]:
    """The labels in as many closings as they need, the true ones and the false ones mixed."""
    count = -(-len(labels) // MOST_MEMORIES)
    return (labels[part::count] for part in range(count))
