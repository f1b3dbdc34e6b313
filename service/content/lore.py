"""lore/*.yaml: what people know without having lived it, and groups of people: their form."""

from collections.abc import Mapping, Sequence
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

    def is_known(
        self, person_id: str, map_id: str | None, flags: Mapping[str, Flag], groups: Mapping[str, Sequence[str]]
    ) -> bool:
        """Whether a person who lives on that map (None: on none) knows it; `groups` are their members by name."""
        if not all(same_flag(flags.get(name, False), value) for name, value in self.when.items()):
            return False
        who = self.known_by
        return (
            who is None
            or person_id in who.people
            or map_id in who.maps
            or any(person_id in groups[name] for name in who.groups)
        )


class LoreFile(ContentModel):
    """lore/*.yaml."""

    groups: dict[Slug, NonEmpty[PersonId]] = Field(
        default={},
        description="ids of people, by the name of their group / グループの名前ごとの、人物のid",
    )
    entries: ListOf[LoreEntry] = Field(default=(), description="what is known / 知られていること")


def groups_of(files: Mapping[str, LoreFile]) -> dict[str, tuple[str, ...]]:
    """The people of each group, by its name."""
    return {name: people for file in files.values() for name, people in file.groups.items()}
