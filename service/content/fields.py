"""What content files have in common: mappings with known keys only, texts in each language, ids, numbers and times; and
what is wrong where a file has another form, as we or pydantic find it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    PlainValidator,
    Strict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError
from pydantic_core.core_schema import no_info_wrap_validator_function, plain_serializer_function_ser_schema

from service.locales import Language, Listed, Phrase, languages, room
from world.actions import BUILT_IN
from world.errors import BadWorldTime
from world.ids import SLUG_MAX, is_slug
from world.places import Hours
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime, parse_time

FORMS = (
    *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    *("<think>", "</think>", "{{user}}", "{{char}}"),
)
"""Marks that chat templates of models and chat programs leave in texts, besides ``<|...|>``."""
MARKS = rf"<[|｜][^|｜<>]{{1,40}}[|｜]>|{'|'.join(map(re.escape, FORMS))}"
MARKUP = re.compile(rf"</?\s*context\s*>|{MARKS}", re.IGNORECASE)
"""Our own ``<context>`` tags, and those marks: they would frame a prompt anew."""

T = TypeVar("T")

LARGEST_NUMBER = 1_000_000_000
_LONGEST_WAY_MINUTES = 365 * MINUTES_PER_DAY
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2})")


def refusal(kind: str) -> PydanticCustomError:
    """The error of a value; what was expected is said by the sentence of that kind."""
    return PydanticCustomError(kind, kind)


def same_flag(one: object, other: object) -> bool:
    """Whether the two values of a flag are the same: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _slug(value: object) -> object:
    if isinstance(value, str) and is_slug(value):
        return value
    raise refusal("slug")


def _minutes(text: str, *, latest: int) -> int | None:
    """``"07:30"`` as minutes of the day; None if it is no time up to `latest`."""
    match = _CLOCK.fullmatch(text)
    if match is None or int(match[2]) >= MINUTES_PER_HOUR:
        return None
    minutes = int(match[1]) * MINUTES_PER_HOUR + int(match[2])
    return minutes if minutes <= latest else None


def _clock(value: object) -> int:
    minutes = _minutes(value, latest=MINUTES_PER_DAY - 1) if isinstance(value, str) else None
    if minutes is None:
        raise refusal("unquoted_clock" if type(value) is int else "clock")
    return minutes


def _hours(value: object) -> Hours:
    if isinstance(value, str) and value.count("-") == 1:
        opens, closes = value.split("-")
        begin, end = _minutes(opens, latest=MINUTES_PER_DAY - 1), _minutes(closes, latest=MINUTES_PER_DAY)
        if begin is not None and end is not None and begin != end:
            return Hours(opens=begin, closes=end)
    raise refusal("hours")


def _moment(value: object) -> WorldTime:
    try:
        if isinstance(value, str):
            return parse_time(value)
    except BadWorldTime:
        pass  # the same sentence as for anything that is no text
    raise refusal("world_time")


def _flag(value: object) -> object:
    if isinstance(value, bool | int | float | str):
        return value
    raise refusal("flag")


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise refusal("string_type")
    if not value.strip():
        raise refusal("empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refusal("string_unicode") from None
    return value.strip()


Slug = Annotated[str, BeforeValidator(_slug)]
"""An id that is declared here."""
Words = Annotated[str, BeforeValidator(_words)]
Minutes = Annotated[int, Field(ge=1, le=_LONGEST_WAY_MINUTES)]
Number = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, allow_inf_nan=False)]
Clock = Annotated[int, PlainValidator(_clock), WithJsonSchema({"type": "string", "examples": ["07:30"]})]
Moment = Annotated[
    WorldTime, PlainValidator(_moment), WithJsonSchema({"type": "string", "examples": ["2026-04-01T07:00"]})
]
OpenHours = Annotated[
    Hours,
    PlainValidator(_hours),
    PlainSerializer(lambda hours: hours.label, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["06:00-12:00"]}),
]
Flag = bool | int | float | str
"""What a game says of its world under a name."""
FlagEntry = Annotated[
    Flag, PlainValidator(_flag), WithJsonSchema({"anyOf": [{"type": one} for one in ("boolean", "number", "string")]})
]
ListOf = Annotated[tuple[T, ...], Strict(False)]
NonEmpty = Annotated[tuple[T, ...], Strict(False), Field(min_length=1)]
"""At least one."""


@dataclass(frozen=True)
class Names:
    """Marks a text, or the keys of a mapping, as the id of such a thing, which is declared elsewhere."""

    kind: Literal["action", "facility", "fragment", "group", "map", "need", "node", "person", "scene", "who"]
    of_keys: bool = False


PersonId = Annotated[str, Names("person")]
NodeId = Annotated[str, Names("node")]
MapId = Annotated[str, Names("map")]
PictureName = Annotated[str, Names("picture")]
NeedId = Annotated[str, Names("need", of_keys=True)]
"""A key that is a need's id."""


class ContentModel(BaseModel):
    """A mapping in a content file: camelCase keys, none unknown, and no value taken for what it is not."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", alias_generator=to_camel)

    def in_language(self, language: Language) -> Self:
        """It, with every text in that language alone."""
        return self.model_copy(update={name: _in_language(value, language) for name, value in self})


_NAME = re.compile(r"[A-Za-z_-]{1,16}")
"""What was to be a key; others, as in ``- He said: hello``, were to be the beginning of a text."""


class TextForm(ContentModel):
    """A text as it stands in a file: one string for all languages, or a mapping from some of them (`en`, `ja`)."""

    __annotations__ = dict.fromkeys(languages(), Annotated[Words, Field(default="")])

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        if isinstance(value, str):
            return dict.fromkeys(languages(), _words(value))
        if not isinstance(value, TextForm) and (not isinstance(value, dict) or not value):
            raise refusal("text")
        if isinstance(value, dict) and not all(_NAME.fullmatch(str(key)) for key in value):
            raise refusal("unquoted_colon")
        return value

    def of(self, language: Language) -> str:
        """The text in that language, else in the first that there is."""
        return next(filter(None, (getattr(self, one) for one in (language, *languages()))), "")

    def in_language(self, language: Language) -> Self:
        """It, with the words of that language in all of them."""
        return self.model_copy(update=dict.fromkeys(languages(), self.of(language)))


class Text(str):
    """What people read: the words in the first language that they were written in. Empty: not written."""

    form: TextForm

    def __new__(cls, written: str | TextForm) -> Self:
        """A string is said in every language."""
        form = TextForm.model_validate(written)
        text = super().__new__(cls, form.of(languages()[0]))
        text.form = form
        return text

    def __deepcopy__(self, memo: object) -> Self:  # pydantic copies defaults
        return self

    def of(self, language: Language) -> str:
        """The words in that language, else in the first that there is."""
        return self.form.of(language)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object, form: ValidatorFunctionWrapHandler) -> Text:
            return value if isinstance(value, Text) else cls(form(value))

        shown = plain_serializer_function_ser_schema(lambda text: getattr(text, "form", text))
        return no_info_wrap_validator_function(read, handler.generate_schema(TextForm), serialization=shown)

    def __eq__(self, other: object) -> bool:
        return self.form == other.form if isinstance(other, Text) else str(self) == other

    __hash__ = str.__hash__


def _in_language(value: Any, language: Language) -> Any:
    if isinstance(value, Text):
        return value.of(language)
    if isinstance(value, ContentModel):
        return value.in_language(language)
    if isinstance(value, dict):
        return {name: _in_language(inside, language) for name, inside in value.items()}
    return tuple(_in_language(item, language) for item in value) if isinstance(value, tuple) else value


UNWRITTEN = Text(TextForm.model_construct())
"""The text of a key that was left out."""


Key = tuple[str | int, ...]
"""Where in a file: the keys and list positions from the top down."""


def ids_named(value: object, mark: Names | None = None, key: Key = ()) -> Iterator[tuple[Names, Key, str]]:
    """Every id that a file names, with where it stands."""
    if isinstance(value, ContentModel):
        marks = _marks(type(value))
        for name, inside in value:
            yield from ids_named(inside, marks[name], (*key, str(type(value).model_fields[name].alias)))
    elif isinstance(value, dict | tuple):
        for place, inside in value.items() if isinstance(value, dict) else enumerate(value):
            if mark is not None and mark.of_keys:
                yield mark, (*key, place), str(place)
            yield from ids_named(inside, mark, (*key, place))
    elif isinstance(value, str) and mark is not None:
        yield mark, key, value


@cache
def _marks(model: type[ContentModel]) -> Mapping[str, Names | None]:
    """The mark of each field of the model; None: it has none."""
    hints = get_type_hints(model, include_extras=True)
    return {name: next(_marks_in(hints[name]), None) for name in model.model_fields}


def _marks_in(annotation: object) -> Iterator[Names]:
    yield from (one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, Names))
    for part in get_args(annotation):
        yield from _marks_in(part)


_PLAIN_KEY = re.compile(r"\w+(-\w+)*")
_LONGEST_QUOTE = 60
_MOST_SHOWN = 8
_LARGEST_SHOWN = 10**30


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentProblem:
    """`file` is relative to the content directory; `key_path` (``routine[2].starts``) is empty for the file as a
    whole.
    """

    file: str
    key_path: str
    said: Phrase

    def message(self, language: Language) -> str:
        """What was found and what was expected."""
        return self.said.of(language)

    def line(self, language: Language) -> str:
        """File, key path and message in one line."""
        return ": ".join(part for part in (self.file, self.key_path, self.message(language)) if part)


class Problems(Phrase):
    """All that is wrong, one a line."""

    def __init__(self, found: Sequence[ContentProblem]) -> None:
        self.found = found

    def of(self, language: Language) -> str:
        """The lines in that language."""
        return "\n".join(problem.line(language) for problem in self.found)


def problem(file: str, key: Key, sentence: str, /, **facts: object) -> ContentProblem:
    """A problem at that key, in the sentence of that name with these facts."""
    return ContentProblem(file=file, key_path=key_path(key), said=Phrase(sentence, **facts))


def key_path(key: Key) -> str:
    """``("maps", 0, "edges")`` as ``maps[0].edges``."""
    path = ""
    for part in key:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{quote(part)}]"
    return path


def quote(text: str) -> str:
    """The text in double quotes, on one line, shortened, and printable on any terminal."""
    short = json.dumps(clipped(text, _LONGEST_QUOTE), ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in short)


def clipped(text: str, most: int) -> str:
    """The text in so many characters: what is longer ends with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(ids: Sequence[str]) -> str | Phrase:
    """The first of the ids, quoted; "nothing" if there are none."""
    if not ids:
        return Phrase("common.nothing")
    return ", ".join(map(quote, ids[:_MOST_SHOWN])) + (f", … ({len(ids)})" if len(ids) > _MOST_SHOWN else "")


def found(value: object) -> str | Phrase:
    """What a value is, for people. Lists and mappings are named, not printed: they may be endless."""
    if value is None:
        return Phrase("content.found.null")
    if isinstance(value, dict):
        return Phrase("content.found.mapping")
    if isinstance(value, list):
        return Phrase("content.found.list" if value else "content.found.empty_list")
    if isinstance(value, bool):
        return Phrase("content.found.truth", shown=json.dumps(value))
    if isinstance(value, int) and abs(value) >= _LARGEST_SHOWN:
        return Phrase("content.found.long_number")
    if isinstance(value, int | float):
        return Phrase("content.found.number", shown=json.dumps(value))
    return quote(str(value))


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like the word, if any is like it at all."""
    return next(iter(get_close_matches(word, list(candidates), n=1)), None)


def hint(word: str, candidates: Iterable[str]) -> str | Phrase:
    """`` (did you mean "v09"?)``, or nothing."""
    guess = closest(word, candidates)
    return "" if guess is None else Phrase("common.hint", guess=quote(guess))


def reason_of(error: ValidationError) -> Phrase:
    """The first thing that is wrong with a record: where, what was found and what was expected."""
    first = error.errors()[0]
    where, kind = key_path(tuple(first["loc"])), first["type"]
    if kind in room("en", "export.expected"):
        return mismatch(kind, where, first["input"])
    own = {"missing": "missing", "extra_forbidden": "extra_forbidden", "json_invalid": "no_json"}
    name = "mismatch" if kind == "literal_error" else own.get(kind, "refused")
    expected, reason = first.get("ctx", {}).get("expected"), first["msg"]
    if kind == "json_invalid":
        reason = first["ctx"]["error"]
    facts = {"where": where, "at": _at(where), "found": found(first["input"]), "expected": expected, "reason": reason}
    return Phrase(f"export.{name}", **facts)


def mismatch(kind: str, where: str, value: object) -> Phrase:
    """That something else was expected there."""
    expected = Phrase(f"export.expected.{kind}", most=SLUG_MAX)
    return Phrase("export.mismatch", at=_at(where), found=found(value), expected=expected)


def _at(where: str) -> str:
    return f"{where}: " if where else ""


def schema_errors(model: type[BaseModel], file: str, error: ValidationError) -> Iterator[ContentProblem]:
    """Every way in which a file's values are not in the model's form."""
    errors = error.errors(include_url=False)
    misspelt = {_meant(model, error) for error in errors if error["type"] == "extra_forbidden"}
    for one in errors:
        if one["type"] == "missing" and one["loc"] in misspelt:
            continue  # the unknown key beside it says what to do
        if one["type"] == "too_short" and one["input"]:
            continue  # its items are wrong, and say so
        yield _problem(model, file, one)


def _problem(model: type[BaseModel], file: str, error: ErrorDetails) -> ContentProblem:
    key, kind = error["loc"], error["type"]
    if kind.startswith("string_") and key[-1] == "[key]":  # the place of an error in a mapping's key, not in its value
        key = (*key[:-2], str(key[-2]))
    if kind == "missing":
        return problem(file, key, "content.missing", name=quote(str(key[-1])))
    if kind in {"extra_forbidden", "invalid_key"}:
        name, known = str(key[-1]), _keys_of(model, key[:-1])
        facts = {"name": quote(name), "known": ", ".join(known), "hint": hint(name, known)}
        return problem(file, (*key[:-1], name), "content.unknown_key", **facts)
    bounds = error.get("ctx", {})
    expected = Phrase(
        f"content.expected.{kind}",
        **bounds,
        choices=str(bounds.get("expected")).replace("'", '"'),
        most=SLUG_MAX,
        built_in=", ".join(sorted(BUILT_IN)),
        languages=Listed(map(quote, languages()), last="common.or"),
    )
    return problem(file, key, "content.mismatch", found=found(error["input"]), expected=expected)


def _meant(model: type[BaseModel], error: ErrorDetails) -> Key:
    *above, name = error["loc"]
    return (*above, closest(str(name), _keys_of(model, tuple(above))) or "")


def _keys_of(model: type[BaseModel], key: Key) -> list[str]:
    """The keys that may stand in the mapping at `key`. What is no key of a model is one of a mapping from ids."""
    for name in key:
        field = next((f for f in model.model_fields.values() if f.alias == name), None)
        model = (field and _model_in(field.annotation)) or model
    return [str(field.alias) for field in model.model_fields.values()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if annotation is Text:
        return TextForm
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
