"""lore/*.yaml: what people know without having lived it, and groups of people. Their form, and what a cast holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from service.content.fields import (
    ContentModel,
    Flag,
    FlagEntry,
    ListOf,
    MapId,
    Names,
    NonEmpty,
    PersonId,
    Slug,
    Text,
    refusal,
    same_flag,
)


class KnownByEntry(ContentModel):
    """Who knows it: whoever is named by one of the keys."""

    people: ListOf[PersonId] = Field(default=(), description="ids of people / 人物のid")
    groups: ListOf[Annotated[str, Names("group")]] = Field(default=(), description="names of groups / グループの名前")
    maps: ListOf[MapId] = Field(
        default=(), description="ids of maps: whoever has home or post there / マップのid。そこに家や持ち場のある人"
    )

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if not (self.people or self.groups or self.maps):
            raise refusal("nobody_knows")
        return self


class LoreEntry(ContentModel):
    """Something to be known."""

    id: Slug = Field(description="its id, no other entry's / ほかの項目と違うid")
    text: Text = Field(
        description="what is known, a sentence that stands by itself / 知っていること(それだけで通じる文)"
    )
    known_by: KnownByEntry | None = Field(
        default=None, description="who knows it; left out: everybody / 知っている人。なければ全員"
    )
    when: dict[str, FlagEntry] = Field(
        default={},
        description="it is known while each of these flags of the world is so (`PUT /world/flags`); one that was never "
        "set is false / 世界のフラグ(`PUT /world/flags`)がこの値の間だけ知っている。設定されていないフラグは false",
    )
    tell: Literal["always", "recalled"] = Field(
        default="recalled",
        description="always: it stands in every prompt of who knows it (80 tokens in all); recalled: it comes to mind "
        "when there is talk of it / always は知っている人のプロンプトに必ず入る(合わせて80トークンまで)。"
        "recalled は話題に出たとき思い出す",
    )


class LoreFile(ContentModel):
    """lore/*.yaml."""

    groups: dict[Slug, NonEmpty[PersonId]] = Field(
        default={},
        description="ids of people, by the name of their group / グループの名前ごとの、人物のid",
    )
    entries: ListOf[LoreEntry] = Field(default=(), description="what is known / 知られていること")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lore:
    """Something that `people` know, and whoever lives on one of the `maps` (both empty: everybody), while each flag is
    as `when` says. `is_always`: it stands in their prompts; else it comes to mind.
    """

    id: str
    text: str
    people: frozenset[str] = frozenset()
    maps: frozenset[str] = frozenset()
    when: Mapping[str, Flag] = field(default_factory=dict)
    is_always: bool = False

    def is_known(self, person_id: str, map_id: str | None, flags: Mapping[str, Flag]) -> bool:
        """Whether a person who lives on that map (None: on none) knows it."""
        if not all(same_flag(flags.get(name, False), value) for name, value in self.when.items()):
            return False
        return not (self.people or self.maps) or person_id in self.people or map_id in self.maps


def groups_of(files: Mapping[str, LoreFile]) -> dict[str, tuple[str, ...]]:
    """The people of each group, by its name."""
    return {name: people for file in files.values() for name, people in file.groups.items()}


def lore_of(files: Mapping[str, LoreFile], language: str) -> tuple[Lore, ...]:
    """All that is to be known, in that language and the order of the files."""
    groups = groups_of(files)
    return tuple(_lore(entry, groups, language) for file in files.values() for entry in file.entries)


def _lore(entry: LoreEntry, groups: Mapping[str, tuple[str, ...]], language: str) -> Lore:
    known_by = entry.known_by or KnownByEntry.model_construct()
    members = (person_id for name in known_by.groups for person_id in groups[name])
    return Lore(
        id=entry.id,
        text=entry.text.of(language),
        people=frozenset((*known_by.people, *members)),
        maps=frozenset(known_by.maps),
        when=entry.when,
        is_always=entry.tell == "always",
    )
