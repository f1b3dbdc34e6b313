"""Owns a `kataribe test`: which tests are held with whom, all of them side by side, and what came of them. In each
talk a player made for it speaks with the person over the engine's own path, in a world of its own, and what was
answered is checked by form, and by a model that is asked once whether a sentence holds.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, Field

import kataribe
from kataribe import Game, Statement
from service.public.errors import NotFound, cancel
from service.public.files import Cast, CharacterProfile, Content, NpcProfile, PlayerProfile, chosen_worlds, discretion
from service.public.models import (
    AUTHOR,
    REHEARSAL,
    ChatModel,
    Exchange,
    Fault,
    ModelError,
    Models,
    PromptValues,
    Settings,
    Standard,
    Templates,
    faults,
    folded_in,
)
from service.public.words import Language, is_named, sentence, squeezed, to_datetime
from studio.testing.file import PROBES, TestEntry, TestsFile, read_tests

TEMPLATES = Templates(__file__)


class CheckVerdict(BaseModel, extra="forbid"):
    """What the judge answers."""

    reason: str = Field(max_length=400)
    quote: str = Field(max_length=400)
    holds: bool


@dataclass(frozen=True, kw_only=True)
class JudgeContext(PromptValues):
    """What the judge is told. `written` is what the authors wrote of the person."""

    name: str
    claim: str
    written: tuple[str, ...]
    player: str = ""
    talk: Sequence[Exchange] = ()


PLAYER = "kataribe_tester"
_IMPORTANCE = 7


@dataclass(frozen=True, kw_only=True)
class Case:
    """A test of a file, with one person."""

    file: str
    name: str
    npc_id: str
    language: Language
    test: TestEntry

    @property
    def player(self) -> str:
        """What the player is called."""
        return self.test.as_.of(self.language) or "Mika"


@dataclass(kw_only=True)
class Run:
    """A talk as it was held once. `unjudged`: so often there was a judge to ask, and no model to be one."""

    talk: list[Exchange]
    failures: list[Fault]
    calls: int = 0
    judge_calls: int = 0
    unjudged: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures


async def hold(game: Game, case: Case, world_id: str) -> Run:
    """Hold the talk and check it.

    Raises:
        CassetteMiss: a cassette is replayed, and does not hold it.
    """
    run = Run(talk=[], failures=[])
    await _converse(game, case, world_id, run)
    run.failures += _checked(case, game.content.cast(case.language).actor(case.npc_id), run.talk)
    if claim := case.test.judge.of(case.language):
        await _judge(game, case, f"{world_id}/judge", claim, run)
    return run


async def _converse(game: Game, case: Case, world_id: str, run: Run) -> None:
    """Say all lines, in as many conversations as it takes, for a person may take leave before all is said; and have
    every conversation remembered.
    """
    language, npc_id, given = case.language, case.npc_id, case.test.given
    cast = game.content.cast(language)
    players = {PLAYER: PlayerProfile(id=PLAYER, name=case.player)}
    content = replace(game.content, casts={**game.content.casts, language: replace(cast, players=players)})
    world = await game.playing(content).begin(
        world_id, language=language, start=given.time or content.start, flags=given.flags
    )
    if given.affinity is not None:
        await world.feel(npc_id, PLAYER, given.affinity)
    past = [
        Statement(id=f"told-{n}", statement=fact.of(language), about=PLAYER, partner=PLAYER, importance=_IMPORTANCE)
        for n, fact in enumerate(given.facts_told)
    ]
    await world.remember(npc_id, *past, by="kataribe test")
    talk = None
    for number, line in enumerate(one.of(language) for one in case.test.say):
        most = 2 * len(case.test.say) + 2
        talk = await world.say(PLAYER, npc_id, line, max_turns=most, talk_id=f"t{number}")
        answer = talk.answer
        if answer is None or answer.model == AUTHOR:
            reason = sentence(language, "why.deflected") if answer else talk.failure or ""
            run.failures.append(Fault(check="unanswered", number=len(run.talk), quote=line, about=reason))
        if answer is None:
            break
        run.talk.append(Exchange(line, answer.text))
        if talk.end_reason is not None:
            run.calls += talk.row.calls
    if talk is not None and talk.end_reason is None:
        run.calls += (await world.end(talk.id)).row.calls


def _checked(case: Case, person: CharacterProfile | NpcProfile, talk: Sequence[Exchange]) -> list[Fault]:
    """What is wrong by form."""
    test, language = case.test, case.language
    standard = Standard(
        speaker=person,
        language=language,
        discretion=discretion(person, PLAYER, test.given.affinity or 0),
        never=tuple(word.of(language) for word in test.never),
        longest=test.longest,
    )
    found = faults(talk, standard)
    answers = "\n".join(one.answer for one in talk)
    for must in test.must:
        wanted = [word.of(language) for word in must.any]
        if not any(folded_in(word, answers) for word in wanted):
            found.append(Fault(check="missing", about=", ".join(wanted)))
    return found


async def judged(run: Run, model: ChatModel, context: JudgeContext, thread: str) -> CheckVerdict | None:
    """What the judge says; None: nothing, and the run says why."""
    if model.name == REHEARSAL:
        run.unjudged += 1
        return None
    prompt = TEMPLATES.question("judge", "closing", context, CheckVerdict, max_tokens=400, thread=thread)
    try:
        answer = await model.complete(prompt)
    except ModelError as exc:
        run.judge_calls += exc.usage.calls
        run.failures.append(Fault(check="unjudged", about=exc.sentence(context.language)))
        return None
    run.judge_calls += answer.usage.calls
    return answer.value


async def _judge(game: Game, case: Case, thread: str, claim: str, run: Run) -> None:
    """Have a model say whether the test's sentence holds."""
    person = game.content.cast(case.language).actor(case.npc_id)
    context = JudgeContext(
        language=case.language,
        name=person.name,
        claim=claim,
        written=person.settled,
        player=case.player,
        talk=run.talk,
    )
    found = await judged(run, game.models.for_role("closing"), context, thread)
    if found is None or found.holds:
        return
    quote = squeezed(found.quote)
    number = next((n for n, one in enumerate(run.talk) if quote and quote in squeezed(one.answer)), None)
    said = found.quote if number is not None else ""
    run.failures.append(Fault(check="judge", number=number, quote=said, about=f"{claim} ({found.reason})"))


async def judge_cast(model: ChatModel, cast: Cast, language: Language, limit: asyncio.Semaphore) -> Run:
    """Ask once for each person of whom two sentences stand. Secrets are left out: they may be kept by a lie."""
    run = Run(talk=[], failures=[])

    async def ask(person_id: str, texts: list[str]) -> None:
        name = cast.person(person_id).name
        claim = sentence(language, "testing.cast_claim", name=name)
        context = JudgeContext(language=language, name=name, written=tuple(texts), claim=claim)
        async with limit:
            verdict = await judged(run, model, context, f"cast/{person_id}")
        if verdict is not None and not verdict.holds:
            run.failures.append(Fault(check="cast", quote=verdict.quote, about=f"{name}: {verdict.reason}"))

    await asyncio.gather(*(ask(*one) for one in _written(cast).items() if len(one[1]) > 1))
    return run


def _written(cast: Cast) -> Mapping[str, list[str]]:
    """What is written of each person, with the file: what stands in its own, and what names it in another's."""
    people: dict[str, CharacterProfile | NpcProfile] = {**cast.npcs, **cast.characters}
    found = defaultdict[str, list[str]](list)
    for person in people.values():
        file = f"{'npcs' if person.kind == 'npc' else 'characters'}/{person.id}.yaml"
        for text in person.settled:
            for about_id in {person.id, *(one.id for one in people.values() if is_named(one.name, text))}:
                found[about_id].append(f"{text} ({file})")
    return found


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A test with a person, and its talks."""

    case: Case
    runs: Sequence[Run]

    @property
    def held(self) -> int:
        """How many talks had nothing wrong."""
        return sum(run.holds for run in self.runs)

    @property
    def passed(self) -> bool:
        """Whether so many held as its author wants."""
        return self.held >= (self.case.test.pass_ or self.case.test.repeat)


@dataclass(frozen=True, kw_only=True)
class CastOutcome:
    """Of all tests, and of the pass over the cast."""

    language: Language
    rehearsal: bool
    cast: Run
    tested: Sequence[Tested]

    @property
    def passed(self) -> bool:
        """Whether nothing has failed."""
        return self.cast.holds and all(one.passed for one in self.tested)


def run_tests(
    settings: Settings,
    directory: Path | None,
    *,
    probes: bool = False,
    people: Sequence[str] = (),
    models: Models | None = None,
) -> CastOutcome:
    """Hold all talks of the tests of a directory (None: none), and of our own `probes`, with everybody, or with these
    `people`; and check them. Without a model configured it is a rehearsal; `models` stand in for those the
    settings would choose.

    Raises:
        TestsRefused: it names everything that is wrong with the files.
        NotFound: there is no such person.
        ContentErrors: the game's files have errors.
        CassetteMiss: a cassette is replayed, and does not hold what is asked.
    """
    if models is None and not settings.names_model:
        settings = settings.changed(llm={"provider": "rehearsal"})
    content = chosen_worlds(settings).content
    language = settings.world.language or content.default_language
    cast = content.cast(language)
    missing = next((one for one in people if one not in {*cast.npcs, *cast.characters}), None)
    if missing is not None:
        raise NotFound(kind="person", id=missing)
    folders = [*filter(None, (directory,)), *([PROBES] if probes else [])]
    cases = [
        case
        for folder in folders
        for file, tests in read_tests(folder, cast).items()
        for case in _cases(file, tests, people, content, settings.world.language)
    ]
    judged, runs = asyncio.run(_hold_all(settings, content, cases, models, language))
    return CastOutcome(
        language=language,
        rehearsal=models is None and settings.llm.provider == REHEARSAL,
        cast=judged,
        tested=[Tested(case=case, runs=held) for case, held in zip(cases, runs, strict=True)],
    )


def _cases(
    file: str, tests: TestsFile, people: Sequence[str], content: Content, chosen: Language | None
) -> Iterator[Case]:
    """Each test with each it is for, in the language chosen, else the file's, else the game's."""
    language = chosen or tests.language or content.default_language
    year = to_datetime(content.start).year
    for number, test in enumerate(tests.tests, 1):
        if test.before is not None and year >= test.before:
            continue
        everybody = people or tuple(content.cast(language).npcs)
        for npc_id in everybody if test.npc is None else (test.npc,):
            if not people or npc_id in people:
                name = test.name.of(language) or f"{number}"
                yield Case(file=file, name=name, npc_id=npc_id, language=language, test=test)


async def _hold_all(
    settings: Settings, content: Content, cases: Sequence[Case], models: Models | None, language: Language
) -> tuple[Run, list[list[Run]]]:
    """What is said of the cast, and the talks of each case, so many at once as models may be asked."""
    async with kataribe.open(content, settings=settings, models=models, lives=False) as game:
        limit = asyncio.Semaphore(settings.llm.max_concurrency)

        async def holding(case: Case, world_id: str) -> Run:
            async with limit:
                return await hold(game, case, world_id)

        tasks = [
            [asyncio.create_task(holding(case, f"t{number}-{turn}")) for turn in range(case.test.repeat)]
            for number, case in enumerate(cases)
        ]
        all_tasks = [task for of_case in tasks for task in of_case]
        try:
            judged = await judge_cast(game.models.for_role("closing"), content.cast(language), language, limit)
            await asyncio.gather(*all_tasks)
        finally:
            await cancel(all_tasks)
        return judged, [[task.result() for task in of_case] for of_case in tasks]
