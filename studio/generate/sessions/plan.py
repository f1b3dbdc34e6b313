"""Owns the plan of a data set of dialogues over months, and the form of its file: who talks with whom, and how one
dialogue is made.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from kataribe import Game
from service.public.files import (
    UNWRITTEN,
    Cast,
    CharacterProfile,
    ContentModel,
    ContentProblem,
    ListOf,
    Moment,
    NonEmpty,
    PersonFile,
    Slug,
    Text,
    chosen_worlds,
    declared_once,
    problem,
    quote,
    read_form,
    unknown,
)
from service.public.models import Settings
from service.public.words import Language, WorldTime, iso, sentence, sentences, to_datetime
from studio.generate.dataset import Dropped, Line, PlanRefused
from studio.generate.dialogues import PLACE, on_stage, stage
from studio.generate.making import DatasetPlan, Item
from studio.generate.sessions.dialogue import (
    EventGraphContext,
    HeldSession,
    LifeEvent,
    TwoPeople,
    event_graph,
    hold,
    session_times,
)
from studio.generate.sessions.questions import EvidenceContext, TalkContext, bear, examine, live, questions


class SessionsFile(ContentModel):
    """What is to be made."""

    dialogues: int = Field(ge=1, le=999_999, description="how many are made / 作る対話の数")
    language: Language | None = Field(default=None, description="left out: the game's own / 省くとゲームの言語")
    cast: ListOf[Slug] = Field(
        default=(),
        description="ids of people of the game; left out, and no `people`: all of them / "
        "ゲームの人物のid。`people` もなければ全員",
    )
    people: ListOf[PersonFile] = Field(
        default=(),
        description="people of this file alone, with the keys of npcs/*.yaml (content.md) / "
        "このファイルだけの人物。キーは npcs/*.yaml と同じ(content.ja.md)",
    )
    pairs: ListOf[NonEmpty[Slug]] = Field(
        default=(),
        description="who talks with whom, two ids each; left out: everybody with everybody / "
        "話す二人のidの組。なければ全員どうし",
    )
    start_time: Moment | None = Field(
        default=None,
        description="the world time at which it begins; left out: the game's own / "
        "始まりの世界時刻。なければゲームのもの",
    )
    months: Annotated[int, Field(ge=1, le=120)] = Field(default=6, description="how long it goes on / 続く月数")
    sessions: Annotated[int, Field(ge=1, le=50)] = Field(
        default=8, description="how often the two meet / 二人の会う回数"
    )
    max_turns: Annotated[int, Field(ge=2, le=50)] = Field(
        default=10, description="turns of a session / 一回の会話の発言の数"
    )
    events: Annotated[int, Field(ge=2, le=40)] = Field(
        default=8, description="events in the life of each / それぞれの人生の出来事の数"
    )
    questions: Annotated[int, Field(ge=0, le=60)] = Field(
        default=12, description="questions asked for each dialogue / 対話ごとに求める質問の数"
    )
    place: Text = Field(default=UNWRITTEN, description="where they meet, in words / 会う場所(文)")
    seed: int = Field(default=7, description="of all chance / 乱数のシード")


def people_of(file: SessionsFile, cast: Cast, language: Language) -> dict[str, CharacterProfile]:
    """Everybody who may talk, by id. All of them walk, and all are at the same place."""
    own = {one.id: CharacterProfile(**one.told(language), home=PLACE) for one in file.people}
    named = file.cast or (() if own or file.pairs else (*cast.characters, *cast.npcs))
    paired = (person_id for pair in file.pairs for person_id in pair if person_id not in own)
    return {person_id: on_stage(cast, person_id) for person_id in (*named, *paired)} | own


def check_sessions(name: str, file: SessionsFile, cast: Cast) -> Iterator[ContentProblem]:
    """What is not there, or there twice."""
    known = {*cast.npcs, *cast.characters}
    everybody = known | {one.id for one in file.people}
    for i, person_id in enumerate(file.cast):
        if person_id not in known:
            yield unknown(name, ("cast", i), "content.unknown_person", person_id, known)
    cast_ids = [(name, ("cast", i), person_id) for i, person_id in enumerate(file.cast)]
    own_ids = [(name, ("people", i, "id"), one.id) for i, one in enumerate(file.people)]
    yield from declared_once([*cast_ids, *own_ids])
    for i, pair in enumerate(file.pairs):
        for j, person_id in enumerate(pair):
            if person_id not in everybody:
                yield unknown(name, ("pairs", i, j), "content.unknown_person", person_id, everybody)
        if len(pair) != 2 or pair[0] == pair[-1]:
            yield problem(name, ("pairs", i), "generate.problem.no_pair", found=quote(", ".join(pair)))
    if not file.pairs and len(file.cast) + len(file.people) == 1:
        yield problem(name, (), "generate.problem.alone")


_THEMES = 3
"""So many themes are drawn for each life."""


@dataclass(kw_only=True)
class SessionsPlan(DatasetPlan):
    """The data set of a file of sessions."""

    file: SessionsFile
    start: WorldTime
    people: Mapping[str, CharacterProfile]
    pairs: Sequence[tuple[str, str]]

    async def make(self, game: Game, item: Item) -> Line:
        """One dialogue: two event graphs, the sessions, the questions.

        Raises:
            Dropped, GenerationStopped, ModelError.
        """
        rng = random.Random(item.seed)
        one, other = (self.people[person_id] for person_id in self.pairs[item.number % len(self.pairs)])
        times = session_times(self.start, self.file.months, self.file.sessions, rng)
        model = game.models.for_role("closing")
        events: dict[str, list[LifeEvent]] = {}
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
        held = await hold(game, item.id, two, times)
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
            asked, refused = await questions(model, game.models.for_role("verify"), talk, item.id)
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
