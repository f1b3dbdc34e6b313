"""Owns a `kataribe test`: which tests are held with whom, all of them side by side, and what came of them."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from service.app import chosen_worlds, conversations_apart
from service.content.load import Content
from service.conversation.dependencies import ConversationDependencies
from service.errors import NotFound
from service.llm.choose import Models
from service.locales import Language
from service.offline.model import REHEARSAL, OfflineModel
from service.settings import Settings
from service.testing.file import PROBES, TestsFile, read_tests
from service.testing.play import Case, Run, hold, judge_cast
from world.time import to_datetime


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
    for name in ("root", "service"):
        logging.getLogger(name).setLevel(logging.WARNING)
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
    offline = OfflineModel(seed=settings.llm.seed)
    async with conversations_apart(settings, content, offline, models=models) as deps:
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
            for task in all_tasks:
                task.cancel()
            await asyncio.gather(*all_tasks, return_exceptions=True)
        return judged, [[task.result() for task in of_case] for of_case in tasks]


async def _hold(deps: ConversationDependencies, limit: asyncio.Semaphore, case: Case, world_id: str) -> Run:
    async with limit:
        return await hold(deps, case, world_id)
