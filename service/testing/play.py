"""Owns a `kataribe test`: which tests are held with whom, all of them side by side, and what came of them. In each
talk a player made for it speaks with the person over the engine's own path, in a world of its own, and what was
answered is checked by form, and by a model that is asked once whether a sentence holds.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, Field
from sqlmodel import Session

from service.content.load import Cast, Content
from service.content.made import read_made
from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.human import Words, say
from service.conversation.start import Start, start_with_player
from service.conversation.transcript import end, turns_of
from service.errors import ModelError, NotFound
from service.llm.chat import ChatModel, PromptValues, Templates
from service.llm.choose import Models
from service.locales import Language, sentence
from service.memory.authoring import Author
from service.memory.lexical import is_named, squeezed
from service.memory.secrets import discretion
from service.memory.seed_lines import Given, Statement
from service.memory.seeding import seed
from service.offline.model import REHEARSAL
from service.people.attitude import set_affinity
from service.people.worlds import WorldRepository, count_people_revision
from service.quality.checks import Exchange, Fault, Standard, faults, folded_in
from service.runtime.tasks import cancel
from service.settings import Settings
from service.store.phase import AUTHOR, EndReason
from service.store.tables import ConversationKey, ConversationRow, MadePersonRow, TurnRow, WorldRow
from service.testing.file import PROBES, TestEntry, TestsFile, read_tests
from service.wiring import Wiring, chosen_worlds, thrown_away
from world.time import to_datetime

TEMPLATES = Templates(__file__)


class Verdict(BaseModel, extra="forbid"):
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


async def hold(deps: ConversationDependencies, case: Case, world_id: str) -> Run:
    """Hold the talk and check it.

    Raises:
        CassetteMiss: a cassette is replayed, and does not hold it.
    """
    talk = _Talk(deps, case, world_id)
    await talk.hold()
    run = Run(talk=talk.exchanges, failures=talk.failures, calls=talk.calls)
    run.failures += _checked(case, talk)
    if case.test.judge.of(case.language):
        await _judge(talk, run)
    return run


class _Talk:
    """What is said, in as many conversations as it takes: a person may take leave before all is said."""

    def __init__(self, deps: ConversationDependencies, case: Case, world_id: str) -> None:
        worlds = deps.worlds
        settings = worlds.settings.model_copy(update={"language": case.language, "start": None})
        time = case.test.given.time
        content = worlds.content if time is None else replace(worlds.content, start=time)
        self.deps = replace(deps, worlds=WorldRepository(content, settings))
        self.person: CharacterProfile | NpcProfile = content.cast(case.language).actor(case.npc_id)
        self.player = case.test.as_.of(case.language) or "Mika"
        self.exchanges: list[Exchange] = []
        self.failures: list[Fault] = []
        self.calls = 0
        self.case, self.world_id = case, world_id
        self._engine = Engine(self.deps)

    async def hold(self) -> None:
        """Say all lines, and have every conversation remembered."""
        key: ConversationKey | None = None
        lines = [one.of(self.case.language) for one in self.case.test.say]
        await self.deps.database.write(self._make_world)
        for number, line in enumerate(lines):
            key = key or await self._begin(number)
            words = Words(text=line)
            await self.deps.database.write(lambda s, k=key, w=words: say(s, self.deps.worlds, k, w))  # type: ignore[misc]
            is_over = await self._engine.converse(key)
            if not await self._hear(key, line):
                break
            if is_over:
                await self._close(key)
                key = None
        if key is not None:
            await self.deps.database.write(lambda s: end(s, self.deps.worlds, *key, EndReason.ENDED_BY_CLIENT))
            await self._close(key)

    async def _begin(self, number: int) -> ConversationKey:
        wanted = Start(
            opener_id=PLAYER,
            partner_id=self.case.npc_id,
            max_turns=2 * len(self.case.test.say) + 2,
            place_waived=True,
            conversation_id=f"t{number}",
        )
        names = self.deps.models.names()

        def work(session: Session) -> ConversationKey:
            world = self.deps.worlds.open(session, self.world_id, lock=True)
            return start_with_player(session, world, wanted, names).key

        return await self.deps.database.write(work)

    async def _hear(self, key: ConversationKey, line: str) -> bool:
        """Take down the answer; False: there was none."""
        row, turns = await self._read(key)
        if turns[-1].speaker_id != self.case.npc_id:
            reason = (row.failure or {}).get(self.case.language, "")
            self.failures.append(Fault(check="unanswered", number=len(self.exchanges), quote=line, about=reason))
            return False
        if turns[-1].model == AUTHOR:
            reason = sentence(self.case.language, "why.deflected")
            self.failures.append(Fault(check="unanswered", number=len(self.exchanges), quote=line, about=reason))
        self.exchanges.append(Exchange(line, turns[-1].text))
        return True

    async def _close(self, key: ConversationKey) -> None:
        """Have it remembered."""
        await self._engine.close(key)
        row, _ = await self._read(key)
        self.calls += row.calls

    async def _read(self, key: ConversationKey) -> tuple[ConversationRow, Sequence[TurnRow]]:
        return await self.deps.database.read(lambda s: (s.get_one(ConversationRow, key), turns_of(s, key)))

    def _make_world(self, session: Session) -> None:
        """As it is before the first word."""
        given, language = self.case.test.given, self.case.language
        self.deps.worlds.open(session, self.world_id, lock=True)
        profile = json.dumps({"kind": "player", "name": self.player}, ensure_ascii=False)
        made = read_made(PLAYER, profile.encode())
        session.add(MadePersonRow(world_id=self.world_id, person_id=PLAYER, kind="player", profile=made.profile))
        row = session.get_one(WorldRow, self.world_id)
        row.flags = dict(given.flags)
        count_people_revision(session, self.world_id)
        world = self.deps.worlds.open(session, self.world_id, lock=True)
        if given.affinity is not None:
            set_affinity(session, world, self.case.npc_id, PLAYER, given.affinity, "given")
        lines = [_told(number, fact.of(language)) for number, fact in enumerate(given.facts_told)]
        seed(session, world, self.deps.memory, self.case.npc_id, lines, Author(name="kataribe test"))


def _told(number: int, fact: str) -> Given:
    line = Statement(id=f"told-{number}", statement=fact, about=PLAYER, partner=PLAYER, importance=_IMPORTANCE)
    return Given(where=f"given.factsTold[{number}]", line=line)


def _checked(case: Case, talk: _Talk) -> list[Fault]:
    """What is wrong by form."""
    test, language = case.test, case.language
    standard = Standard(
        speaker=talk.person,
        language=language,
        discretion=discretion(talk.person, PLAYER, test.given.affinity or 0),
        never=tuple(word.of(language) for word in test.never),
        longest=test.longest,
    )
    found = faults(talk.exchanges, standard)
    answers = "\n".join(one.answer for one in talk.exchanges)
    for must in test.must:
        wanted = [word.of(language) for word in must.any]
        if not any(folded_in(word, answers) for word in wanted):
            found.append(Fault(check="missing", about=", ".join(wanted)))
    return found


async def judged(run: Run, model: ChatModel, context: JudgeContext, thread: str) -> Verdict | None:
    """What the judge says; None: nothing, and the run says why."""
    if model.name == REHEARSAL:
        run.unjudged += 1
        return None
    prompt = TEMPLATES.question("judge", "closing", context, Verdict, max_tokens=400, thread=thread)
    try:
        answer = await model.complete(prompt)
    except ModelError as exc:
        run.judge_calls += exc.usage.calls
        run.failures.append(Fault(check="unjudged", about=exc.sentence(context.language)))
        return None
    run.judge_calls += answer.usage.calls
    return answer.value


async def _judge(talk: _Talk, run: Run) -> None:
    """Have a model say whether the test's sentence holds."""
    case = talk.case
    claim = case.test.judge.of(case.language)
    context = JudgeContext(
        language=case.language,
        name=talk.person.name,
        claim=claim,
        written=talk.person.settled,
        player=talk.player,
        talk=run.talk,
    )
    found = await judged(run, talk.deps.models.for_role("closing"), context, f"{talk.world_id}/judge")
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
class Outcome:
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
) -> Outcome:
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
        settings.llm.provider = "rehearsal"
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
    return Outcome(
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
    async with AsyncExitStack() as ending:
        apart = ending.enter_context(thrown_away(settings))
        core = await ending.enter_async_context(Wiring(apart, content=content, models=models).running(lives=False))
        deps = core.conversation
        limit = asyncio.Semaphore(settings.llm.max_concurrency)
        tasks = [
            [asyncio.create_task(_hold(deps, limit, case, f"t{number}-{turn}")) for turn in range(case.test.repeat)]
            for number, case in enumerate(cases)
        ]
        all_tasks = [task for of_case in tasks for task in of_case]
        try:
            judged = await judge_cast(deps.models.for_role("closing"), content.cast(language), language, limit)
            await asyncio.gather(*all_tasks)
        finally:
            await cancel(all_tasks)
        return judged, [[task.result() for task in of_case] for of_case in tasks]


async def _hold(deps: ConversationDependencies, limit: asyncio.Semaphore, case: Case, world_id: str) -> Run:
    async with limit:
        return await hold(deps, case, world_id)
