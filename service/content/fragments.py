"""fragments/*.yaml: what several people have in common, and how it joins what a person's own file says.

What the person says itself wins; lists are joined, the person's own first, and hold nothing twice; two fragments that
say different things are an error, unless the person's file decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from service.content.fields import ContentModel, ContentProblem, Key, TextForm, problem
from service.content.persons import PersonaFile, PersonFile
from service.content.references import declared_once

M = TypeVar("M", bound=ContentModel)
P = TypeVar("P", bound=PersonFile)


class FragmentFile(PersonaFile):
    """fragments/*.yaml."""


Fragments = Mapping[str, FragmentFile]
"""Fragments by their files."""


def name_of(file: str) -> str:
    """By which a person's `use` names the fragment of that file."""
    return PurePath(file).stem


def with_fragments(person: P, fragments: Fragments) -> P:
    """The person with the fragments it uses; one that is not there adds nothing."""
    by_name = {name_of(file): fragment for file, fragment in fragments.items()}
    return _joined(person, [by_name[name] for name in person.use if name in by_name])


def _joined(own: M, others: Sequence[ContentModel]) -> M:
    """What the first says, and the others beside it."""
    found: dict[str, Any] = {}
    all_files: list[ContentModel] = [own, *others]
    for name in set().union(*(one.model_fields_set for one in all_files)):
        said = [getattr(one, name) for one in all_files if name in one.model_fields_set]
        if isinstance(said[0], tuple):
            every = [one for some in said for one in some]
            found[name] = tuple(one for place, one in enumerate(every) if one not in every[:place])
        else:
            found[name] = _joined(said[0], list(filter(_has_keys, said[1:]))) if _has_keys(said[0]) else said[0]
    return own.model_copy(update=found)


def _has_keys(value: object) -> bool:
    return isinstance(value, ContentModel) and not isinstance(value, TextForm)


def check_fragments(people: Mapping[str, PersonFile], fragments: Fragments) -> Iterator[ContentProblem]:
    """Every fragment that is used and not there, and every key of which two that a person uses say different things.
    They are all there are.
    """
    yield from declared_once((file, (), name_of(file)) for file in fragments)
    by_name = {name_of(file): (file, fragment) for file, fragment in fragments.items()}
    for file, person in people.items():
        used = dict(by_name[name] for name in person.use if name in by_name)
        yield from (
            problem(file, key, "content.fragments_differ", one=one, other=other)
            for key, one, other in _differences(person, used, ())
        )


def _differences(
    own: ContentModel | None, used: Mapping[str, ContentModel], above: Key
) -> Iterator[tuple[Key, str, str]]:
    """Each key that the person does not say itself and two files say differently, with the two."""
    fields = {name: field for one in used.values() for name, field in type(one).model_fields.items()}
    for name, field in fields.items():
        said = {file: getattr(one, name) for file, one in used.items() if name in one.model_fields_set}
        is_own = own is not None and name in own.model_fields_set
        key = (*above, str(field.alias))
        if said and all(map(_has_keys, (*said.values(), getattr(own, name)) if is_own else said.values())):
            yield from _differences(getattr(own, name) if is_own else None, said, key)
        elif not is_own and not any(isinstance(value, tuple) for value in said.values()):
            first, *more = said.items() or [("", None)]
            yield from ((key, first[0], file) for file, value in more if value != first[1])
