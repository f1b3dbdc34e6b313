"""Owns the making of people from a wish or a demography: each asked for on its own, many at once, none nearly another;
then all of them woven into the world.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from service.content.load import Content, read_form
from service.content.profile import CharacterProfile, NpcProfile, PlayerProfile
from service.conversation.dependencies import ConversationDependencies
from service.conversation.repetition import is_foreign
from service.generate.dataset import Dataset, Dropped, Line, NobodyAsked, PlanRefused, Sum
from service.generate.making import Item, Job, Order, run_of
from service.generate.people import rehearsal
from service.generate.people.asking import (
    OPEN,
    MadePerson,
    PersonContext,
    WishedPerson,
    as_wished,
    cleaned,
    context_of,
    place_of,
    prompt_of,
    rehearsed,
    words_of,
)
from service.generate.people.distinct import Answered, Crowd, Fault, Persona, Standing, stand
from service.generate.people.parts import Slot
from service.generate.people.plan import DemographyFile, check_demography, outcome, outcome_lines, sampling_plan
from service.generate.people.record import DroppedPerson, Record, RunFiles, finish_writing
from service.generate.people.weave import Woven, weave
from service.generate.stage import fault
from service.llm.chat import estimate_tokens, prompt_tokens
from service.locales import Language, Phrase, sentence
from service.offline.model import REHEARSAL
from service.own_prompts import load_game
from service.settings import Settings
from service.wiring import chosen_worlds
from studio.terminal.cost import Prices, Spent, counted, total

_MOST_NAMED = 12
_NUMBERS = 100
"""Numbers of items that each person has, for its attempts."""
_OTHER_PLAN = 1_000_003


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
        self._standing = Standing()
        self._rehearsed: dict[int, MadePerson] = {}
        self.made = len(self.there)
        """So many people of the plan are in the world."""

    @property
    def there(self) -> dict[int, str]:
        """Ids of the people who are in the world already, by number."""
        made = self._before.people if self._before else {}
        known = self.content.checked.names
        return {number: person_id for number, person_id in made.items() if person_id in known}

    @property
    def _goes(self) -> int:
        return 1 + (self._before.goes if self._before else 0)

    @property
    def reads_wish(self) -> bool:
        """Whether a rehearsal can say what is wished: that is in the world's language."""
        return not self._wish or bool(rehearsed(self._wish, self.language))

    def forecast(self) -> Spent:
        """What the calls that are still to be made are likely to cost, if all goes well."""
        calls = self.count - (self.made or min(self.files.answers_kept(), self.count))
        asked = prompt_tokens(prompt_of(self._context(0, 0, ())).messages)
        told = estimate_tokens(self._rehearse(self._context(0, 0, ()), random.Random(0)).model_dump_json())
        return Counter(calls=calls, prompt_tokens=calls * asked, completion_tokens=calls * told)

    def todo(self, dataset: Dataset) -> list[int]:
        """The next attempts, by what is in the world now; before the first the plan is written down."""
        self.files.keep_plan(self.plan)
        self.content, self._before = load_game(self.content.directory), self.files.read_record()
        self._standing = self._stand(dataset)
        return [number * _NUMBERS + attempt for number, attempt in self._standing.wanted]

    def finish(self, dataset: Dataset, settings: Settings, order: Order) -> Iterator[str]:
        """Weave the new people into the world, as it is by now, and write down what came of it."""
        dataset.put_in_order()
        new = self._standing.kept
        record = self._record(dataset, settings, order.prices)
        with self.files.alone():
            self.content = load_game(self.content.directory)
            people = [(self._slot(number), person) for number, person in sorted(new.items())]
            woven = weave(self.content, people, self.language, self.there)
            record.people = dict(sorted({**self.there, **woven.ids}.items()))
            record.made = self.made = len(record.people)
            record.calls_per_person = round(record.calls / max(1, record.made), 2)
            record.outcome = [dict(row) for row in outcome(self.plan, record.people.keys())]
            self.files.write(self._marked(woven, rehearsed=record.rehearsal), record)
        yield from self._told(record, len(new), order.language)

    async def make(self, deps: ConversationDependencies, item: Item) -> Line:
        """The person of one item. Raises: Dropped, ModelError."""
        number, attempt = divmod(item.number, _NUMBERS)
        wrong = self._standing.wrong.get(number)
        said = wrong and sentence(self.language, f"people_make.wrong.{wrong.reason}", name=wrong.like)
        prompt = prompt_of(self._context(number, attempt, (said,) if said else ()), item.id)
        person = (await deps.models.for_role("closing").complete(prompt)).value
        slot = self.plan.slots[number]
        reason = fault_of(person, self.language, (self._wish, self.place.about, slot.work, *slot.more.values()))
        if reason is not None:
            raise Dropped(reason)
        return {"number": number, "attempt": attempt, "person": person.model_dump(mode="json")}

    def _context(self, number: int, attempt: int, wrong: tuple[str, ...]) -> PersonContext:
        return context_of(self.plan, number, self.place, self.language, wish=self._wish, attempt=attempt, wrong=wrong)

    def _stand(self, dataset: Dataset) -> Standing:
        missing = set(range(self.count)) - self.there.keys()
        cast = self.content.cast(self.language)
        crowd = Crowd(map(_persona, cast.everybody.values()))
        return stand(missing, lambda *one: self._answered(dataset, *one), crowd, goes=self._goes)

    def _answered(self, dataset: Dataset, number: int, attempt: int) -> Answered:
        line = dataset.line(number * _NUMBERS + attempt)
        if line is None:
            return None
        if "reason" in line:
            return Fault(line["reason"])
        form = WishedPerson if self._wish else MadePerson
        try:
            person = form.model_validate(line["person"])
        except ValidationError:  # another version took it
            return Fault("model_failure")
        return _with_family(person, self.plan.slots[number].family_name, self.language)

    def _slot(self, number: int) -> Slot:
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

    def _record(self, dataset: Dataset, settings: Settings, prices: Prices | None) -> Record:
        """But for who is in the world now."""
        cost = Sum()
        for line in (*dataset.kept(), *dataset.dropped()):
            cost.add(line)
        spent = total(cost.spent)
        dropped = self._standing.dropped.items()
        return Record(
            run=dataset.run,
            goes=self._goes if self._standing.kept or dropped else self._goes - 1,
            rehearsal=settings.llm.provider == REHEARSAL,
            models=sorted(cost.models["closing"]),
            language=self.language,
            seed=self.seed,
            wish=self._wish,
            asked=self.count,
            dropped=[DroppedPerson(number=one, **fault._asdict()) for one, fault in dropped],
            doubles=self._standing.doubles,
            calls=spent["calls"],
            spent=counted(spent),
            money=None if prices is None else prices.of(spent),
        )

    def _told(self, record: Record, new: int, language: Language) -> Iterator[str]:
        """What the user reads at the end."""
        if record.asked > 1:
            yield ""
            yield from outcome_lines(outcome(self.plan, record.people.keys()), language)
            yield ""
        for one in record.dropped[:_MOST_NAMED]:
            reason = Phrase(f"people_make.dropped.{one.reason}", name=one.like)
            yield sentence(language, "people_make.not_made", number=one.number + 1, reason=reason)
        if len(record.dropped) > _MOST_NAMED:
            yield sentence(language, "people_make.more_not_made", count=len(record.dropped) - _MOST_NAMED)
        yield sentence(
            language,
            "people_make.end",
            count=record.asked,
            made=record.made,
            new=new,
            doubles=record.doubles,
            calls=record.calls,
            file=self.content.directory / self.files.record,
        )
        if record.dropped:
            yield sentence(language, "people_make.again")
        elif not new:
            yield sentence(language, "people_make.nobody_new")

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

    def _open(self, number: int) -> Slot:
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
    if found is None and any(is_foreign(text, language) for text in told):
        return "language"
    return found


def _with_family(person: MadePerson, family: str, language: Language) -> MadePerson:
    """The person by the name of its household."""
    if not family or family in person.name:
        return person
    given = person.name.split()[-1 if language == "ja" else 0]
    return person.model_copy(update={"name": f"{family}{given}" if language == "ja" else f"{given} {family}"})


def _persona(person: NpcProfile | CharacterProfile | PlayerProfile) -> Persona:
    """What is compared of somebody who is there already."""
    told = (person.personality, *person.tendencies)
    words = (*told, *person.settled, *person.lines)
    return Persona(person.name, "\n".join(told), "\n".join(person.lines), "\n".join(words))
