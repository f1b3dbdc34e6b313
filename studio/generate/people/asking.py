"""Owns how a model is asked for a person, from the place, who is there already, and a slot of the plan or a wish in
plain words; what it answers, within bounds; and which answers are kept: whoever is nearly another one, by name, by what
it is like, by its lines or by all its words, is not. That is decided in the order of the people's numbers, whichever
came first.

An answer that is nearly somebody else is made again, and so is one of no use; where that does not help, the person is
dropped. Another go begins anew with those who are missing.
"""

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field

from service.public.files import MARKUP, Content, Profile, clipped
from service.public.models import Prompt, PromptValues, Templates
from service.public.words import Language, Phrase, is_foreign, sentence
from studio.exchange.clean import plain, without_orders
from studio.generate.dataset import WishUnusable
from studio.generate.near import Distinct
from studio.generate.people.parts import PersonSlot
from studio.generate.people.plan import DemographyFile, PeoplePlan
from studio.terminal.show import one_line


def _plain(value: object) -> object:
    """A text on one line, before its length is looked at: so what was taken once is taken again.

    Raises:
        ValueError: it holds what frames prompts.
    """
    if not isinstance(value, str):
        return value
    words = " ".join(one_line(value).split())
    if MARKUP.search(words):
        raise ValueError("expected plain words")
    return words


Short = Annotated[str, Field(min_length=1, max_length=60), BeforeValidator(_plain)]
Sentence = Annotated[str, Field(min_length=3, max_length=160), BeforeValidator(_plain)]


class MadeGoal(BaseModel, extra="forbid", frozen=True):
    """Something the person wants of life."""

    goal: Sentence
    importance: int = Field(ge=1, le=10)


class MadePerson(BaseModel, extra="forbid", frozen=True):
    """A person, as the model gives it."""

    name: Short
    personality: Annotated[str, Field(min_length=10, max_length=240), BeforeValidator(_plain)]
    tendencies: list[Sentence] = Field(min_length=2, max_length=4)
    facts: list[Sentence] = Field(min_length=3, max_length=6)
    lines: list[Sentence] = Field(min_length=6, max_length=12)
    goals: list[MadeGoal] = Field(min_length=1, max_length=3)
    likes: list[Short] = Field(max_length=4)
    dislikes: list[Short] = Field(max_length=4)
    beliefs: list[Sentence] = Field(max_length=4)
    skills: list[Short] = Field(max_length=4)
    behaviours: list[Sentence] = Field(max_length=4)
    experiences: list[Sentence] = Field(max_length=3)


class WishedPerson(MadePerson):
    """A person of a wish, which may say what else a plan would: the model says how it came out."""

    age: int = Field(ge=0, le=110)
    sex: Short
    work: Annotated[str, Field(max_length=60), BeforeValidator(_plain)]
    workplace: Annotated[str, Field(max_length=80), BeforeValidator(_plain)]
    """the place of the world where it works, by its name; empty: none of them"""


def words_of(person: MadePerson) -> str:
    """All that is written of the person but its name."""
    told = (person.personality, *person.tendencies, *person.facts, *person.lines, *(one.goal for one in person.goals))
    cares = (*person.likes, *person.dislikes, *person.beliefs, *person.skills)
    return "\n".join((*told, *cares, *person.behaviours, *person.experiences))


TEMPLATES = Templates(__file__)

_MOST_TOKENS = 3000
_MOST_PLACES, _MOST_PEOPLE = 24, 40
_LONGEST = 90
"""Letters of what is told of somebody who is there already."""
_INITIALS = {"ja": "あいうえおかきくけこさしすせそたちつてとなにのはひふまみむもやゆよりるれ"}
_LETTERS = "ABCDEFGHIJKLMNOPRSTVWY"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the people are to live: the same for all of one plan, and so the beginning of each prompt."""

    name: str
    places: tuple[str, ...]
    people: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class PersonContext(PromptValues):
    """What the model is told of a `slot`. `number` counts from 1, `attempt` from 0. `ties`: of whom the person has,
    what they are and their slots; their names are not known yet. `wrong`: what was wrong with its last answer.
    """

    place: Place
    slot: PersonSlot
    number: int
    count: int
    attempt: int = 0
    wish: str = ""
    traits: tuple[str, ...]
    family_names: bool
    ties: tuple[tuple[str, PersonSlot], ...]
    initial: str
    wrong: tuple[str, ...] = ()

    @property
    def answer(self) -> type[MadePerson]:
        """The form of the answer."""
        return WishedPerson if self.wish else MadePerson


def place_of(world: Content, language: Language, about: str) -> Place:
    """What is told of the world."""
    cast = world.cast(language)
    facilities = dict.fromkeys(one.name for one in cast.world_map.facilities.values())
    nodes = dict.fromkeys(one.name for one in cast.world_map.nodes.values() if one.name)
    people = (f"{one.name}: {clipped(one_line(one.personality), _LONGEST)}" for one in cast.everybody.values())
    return Place(
        name=cast.world_name,
        places=tuple(facilities or nodes)[:_MOST_PLACES],
        people=tuple(people)[:_MOST_PEOPLE],
        about=about,
    )


def context_of(
    plan: PeoplePlan, number: int, place: Place, language: Language, *, wish: str, attempt: int, wrong: Sequence[str]
) -> PersonContext:
    """What is told for the slot of that number."""
    slot = plan.slots[number]
    return PersonContext(
        language=language,
        place=place,
        slot=slot,
        number=number + 1,
        count=len(plan.slots),
        attempt=attempt,
        wish=wish,
        traits=tuple(
            sentence(language, f"persona.{degree}", trait=sentence(language, f"persona.traits.{name}"))
            for name, degree in slot.traits.items()
            if degree != "medium" and not wish  # chance must not say another character than the wish
        ),
        family_names=any(one.family_name for one in plan.slots),
        ties=tuple((tie.kind, plan.slots[tie.number]) for tie in slot.ties),
        initial=random.Random(f"{slot.seed}/{attempt}").choice(_INITIALS.get(language, _LETTERS)),
        wrong=tuple(wrong),
    )


def prompt_of(context: PersonContext, thread: str = "") -> Prompt[MadePerson]:
    """The prompt."""
    return TEMPLATES.question("person", "closing", context, context.answer, max_tokens=_MOST_TOKENS, thread=thread)


LONGEST = 1000
_LONGEST_REHEARSED = 60
_MOST_FACTS, _MOST_LINES = 6, 12

OPEN = DemographyFile.model_validate({"age": ["18-29", "30-44", "45-59", "60-75"]})
"""Who is drawn where a wish leaves it open: grown-ups, all else as usual."""


def cleaned(wish: str) -> str:
    """The wish in plain words: no markup, nothing that is said to a model.

    Raises:
        WishUnusable: nothing of it is left, or it is too long.
    """
    if len(wish) > LONGEST:
        raise WishUnusable(reason=Phrase("people_make.wish.long", count=len(wish), most=LONGEST))
    words = " ".join(without_orders(plain(wish, "")).split())
    if not any(letter.isalpha() for letter in words):
        raise WishUnusable(reason=Phrase("people_make.wish.empty"))
    return words


def rehearsed(wish: str, language: Language) -> str:
    """As much of the wish as a rehearsal repeats; "" where it is in another language, for it translates nothing."""
    return "" if is_foreign(wish, language) else clipped(wish, _LONGEST_REHEARSED)


def as_wished(person: MadePerson, context: PersonContext) -> WishedPerson:
    """A rehearsed person who is what the wish says in its author's words."""
    language = context.language
    wish = rehearsed(context.wish, language)
    said: dict[str, object] = {"age": context.slot.age, "sex": context.slot.sex, "work": wish, "workplace": ""}
    if wish:
        first, rest = f"{wish[0].upper()}{wish[1:]}", person.personality
        about = sentence(language, "people_make.rehearsed.personality", wish=first, rest=rest)
        fact, line = (sentence(language, f"people_make.rehearsed.{one}", wish=wish) for one in ("fact", "line"))
        greeting, *lines = person.lines
        said |= {
            "personality": about[:240],
            "facts": [fact, *person.facts][:_MOST_FACTS],
            "lines": [greeting, line, *lines[-(_MOST_LINES - 2) :]],
        }
    return WishedPerson.model_validate(person.model_dump() | said)


_KATAKANA, _HIRAGANA = range(ord("ァ"), ord("ヶ") + 1), ord("ァ") - ord("ぁ")


class Persona(NamedTuple):
    """What is compared of a person."""

    name: str
    traits: str
    speech: str
    wording: str

    @classmethod
    def of(cls, person: MadePerson | Profile, wording: str) -> "Persona":
        """Of a made person, or of one who is there; `wording`: all that is written of it."""
        return cls(person.name, "\n".join((person.personality, *person.tendencies)), "\n".join(person.lines), wording)


class NotKept(NamedTuple):
    """Why an answer is not kept: a `reason` of `people_make.dropped` in the locales; whom it is nearly, if anybody."""

    reason: str
    like: str = ""


class Crowd:
    """People of whom none is nearly another one."""

    def __init__(self, there: Iterable[Persona] = ()) -> None:
        """`there`: people who stay, alike or not."""
        self._people: list[Persona] = []
        self._names: dict[str, int] = {}
        self._near = {by: Distinct(partial(self._text, by)) for by in ("traits", "speech", "wording")}
        for persona in there:
            self._add(persona)

    def join(self, persona: Persona) -> NotKept | None:
        """Take it in, unless it is nearly somebody who is there: whom, and by what."""
        alike = {by: near.like(getattr(persona, by)) for by, near in self._near.items()}
        for by, like in {"name": self._names.get(folded_name(persona.name)), **alike}.items():
            if like is not None:
                return NotKept(f"same_{by}", self._people[like].name)
        self._add(persona)
        return None

    def _text(self, by: str, number: int) -> str:
        return str(getattr(self._people[number], by))

    def _add(self, persona: Persona) -> None:
        number = len(self._people)
        self._people.append(persona)
        self._names.setdefault(folded_name(persona.name), number)
        for by, near in self._near.items():
            near.add(number, getattr(persona, by))


def folded_name(name: str) -> str:
    """The name as it is compared: without width, case and spaces, katakana as hiragana."""
    letters = unicodedata.normalize("NFKC", name).casefold()
    return "".join(
        chr(ord(letter) - _HIRAGANA) if ord(letter) in _KATAKANA else letter for letter in letters if letter.isalnum()
    )


ATTEMPTS = 3
"""Answers that one person may have in a go."""
_NO_USE = 2
"""So many answers of no use are enough in a go."""


Answered = MadePerson | NotKept | None
"""An attempt: a person, why it is none, or not made yet."""


@dataclass(kw_only=True)
class Attempts:
    """What the answers amount to: the `kept` people by number; or the next attempts that are `wanted`, with what was
    `wrong` before; when none is wanted, who is `dropped` and why. `doubles` are answers that were nearly somebody.
    """

    kept: dict[int, MadePerson] = field(default_factory=dict)
    wanted: list[tuple[int, int]] = field(default_factory=list)
    wrong: dict[int, NotKept] = field(default_factory=dict)
    dropped: dict[int, NotKept] = field(default_factory=dict)
    doubles: int = 0


def stand(
    numbers: Collection[int], answered: Callable[[int, int], Answered], crowd: Crowd, *, goes: int = 1
) -> Attempts:
    """What the answers to the attempts of these people amount to, in so many goes. `answered` has them by number and
    attempt; `crowd` are those who are there already, and becomes all who are kept.
    """
    standing = Attempts()
    for go in range(goes):
        trying, in_vain = sorted(set(numbers) - standing.kept.keys()), Counter[int]()
        for attempt in range(go * ATTEMPTS, (go + 1) * ATTEMPTS):
            answers = {number: answered(number, attempt) for number in trying}
            standing.wanted = [(number, attempt) for number, answer in answers.items() if answer is None]
            if standing.wanted:
                return standing
            for number, answer in answers.items():
                fault = crowd.join(Persona.of(answer, words_of(answer))) if isinstance(answer, MadePerson) else answer
                if isinstance(answer, MadePerson) and fault is None:
                    standing.kept[number] = answer
                elif fault is not None:
                    standing.wrong[number] = fault
                    standing.doubles += bool(fault.like)
                    in_vain[number] += not fault.like
            trying = [one for one in trying if one not in standing.kept and in_vain[one] < _NO_USE]
    standing.dropped = {one: fault for one, fault in sorted(standing.wrong.items()) if one not in standing.kept}
    return standing
