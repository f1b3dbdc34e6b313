"""npcs/*.yaml and characters/*.yaml: their form."""

from pydantic import Field

from service.content.fields import UNWRITTEN, Clock, ContentModel, ListOf, Number, Slug, Text
from service.content.persona import PersonaFile
from service.content.profile import Decides, Mood


class _Named(ContentModel):
    """What stands first in a person's file."""

    id: Slug = Field(description="the person's id, no other person's / 人物のid。ほかの誰とも違う")
    name: Text = Field(description="the person's name / 名前")
    personality: Text = Field(description="what it is like / どんな人か")
    use: ListOf[str] = Field(
        default=(),
        description="names of files in fragments/ whose keys it has too / fragments/ のファイルの名前。そのキーも持つ",
    )


class PersonFile(PersonaFile, _Named):
    """What the files of NPCs and characters have in common."""


class NpcFile(PersonFile):
    """npcs/*.yaml."""

    mood: Mood = Field(default="neutral", description="the mood it falls back into / ふだんの気分")
    may_leave: bool = Field(
        default=False,
        description="whether it goes to an appointment and back; else it never leaves its node / "
        "約束の場所へ出かけて戻るか。なければ持ち場を離れない",
    )


class RoutineEntry(ContentModel):
    """What a character does from `starts` on; without a facility at home. `action`: which of actions.json that is."""

    starts: Clock = Field(description="from when on; later than the block before / 始まる時刻。前の項目より後")
    activity: Text = Field(description="what it is doing, in words / していること(文)")
    facility_id: str | None = Field(
        default=None, alias="facility", description="at which facility; left out: at home / どの施設で。なければ家で"
    )
    action_id: str | None = Field(
        default=None,
        alias="action",
        description="an id of actions.json; left out: what fits the place / actions.json のid。なければ場所に合うもの",
    )


class CharacterFile(PersonFile):
    """characters/*.yaml."""

    routine: ListOf[RoutineEntry] = Field(
        default=(), description="what it does on a day, in order of time / 一日の日課(時刻の順)"
    )
    home: str = Field(description="the node where it begins and sleeps / 始まりの場所で、眠るノード")
    knows: ListOf[str] = Field(
        default=(),
        description="ids of people it was on terms with before, and they with it / "
        "前から知り合いの人のid。互いに知り合いになる",
    )
    needs: dict[str, Number] = Field(default={}, description="levels it begins with, by need / 始めの値(欲求のidごと)")
    decision: Decides | None = Field(
        default=None,
        description="how it decides; left out: as the world says (`PATCH /world`, `KATARIBE_WORLD__DECISION`) / "
        "決め方。なければ世界の設定(`PATCH /world`、`KATARIBE_WORLD__DECISION`)のとおり",
    )


class PlayerFile(PersonFile):
    """Whom a human speaks for: made at run time, in no file of content."""

    personality: Text = Field(default=UNWRITTEN, description="what others may know of it / どんな人か")
