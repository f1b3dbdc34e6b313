"""Owns the plan of a data set of dialogues over months: who talks with whom, and how one dialogue is made."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from service.app import chosen_worlds
from service.content.load import read_form
from service.content.problem import problem, quote
from service.content.profile import CharacterProfile
from service.conversation.dependencies import ConversationDependencies
from service.generate.dataset import Line
from service.generate.making import Item, Plan
from service.generate.problem import Dropped, PlanRefused
from service.generate.sessions.dialogue import HeldSession, TwoPeople, hold, session_times
from service.generate.sessions.event_graph import Event, EventGraphContext, event_graph
from service.generate.sessions.file import SessionsFile, check_sessions, people_of
from service.generate.sessions.questions import EvidenceContext, TalkContext, questions
from service.generate.sessions.rehearsal import bear, examine, live
from service.generate.stage import stage
from service.locales import sentence, sentences
from service.settings import Settings
from world.time import WorldTime, iso, to_datetime

_THEMES = 3
"""So many themes are drawn for each life."""


@dataclass(kw_only=True)
class SessionsPlan(Plan):
    """The data set of a file of sessions."""

    file: SessionsFile
    start: WorldTime
    people: Mapping[str, CharacterProfile]
    pairs: Sequence[tuple[str, str]]

    async def make(self, deps: ConversationDependencies, item: Item) -> Line:
        """One dialogue: two event graphs, the sessions, the questions.

        Raises:
            Dropped, GenerationStopped, ModelError.
        """
        rng = random.Random(item.seed)
        one, other = (self.people[person_id] for person_id in self.pairs[item.number % len(self.pairs)])
        times = session_times(self.start, self.file.months, self.file.sessions, rng)
        model = deps.models.for_role("closing")
        events: dict[str, list[Event]] = {}
        for prefix, person, partner in (("a", one, other), ("b", other, one)):
            known = tuple(event.text for event in events.get(partner.id, ()))
            context = EventGraphContext(
                language=self.language,
                person=person,
                partner_name=partner.name,
                first=to_datetime(self.start).date(),
                last=to_datetime(times[-1]).date(),
                count=self.file.events,
                themes=tuple(rng.sample(sentences(self.language, "generate.themes"), _THEMES)),
                partners=known,
            )
            events[person.id] = await event_graph(model, context, prefix, item.id)
        two = TwoPeople(
            content=self.content,
            language=self.language,
            people=(one, other),
            events=events,
            max_turns=self.file.max_turns,
        )
        held = await hold(deps, item.id, two, times)
        line = _line(two, held)
        if self.file.questions:
            by_name = {person.name: events[person.id] for person in two.people}
            talk = TalkContext(
                language=self.language,
                names=(one.name, other.name),
                events=by_name,
                sessions=held,
                count=self.file.questions,
            )
            asked, refused = await questions(model, deps.models.for_role("verify"), talk, item.id)
            if not asked:
                raise Dropped("no_question")
            line |= {"qa": [question.stored() for question in asked], "qa_refused": dict(sorted(refused.items()))}
        return line

    def text_of(self, line: Line) -> str:
        """What was said."""
        return "\n".join(turn["text"] for one in line["sessions"] for turn in one["turns"])

    def counts(self, line: Line) -> Mapping[str, int]:
        """Sessions, turns, events, and questions by category and by why they were left out."""
        asked = Counter(f"{one['category']}" for one in line.get("qa", ()))
        return {
            "sessions": len(line["sessions"]),
            "turns": sum(len(one["turns"]) for one in line["sessions"]),
            "events": sum(map(len, line["event_graph"].values())),
            **asked,
            **line.get("qa_refused", {}),
        }


def sessions_plan(path: Path, settings: Settings, seed: int | None = None) -> SessionsPlan:
    """The plan that the file describes; `seed` instead of its own.

    Raises:
        PlanRefused: it names everything that is wrong with the file.
        ContentErrors: the game's files have errors.
    """
    game = chosen_worlds(settings).content
    cast = game.cast(game.default_language)
    file = read_form(SessionsFile, path, lambda one: check_sessions(path.name, one, cast), refused=PlanRefused)
    language = file.language or settings.world.language or game.default_language
    people = people_of(file, game.cast(language), language)
    called = Counter(person.name for person in people.values())
    if twice := [name for name, count in called.items() if count > 1]:
        wrong = [problem(path.name, ("people",), "content.same_name", name=quote(name)) for name in twice]
        raise PlanRefused(path.parent, wrong)
    start, seed = file.start_time or game.start, file.seed if seed is None else seed
    made_from = {
        **file.model_dump(mode="json", by_alias=True, exclude={"dialogues", "seed", "people"}),
        "people": {person_id: one.model_dump(mode="json") for person_id, one in people.items()},
    }
    return SessionsPlan(
        kind="sessions",
        count=file.dialogues,
        seed=seed,
        language=language,
        made_from=made_from,
        content=stage(game, language, file.place.of(language) or sentence(language, "generate.place"), people, start),
        handlers={EventGraphContext: live, TalkContext: examine, EvidenceContext: bear},
        file=file,
        start=start,
        people=people,
        pairs=_pairs(file, people, seed),
    )


def _pairs(file: SessionsFile, people: Mapping[str, CharacterProfile], seed: int) -> list[tuple[str, str]]:
    """Those of the file; else everybody with everybody, in an order that the seed says."""
    if file.pairs:
        return [(one, other) for one, other in file.pairs]
    found = list(combinations(people, 2))
    random.Random(seed).shuffle(found)
    return found


def _line(two: TwoPeople, held: Sequence[HeldSession]) -> dict[str, Any]:
    return {
        "language": two.language,
        "personas": [
            {
                "id": person.id,
                "name": person.name,
                "personality": person.personality,
                "facts": list(person.settled),
                "goals": [one.goal for one in person.goals],
            }
            for person in two.people
        ],
        "event_graph": {
            person.name: [
                {"id": one.id, "date": one.on.isoformat(), "event": one.text, "caused_by": list(one.causes)}
                for one in two.events[person.id]
            ]
            for person in two.people
        },
        "sessions": [
            {
                "date": iso(one.at),
                "turns": [{"dia_id": turn.id, "speaker": turn.speaker, "text": turn.text} for turn in one.turns],
                "summary": one.summary,
                "observations": list(one.observations),
            }
            for one in held
        ],
    }
