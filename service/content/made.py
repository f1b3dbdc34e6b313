"""Owns the profile of a person that is made at run time: read and checked as the files of content are."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from service.content.files import Unreadable, read_json
from service.content.load import Cast
from service.content.persons import PersonFile, PlayerFile
from service.content.problem import ContentProblem, Key, found, problem, quote
from service.content.profile import PersonKind, PlayerProfile
from service.content.schema_errors import schema_errors
from service.errors import ProfileWrong, WrongLine
from service.locales import Language, Listed, Phrase

LONGEST_NAME, LONGEST_TEXT = 100, 4000
"""The most letters of a name, and of every other text of a profile."""

_FILES: Mapping[str, type[PersonFile]] = {"player": PlayerFile}


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A person as it was given; `profile` is JSON. `removed`: only its name is still known."""

    id: str
    kind: PersonKind
    profile: str
    removed: bool = False


def read_made(person_id: str, body: bytes) -> Made:
    """The person whose kind and profile a client has given.

    Raises:
        ProfileWrong: it names everything that is wrong.
    """
    try:
        given = read_json(body.decode())
    except UnicodeDecodeError:
        raise _refused([problem("", (), "content.expected.string_unicode")]) from None
    except Unreadable as exc:
        raise _refused([ContentProblem(file="", key_path="", said=exc.reason)]) from exc
    except RecursionError as exc:
        raise _refused([problem("", (), "content.nested_too_deeply")]) from exc
    if not isinstance(given, dict):
        expected = Phrase("content.expected.dict_type")
        raise _refused([problem("", (), "content.mismatch", found=found(given), expected=expected)])
    wrong = [*_wrong_kind(given), *_wrong_id(given, person_id), *_wrong_texts((), given)]
    if wrong:
        raise _refused(wrong)
    made = Made(id=person_id, kind=given["kind"], profile=_profile(given))
    try:
        _file(made.kind, made.id, made.profile)
    except ValidationError as exc:
        raise _refused(schema_errors(_FILES[made.kind], "", exc)) from exc
    return made


def with_made(cast: Cast, language: Language, people: Iterable[Made]) -> Cast:
    """The cast and who was made beside it. Who has an id of the content is left out: what the author wrote wins."""
    players, removed = {}, {}
    for made in people:
        if cast.find(made.id) is not None:
            continue
        person = _in_language(made.kind, made.id, made.profile, language)
        if made.removed:
            removed[made.id] = person.name
        else:
            players[made.id] = person
    return replace(cast, players=players, removed=removed)


def _wrong_kind(given: Mapping[str, Any]) -> Iterator[ContentProblem]:
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in _FILES:
        expected = Listed(map(quote, _FILES), last="common.or")
        yield problem("", ("kind",), "content.mismatch", found=found(kind), expected=expected)


def _wrong_id(given: Mapping[str, Any], person_id: str) -> Iterator[ContentProblem]:
    if given.get("id", person_id) != person_id:
        yield problem("", ("id",), "content.mismatch", found=found(given["id"]), expected=quote(person_id))


def _wrong_texts(key: Key, value: object) -> Iterator[ContentProblem]:
    """Texts that are too long, and letters that no text has: a file of content cannot have them either."""
    if isinstance(value, str):
        is_name = key[:1] == ("name",)
        most = LONGEST_NAME if is_name else LONGEST_TEXT
        if len(value) > most:
            yield problem("", key, "content.text_too_long", count=len(value), most=most)
        strange = [letter for letter in value if _is_control(letter, in_name=is_name)]
        if strange:
            yield problem("", key, "content.control_character", code=f"U+{ord(strange[0]):04X}")
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield from _wrong_texts((*key, name), inside)
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            yield from _wrong_texts((*key, i), inside)


def _is_control(letter: str, *, in_name: bool) -> bool:
    """A name is one line: what stands in every prompt cannot begin another line there."""
    return unicodedata.category(letter) in ("Cc", "Zl", "Zp") and (in_name or letter not in "\n\t")


def _profile(given: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in given.items() if name not in ("kind", "id")}, ensure_ascii=False)


def _refused(wrong: Iterable[ContentProblem]) -> ProfileWrong:
    return ProfileWrong([WrongLine(where=f"body.{one.key_path}".rstrip("."), reason=one.said) for one in wrong])


def _file(kind: PersonKind, person_id: str, profile: str) -> PersonFile:
    return _FILES[kind].model_validate({"id": person_id, **json.loads(profile)})


@lru_cache(maxsize=10_000)
def _in_language(kind: PersonKind, person_id: str, profile: str, language: Language) -> PlayerProfile:
    return PlayerProfile(**_file(kind, person_id, profile).in_language(language))
