"""Owns the profile of a person that is made at run time: read and checked as the files of content are."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Literal

from pydantic import Field, ValidationError

from service.content.check import CheckedContent, cross_checked
from service.content.fields import MARKUP, ContentProblem, Key, Text, found, problem, quote, schema_errors
from service.content.files import Unreadable, values_of
from service.content.fragments import Fragments, check_fragments, with_fragments
from service.content.load import Cast
from service.content.maps import MapEntry, MapsFile, PostEntry
from service.content.persons import CharacterFile, NpcFile, PersonFile, PlayerFile, persona_line
from service.content.profile import (
    SMALL,
    CharacterProfile,
    LifeGoal,
    NpcProfile,
    PersonKind,
    PlayerProfile,
)
from service.content.references import check_ids
from service.errors import ProfileWrong, WrongLine
from service.locales import Language, Listed, Phrase

LONGEST_NAME, LONGEST_TEXT = 100, 4000
"""The most letters of a name, and of every other text of a profile."""
_JOINERS, _BLANK = "\u200c\u200d", "\u115f\u1160\u2800\u3164\uffa0"
"""What joins letters, or keeps them apart; letters that nobody sees."""


class PostedNpcFile(NpcFile):
    """An NPC that is made at run time says itself where it stands."""

    node_id: str = Field(alias="node_id", description="the node it stands on; nobody walks over it / 立つノード")


_FILES: Mapping[PersonKind, type[PersonFile]] = {
    "player": PlayerFile,
    "character": CharacterFile,
    "npc": PostedNpcFile,
}
_PROFILES = {"player": PlayerProfile, "character": CharacterProfile, "npc": NpcProfile}


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A person as it was given; `profile` is JSON. `removed`: only its name is still known."""

    id: str
    kind: PersonKind
    profile: str
    removed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Lasting:
    """An experience or a goal that came to stay with a person at run time, or a goal that it has `reached`; `weight`
    from 1 to 10.
    """

    person_id: str
    kind: Literal["experience", "goal", "reached"]
    text: str
    weight: int


def read_made(person_id: str, body: bytes) -> Made:
    """The person whose kind and profile a client has given.

    Raises:
        ProfileWrong: it names everything that is wrong.
    """
    try:
        given = values_of(body.decode(), ".json")
    except UnicodeDecodeError:
        raise _refused([problem("", (), "content.expected.string_unicode")]) from None
    except Unreadable as exc:
        raise _refused([ContentProblem(file="", key_path="", said=exc.reason)]) from exc
    if not isinstance(given, dict):
        expected = Phrase("content.expected.dict_type")
        raise _refused([problem("", (), "content.mismatch", found=found(given), expected=expected)])
    wrong = [*_wrong_head(given, person_id), *wrong_texts((), given)]
    if wrong:
        raise _refused(wrong)
    profile = {name: value for name, value in given.items() if name not in ("kind", "id")}
    made = Made(id=person_id, kind=given["kind"], profile=json.dumps(profile, ensure_ascii=False))
    try:
        _file_of(made)
    except ValidationError as exc:
        raise _refused(schema_errors(_FILES[made.kind], "", exc)) from exc
    return made


def check_made(content: CheckedContent, others: Iterable[Made], made: Made) -> None:
    """Check what the person says of the map, of actions and of other people, as it is checked for a file of content.

    Raises:
        ProfileWrong: it names everything that would be wrong with the person, and was not before.
    """
    others = [one for one in others if one.id != made.id and not one.removed]
    before = _with_files(content, {f"people/{one.id}": _file_of(one) for one in others})
    after = _with_files(before, {"": _file_of(made)})
    known = {one.line("en") for one in _problems(before, made.kind)}
    wrong = [one for one in _problems(after, made.kind) if one.line("en") not in known]
    if wrong:
        # What is wrong elsewhere, on the map or in another home, is wrong because an NPC is to stand there.
        raise _refused(one if not one.file else replace(one, key_path="node_id") for one in wrong)


def with_made(cast: Cast, language: Language, people: Iterable[Made], lasting: Sequence[Lasting] = ()) -> Cast:
    """The cast and who was made beside it, with what came to stay with any of them. Left out is who has an id of the
    content, for what the author wrote wins, and who has a place that is not on the map any more.
    """
    removed: dict[str, str] = {}
    found: dict[PersonKind, dict[str, Any]] = {"player": {}, "character": {}, "npc": {}}
    posts, bases = dict(cast.world_map.posts), dict(cast.world_map.bases)
    for made in people:
        place, person = place_of(made), _in_language(made, language, cast.fragments)
        if made.removed:
            removed[made.id] = person.name
        elif cast.find(made.id) is None and (place is None or place in cast.world_map.nodes):
            found[made.kind][made.id] = person
            if place is not None and isinstance(person, NpcProfile):
                (bases if person.may_leave else posts)[made.id] = place
    return replace(
        cast,
        world_map=replace(cast.world_map, posts=posts, bases=bases) if found["npc"] else cast.world_map,
        npcs=_lasting({**cast.npcs, **found["npc"]}, lasting, language),
        characters=_lasting({**cast.characters, **found["character"]}, lasting, language),
        players=found["player"],
        removed=removed,
    )


def _lasting(people: Mapping[str, Any], lasting: Sequence[Lasting], language: Language) -> dict[str, Any]:
    return dict(people) | {
        one.person_id: _with(people[one.person_id], [it for it in lasting if it.person_id == one.person_id], language)
        for one in lasting
        if one.person_id in people
    }


def _with(person: Any, lasting: Sequence[Lasting], language: Language) -> Any:
    """Beside what its author wrote; a small goal is told when there is talk of it, as an author's is, and one that was
    reached is none any more.
    """
    kinds = {"experience": "experience", "goal": "wish"}
    lines = [
        persona_line(kinds[one.kind], one.text, language, weight=one.weight)
        for one in lasting
        if one.kind == "experience" or one.weight <= SMALL
    ]
    goals = [LifeGoal(goal=Text(one.text), importance=one.weight) for one in lasting if one.kind == "goal"]
    reached = {one.text for one in lasting if one.kind == "reached"}
    left = tuple(one for one in (*person.goals, *goals) if one.goal not in reached)
    return person.model_copy(update={"persona": (*person.persona, *lines), "goals": left})


def place_of(made: Made) -> str | None:
    """The node that the person needs on the map."""
    file = _file_of(made)
    if isinstance(file, CharacterFile):
        return file.home
    return file.node_id if isinstance(file, PostedNpcFile) else None


def _problems(content: CheckedContent, kind: PersonKind) -> Iterator[ContentProblem]:
    """Checks a player against people and fragments only, as it names no place: quick however large the world is."""
    if kind == "player":
        known = {name: content.known[name] for name in ("person", "fragment", "picture")}
        return chain(check_ids(content.players, known), check_fragments(content.players, content.fragments))
    return cross_checked(content)


def _with_files(content: CheckedContent, people: Mapping[str, PersonFile]) -> CheckedContent:
    npcs = {file: person for file, person in people.items() if isinstance(person, PostedNpcFile)}
    maps = content.maps
    if maps is not None and npcs:
        maps = maps.model_copy(update={"maps": tuple(_with_posts(maps, npcs.values()))})
    return replace(
        content,
        maps=maps,
        npcs=content.npcs | npcs,
        characters=content.characters | {f: one for f, one in people.items() if isinstance(one, CharacterFile)},
        players=content.players | {f: one for f, one in people.items() if isinstance(one, PlayerFile)},
    )


def _with_posts(maps: MapsFile, npcs: Iterable[PostedNpcFile]) -> Iterator[MapEntry]:
    """The maps, each with the NPCs that stand on it; the first with those that stand nowhere."""
    places = {node.id: area.id for area in maps.maps for node in area.nodes}
    posts = [PostEntry(npcId=npc.id, spawnNodeId=npc.node_id) for npc in npcs]
    for area in maps.maps:
        here = [post for post in posts if places.get(post.spawn_node_id, maps.maps[0].id) == area.id]
        yield area.model_copy(update={"npcs": (*area.npcs, *here)})


def _wrong_head(given: Mapping[str, Any], person_id: str) -> Iterator[ContentProblem]:
    """A kind that there is not, and an id that is not the one of the address."""
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in _FILES:
        expected = Listed(map(quote, _FILES), last="common.or")
        yield problem("", ("kind",), "content.mismatch", found=found(kind), expected=expected)
    if given.get("id", person_id) != person_id:
        yield problem("", ("id",), "content.mismatch", found=found(given["id"]), expected=quote(person_id))


def wrong_texts(key: Key, value: object) -> Iterator[ContentProblem]:
    """Texts that are too long, and letters that no text has: a file of content cannot have them either. A player may
    choose its name: no markup stands in one.
    """
    if isinstance(value, str):
        is_name = key[:1] == ("name",)
        most = LONGEST_NAME if is_name else LONGEST_TEXT
        if len(value) > most:
            yield problem("", key, "content.text_too_long", count=len(value), most=most)
        if is_name and (markup := MARKUP.search(value)):
            yield problem("", key, "content.prompt_markup", markup=markup[0])
        strange = [letter for letter in value if _is_control(letter, in_name=is_name)]
        if is_name and not value.strip(_JOINERS):
            strange += value
        if strange:
            yield problem("", key, "content.control_character", code=f"U+{ord(strange[0]):04X}")
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield from wrong_texts((*key, name), inside)
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            yield from wrong_texts((*key, i), inside)


def _is_control(letter: str, *, in_name: bool) -> bool:
    """A name is one line, and seen as it is written: what stands in every prompt cannot begin another line there, nor
    turn its direction, nor hide. Persian, the languages of India and emoji need joiners.
    """
    if in_name and letter not in _JOINERS:
        return unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") or letter in _BLANK
    return unicodedata.category(letter) in ("Cc", "Zl", "Zp") and letter not in "\n\t"


def _refused(wrong: Iterable[ContentProblem]) -> ProfileWrong:
    return ProfileWrong([WrongLine(where=f"body.{one.key_path}".rstrip("."), reason=one.said) for one in wrong])


@lru_cache(maxsize=2_000)
def _file_of(made: Made) -> PersonFile:
    """Raises: ValidationError."""
    return _FILES[made.kind].model_validate({"id": made.id, **json.loads(made.profile)})


def _in_language(made: Made, language: Language, fragments: Fragments) -> Any:
    person = _file_of(made)
    if not person.use:
        return _profile_of(made, language)
    return _PROFILES[made.kind](**with_fragments(person, fragments).told(language))


@lru_cache(maxsize=2_000)
def _profile_of(made: Made, language: Language) -> Any:
    return _PROFILES[made.kind](**_file_of(made).told(language))
