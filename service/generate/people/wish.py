"""Owns a wish in words: what of it a model is told, and what a rehearsal, which does not understand it, makes of it."""

from service.exchange.clean import plain, without_orders
from service.generate.people.asking import PersonContext
from service.generate.people.demography import DemographyFile
from service.generate.people.made_person import MadePerson, WishedPerson
from service.generate.problem import WishUnusable
from service.locales import Language, Phrase, sentence
from service.quality.language import is_foreign

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
    if is_foreign(wish, language):
        return ""
    return wish if len(wish) <= _LONGEST_REHEARSED else f"{wish[: _LONGEST_REHEARSED - 1]}…"


def as_wished(person: MadePerson, context: PersonContext) -> WishedPerson:
    """A rehearsed person who is what the wish says in its author's words."""
    language = context.language
    wish = rehearsed(context.wish, language)
    said: dict[str, object] = {"age": context.slot.age, "sex": context.slot.sex, "work": wish}
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
