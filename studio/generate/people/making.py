"""Owns the making of people from a wish or a demography: each asked for on its own, many at once, none nearly another;
then all of them woven into the world, whole or not at all, whenever it is stopped. What is written of a making stands
in the folder ``people/`` of the world: its answers as they come, its plan, and the record of what came of it.
"""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from kataribe import Game
from service.public.errors import FileUnusable, take, usable
from service.public.files import (
    Content,
    chosen_worlds,
    load_game,
    read_form,
    write_all,
)
from service.public.models import REHEARSAL, Settings, estimate_tokens, prompt_tokens
from service.public.words import Language, Phrase, is_foreign, sentence
from studio.generate.dataset import Card, Dataset, DatasetInUse, Dropped, Line, NobodyAsked, PlanRefused, Sum
from studio.generate.dialogues import fault
from studio.generate.making import Item, Job, Order, run_of
from studio.generate.people import rehearsal
from studio.generate.people.asking import (
    OPEN,
    Answered,
    Attempts,
    Crowd,
    MadePerson,
    NotKept,
    Persona,
    PersonContext,
    WishedPerson,
    as_wished,
    cleaned,
    context_of,
    place_of,
    prompt_of,
    rehearsed,
    stand,
    words_of,
)
from studio.generate.people.parts import PersonSlot, T
from studio.generate.people.plan import (
    DemographyFile,
    PeoplePlan,
    check_demography,
    outcome,
    outcome_lines,
    sampling_plan,
)
from studio.generate.people.weave import Woven, weave
from studio.terminal.cost import Spent, counted, money_of, total

_MOST_NAMED = 12
_NUMBERS = 100
"""Numbers of items that each person has, for its attempts."""
_OTHER_PLAN = 1_000_003


FOLDER = "people"


class PastGoes(BaseModel):
    """What the next go needs of the record of those before: how many they were, and ids by the numbers of slots."""

    goes: int = 0
    people: dict[int, str] = {}


_PLAN: TypeAdapter[PeoplePlan] = TypeAdapter(PeoplePlan)
_FILES: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])
_RECORD = TypeAdapter(PastGoes)
_WRITING, _LOCK = ".writing.json", ".lock"


class RunFiles:
    """The files of one making."""

    def __init__(self, world: Path, run: str) -> None:
        self._world, self._run = world, run
        self._folder = world / FOLDER
        self.answers = self._folder / f"{run}.jsonl"
        self._plan = self._folder / f"{run}.plan.json"
        self.record = f"{FOLDER}/{run}.json"

    def open(self) -> None:
        """There is a place for them. Raises: FileUnusable."""
        with usable(self._folder):
            self._folder.mkdir(exist_ok=True)

    def read_plan(self) -> PeoplePlan | None:
        """The plan that was made; None: there is none yet. Raises: FileUnusable."""
        return _read(self._plan, _PLAN)

    def keep_plan(self, plan: PeoplePlan) -> None:
        """Write it down, once. Raises: ContentUnwritable."""
        if not self._plan.exists():
            write_all(self._folder, {self._plan.name: _PLAN.dump_json(plan, indent=1).decode() + "\n"})

    def read_record(self) -> PastGoes:
        """What came of it so far. Raises: FileUnusable."""
        return _read(self._world / self.record, _RECORD) or PastGoes()

    def answers_kept(self) -> int:
        """How many answers of use it has."""
        return self.answers.read_bytes().count(b"\n") if self.answers.exists() else 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes people into this world meanwhile. Raises: DatasetInUse."""
        with (self._folder / _LOCK).open("ab") as file:
            try:
                take(file.fileno())
            except OSError as exc:
                raise DatasetInUse(file=str(self._folder)) from exc
            yield

    def write(self, files: Mapping[str, str], record: Card) -> None:
        """Write the files into the world, and the record. What is stopped in the middle of it is done by
        `finish_writing`.

        Raises:
            ContentUnwritable: nothing was written.
        """
        written = {**files, self.record: f"{json.dumps(record, ensure_ascii=False, indent=1)}\n"}
        intent = self._folder / f"{self._run}{_WRITING}"
        write_all(self._folder, {intent.name: json.dumps(written, ensure_ascii=False)})
        try:
            write_all(self._world, written)
        finally:
            intent.unlink(missing_ok=True)


def finish_writing(world: Path) -> None:
    """Whoever was killed while it wrote into this world left the files to be written: write them.

    Raises:
        ContentUnwritable, FileUnusable.
        DatasetInUse: it is not killed, but writing.
    """
    for intent in sorted((world / FOLDER).glob(f"*{_WRITING}")):
        with RunFiles(world, intent.name.removesuffix(_WRITING)).alone():
            files = _read(intent, _FILES)
            write_all(world, files or {})
            intent.unlink(missing_ok=True)


def _read(file: Path, form: TypeAdapter[T]) -> T | None:
    with usable(file):
        try:
            return form.validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as exc:
            raise FileUnusable(file=str(file), reason=Phrase("people_make.damaged")) from exc


class PeopleJob(Job):
    """The making of people of one wish or demography; a person has its number in the plan.

    Each person has a number in the plan, and for each attempt at it an item.
    """

    def __init__(
        self,
        settings: Settings,
        world: Content,
        file: DemographyFile,
        *,
        wish: str,
        count: int | None,
        seed: int | None,
    ) -> None:
        """Raises: FileUnusable: what was written of it before cannot be read."""
        self.count = count or file.count or 1
        self._wish = wish
        described = file.model_dump(mode="json", by_alias=True, exclude={"count", "seed"})
        super().__init__(
            kind="people",
            seed=next(one for one in (seed, file.seed, settings.llm.seed) if one is not None),
            language=settings.world.language or world.default_language,
            made_from={"wish": self._wish, "demography": described, "count": self.count},
            content=world,
            handlers={PersonContext: self._rehearse},
            remembers=False,
        )
        self.files = RunFiles(world.directory, run_of(settings, self))
        kept = self.files.read_plan()
        self.plan = kept or sampling_plan(file, self.count, self.seed, self.language, world)
        self._before = self.files.read_record()
        self.place = place_of(world, self.language, file.about.of(self.language))
        self._standing = Attempts()
        self._rehearsed: dict[int, MadePerson] = {}
        self.made = len(self.there)
        """So many people of the plan are in the world."""

    @property
    def there(self) -> dict[int, str]:
        """Ids of the people who are in the world already, by number."""
        known = self.content.checked.names
        return {number: person_id for number, person_id in self._before.people.items() if person_id in known}

    @property
    def reads_wish(self) -> bool:
        """Whether a rehearsal can say what is wished: that is in the world's language."""
        return not self._wish or bool(rehearsed(self._wish, self.language))

    def forecast(self, settings: Settings) -> Spent:
        """What the calls that are still to be made are likely to cost, if all goes well."""
        calls = self.count - (self.made or min(self.files.answers_kept(), self.count))
        asked = prompt_tokens(prompt_of(self._context(0, 0, ())).messages)
        told = estimate_tokens(self._rehearse(self._context(0, 0, ()), random.Random(0)).model_dump_json())
        price = settings.llm.prices.get(settings.llm.of("closing").model or "")
        money: Any = price.of(calls * asked, calls * told) if price else 0
        return Counter(calls=calls, prompt_tokens=calls * asked, completion_tokens=calls * told, money=money)

    def todo(self, dataset: Dataset) -> list[int]:
        """The next attempts, by what is in the world now; before the first the plan is written down."""
        self.files.keep_plan(self.plan)
        self.content, self._before = load_game(self.content.directory), self.files.read_record()
        self._standing = self._stand(dataset)
        return [number * _NUMBERS + attempt for number, attempt in self._standing.wanted]

    def finish(self, dataset: Dataset, settings: Settings, order: Order) -> Iterator[str]:
        """Weave the new people into the world, as it is by now, and write down what came of it."""
        dataset.put_in_order()
        with self.files.alone():
            self.content = load_game(self.content.directory)
            people = [(self._slot(number), person) for number, person in sorted(self._standing.kept.items())]
            woven = weave(self.content, people, self.language, self.there)
            record = self._record(dataset, settings, {**self.there, **woven.ids})
            self.made = record["made"]
            self.files.write(self._marked(woven, rehearsed=record["rehearsal"]), record)
        yield from self._told(record, order.language)

    async def make(self, game: Game, item: Item) -> Line:
        """The person of one item. Raises: Dropped, ModelError."""
        number, attempt = divmod(item.number, _NUMBERS)
        wrong = self._standing.wrong.get(number)
        said = wrong and sentence(self.language, f"people_make.wrong.{wrong.reason}", name=wrong.like)
        prompt = prompt_of(self._context(number, attempt, (said,) if said else ()), item.id)
        person = (await game.models.for_role("closing").complete(prompt)).value
        slot = self.plan.slots[number]
        reason = fault_of(person, self.language, (self._wish, self.place.about, slot.work, *slot.more.values()))
        if reason is not None:
            raise Dropped(reason)
        return {"number": number, "attempt": attempt, "person": person.model_dump(mode="json")}

    def _context(self, number: int, attempt: int, wrong: tuple[str, ...]) -> PersonContext:
        return context_of(self.plan, number, self.place, self.language, wish=self._wish, attempt=attempt, wrong=wrong)

    def _stand(self, dataset: Dataset) -> Attempts:
        missing = set(range(self.count)) - self.there.keys()
        there = self.content.cast(self.language).everybody.values()
        crowd = Crowd(
            Persona.of(one, "\n".join((one.personality, *one.tendencies, *one.settled, *one.lines))) for one in there
        )
        return stand(missing, lambda *one: self._answered(dataset, *one), crowd, goes=self._before.goes + 1)

    def _answered(self, dataset: Dataset, number: int, attempt: int) -> Answered:
        line = dataset.line(number * _NUMBERS + attempt)
        if line is None:
            return None
        if "reason" in line:
            return NotKept(line["reason"])
        form = WishedPerson if self._wish else MadePerson
        try:
            person = form.model_validate(line["person"])
        except ValidationError:  # another version took it
            return NotKept("model_failure")
        return _with_family(person, self.plan.slots[number].family_name, self.language)

    def _slot(self, number: int) -> PersonSlot:
        """The slot as it came out: of a wish the model says how old the person is and what it does and is like."""
        slot, person = self.plan.slots[number], self._standing.kept[number]
        if isinstance(person, WishedPerson):
            return replace(slot, age=person.age, sex=person.sex, work=person.work, traits={})
        return slot

    def _marked(self, woven: Woven, *, rehearsed: bool) -> dict[str, str]:
        """The files, those of people with a comment at their head that says where they come from."""
        kind = "rehearsed" if rehearsed else "made"
        wish = sentence(self.language, "people_make.mark.wish", wish=self._wish) if self._wish else ""
        mark = f"# {sentence(self.language, f'people_make.mark.{kind}', run=self.files.answers.stem)}{wish}\n"
        people = {f"{person_id}.yaml" for person_id in woven.ids.values()}
        return {name: mark + text if Path(name).name in people else text for name, text in woven.files.items()}

    def _record(self, dataset: Dataset, settings: Settings, people: dict[int, str]) -> Card:
        """What came of it: `people` are in the world. `doubles` counts answers that were nearly somebody else; `calls`,
        `spent` and `money` are of all goes.
        """
        cost, standing = Sum(), self._standing
        for line in (*dataset.kept(), *dataset.dropped()):
            cost.add(line)
        spent = total(cost.spent)
        return {
            "run": dataset.run,
            "goes": self._before.goes + bool(standing.kept or standing.dropped),
            "rehearsal": settings.llm.provider == REHEARSAL,
            "models": sorted(cost.models["closing"]),
            "language": self.language,
            "seed": self.seed,
            "wish": self._wish,
            "asked": self.count,
            "made": len(people),
            "people": dict(sorted(people.items())),
            "dropped": [{"number": one, **fault._asdict()} for one, fault in standing.dropped.items()],
            "doubles": standing.doubles,
            "calls": spent["calls"],
            "calls_per_person": round(spent["calls"] / max(1, len(people)), 2),
            "spent": counted(spent),
            "money": money_of(spent) or None,
            "outcome": outcome(self.plan, people.keys()),
        }

    def _told(self, record: Card, language: Language) -> Iterator[str]:
        """What the user reads at the end."""
        new, dropped = len(self._standing.kept), record["dropped"]
        if self.count > 1:
            yield from ("", *outcome_lines(record["outcome"], language), "")
        for one in dropped[:_MOST_NAMED]:
            reason = Phrase(f"people_make.dropped.{one['reason']}", name=one["like"])
            yield sentence(language, "people_make.not_made", number=one["number"] + 1, reason=reason)
        if len(dropped) > _MOST_NAMED:
            yield sentence(language, "people_make.more_not_made", count=len(dropped) - _MOST_NAMED)
        told = {name: record[name] for name in ("made", "doubles", "calls")}
        file = self.content.directory / self.files.record
        yield sentence(language, "people_make.end", count=self.count, new=new, file=file, **told)
        if dropped or not new:
            yield sentence(language, "people_make.again" if dropped else "people_make.nobody_new")

    def _rehearse(self, context: PersonContext, rng: random.Random) -> MadePerson:
        """All its chance is the slot's: who comes before it in the plan is called otherwise. Another attempt is put
        together as the same slot of another plan.
        """
        number, taken = context.number - 1, set(self.content.cast(self.language).names)
        for before in range(len(self._rehearsed), self.count):
            names = taken | {one.name for one in self._rehearsed.values()}
            self._rehearsed[before] = rehearsal.person(self._open(before), self.language, names)
        person = self._rehearsed[number]
        if context.attempt:
            slot, names = self._open(number), taken | {one.name for one in self._rehearsed.values()}
            other = replace(slot, seed=slot.seed + context.attempt * _OTHER_PLAN)
            person = rehearsal.person(other, self.language, names)
        return as_wished(person, context) if self._wish else person

    def _open(self, number: int) -> PersonSlot:
        """The slot as the rehearsal has it: it does not understand a wish, and takes it for the work."""
        slot = self.plan.slots[number]
        return replace(slot, work=rehearsed(self._wish, self.language)) if self._wish else slot


def people_job(
    settings: Settings,
    *,
    wish: str = "",
    demography: Path | None = None,
    count: int | None = None,
    seed: int | None = None,
) -> PeopleJob:
    """The job of a wish in words, or of a demography, whose `count` and `seed` stand where None is; in the world of the
    settings.

    Raises:
        ContentErrors: the game's files have errors.
        PlanRefused: the demography has errors.
        WishUnusable: nothing of the wish is left, or it is too long.
        NobodyAsked: it is said nowhere how many.
        FileUnusable: what was written before cannot be read.
    """
    finish_writing(settings.content_dir or Path())
    world = chosen_worlds(settings).content
    if demography is None:
        return PeopleJob(settings, world, OPEN, wish=cleaned(wish), count=count, seed=seed)
    file = read_form(
        DemographyFile, demography, lambda one: check_demography(one, demography.name), refused=PlanRefused
    )
    if count is None and file.count is None:
        raise NobodyAsked(file=str(demography))
    return PeopleJob(settings, world, file, wish="", count=count, seed=seed)


def fault_of(person: MadePerson, language: Language, authored: Iterable[str]) -> str | None:
    """Why the person is of no use: it repeats itself, speaks as a model (unless it is `authored` as one), or is in
    another language.
    """
    found = fault([(person.name, line) for line in person.lines], language, authored)
    told = (person.personality, "\n".join(person.tendencies), "\n".join(person.facts), words_of(person))
    return found or ("language" if any(is_foreign(text, language) for text in told) else None)


def _with_family(person: MadePerson, family: str, language: Language) -> MadePerson:
    """The person by the name of its household."""
    if not family or family in person.name:
        return person
    given = person.name.split()[-1 if language == "ja" else 0]
    return person.model_copy(update={"name": f"{family}{given}" if language == "ja" else f"{given} {family}"})
