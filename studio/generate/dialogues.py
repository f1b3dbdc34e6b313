"""Owns what dialogues of a data set have in common: what a file says of them, a stage of one place, on which everybody
walks free, and what none of them may have: an empty turn, a repetition, a voice from outside the story, another
language.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from service.public.files import (
    Cast,
    Catalogue,
    CharacterProfile,
    Content,
    Needs,
    Node,
    Unreadable,
    WorldMap,
    read_values,
)
from service.public.words import Language, WorldTime, breaks_character, is_foreign, is_repetition

PLACE = "here"
"""The node at which people meet."""


def kind_of(path: Path) -> str:
    """What the file says is to be made; of one that cannot be read its reading will tell."""
    try:
        values = read_values(path)
    except Unreadable:
        values = None
    return "sessions" if isinstance(values, dict) and "dialogues" in values else "groups"


def on_stage(cast: Cast, person_id: str) -> CharacterProfile:
    """Somebody of the game, without home, day and needs."""
    fields: dict[str, Any] = {
        name: value for name, value in cast.actor(person_id) if name in CharacterProfile.model_fields
    }
    return CharacterProfile(**fields | {"home": PLACE, "routine": (), "needs": {}})


def stage(
    game: Content, language: Language, place: str, people: Mapping[str, CharacterProfile], start: WorldTime
) -> Content:
    """A stage of one place, where these are."""
    cast = game.cast(language)
    one = Cast(
        world_name=cast.world_name,
        world_map=WorldMap(nodes={PLACE: Node(id=PLACE, map_id=PLACE, x=0, y=0, name=place)}, edges=()),
        catalogue=Catalogue(needs=Needs(all=()), actions=()),
        npcs={},
        characters=people,
        own_prompts=cast.own_prompts,
    )
    return Content(directory=game.directory, default_language=language, start=start, casts={language: one})


Fault = Literal["empty", "repeats", "out_of_character", "language"]


def fault(turns: Sequence[tuple[str, str]], language: Language, authored: Iterable[str] = ()) -> Fault | None:
    """The first thing that is wrong with a dialogue, of which each turn is who speaks and the text. `authored`: what is
    written of its people, their names too.
    """
    own = tuple(authored)
    earlier: defaultdict[str, list[str]] = defaultdict(list)
    if len(turns) < 2:
        return "empty"
    for speaker, text in turns:
        if not text.strip():
            return "empty"
        if is_repetition(text, earlier[speaker]):
            return "repeats"
        if breaks_character(text, own):
            return "out_of_character"
        if is_foreign(text, language):
            return "language"
        earlier[speaker].append(text)
    return None
