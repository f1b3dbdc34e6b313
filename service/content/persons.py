"""npcs/*.yaml and characters/*.yaml: their form."""

from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, model_validator

from service.content.fields import UNWRITTEN, Clock, ContentModel, ListOf, Number, Slug, Text, refusal
from service.content.profile import Decides, Importance, Mood, Secret, TellFrom
from service.locales import Language, languages

Affinity = Annotated[int, Field(ge=-100, le=100)]


class TellFromEntry(ContentModel):
    """Who may be told a secret; either key suffices."""

    affinity: Affinity | None = Field(
        default=None,
        description="whoever the person likes at least so much / これ以上の好意をもつ相手",
    )
    person: str | None = Field(default=None, description="the person with that id / そのidの人物")

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if self.affinity is None and self.person is None:
            raise refusal("nobody_told")
        return self


class FactEntry(Text):
    """Something true of a person: a text; or `en`, `ja` with what makes it a secret beside them."""

    secret: bool = Field(
        default=False,
        description="true: told only to those whom `tellFrom` names; else it is in no prompt, and nobody learns it / "
        "true なら `tellFrom` の相手にだけ話す。ほかの相手との会話や判断のプロンプトには入らない",
    )
    tell_from: TellFromEntry | None = Field(
        default=None,
        description="who may be told; beside `secret` only, and required there / "
        "話してよい相手。`secret` には必ず添える",
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not any(getattr(self, one) for one in languages()):
            raise refusal("text")
        if self.secret != (self.tell_from is not None):
            raise refusal("untold_secret" if self.secret else "open_secret")
        return self


class PersonFile(ContentModel):
    """What the files of NPCs and characters have in common."""

    id: Slug = Field(description="the person's id, no other person's / 人物のid。ほかの誰とも違う")
    name: Text = Field(description="the person's name / 名前")
    personality: Text = Field(description="what it is like / どんな人か")
    tendencies: ListOf[Text] = Field(default=(), description="what it tends to do / しがちなこと")
    custom_prompt: Text = Field(
        default=UNWRITTEN,
        description="told to the model as written, whoever it talks with: manner of speech, what drives it / "
        "誰との会話でもそのままモデルに伝える文。話し方や心の内など",
    )
    facts: ListOf[FactEntry] = Field(
        default=(), description="what is true of it, without its name as subject / 本人についての事実(主語なし)"
    )
    lines: ListOf[Text] = Field(default=(), description="sentences in its own voice / 本人の言葉で書いた台詞")
    voice: JsonValue = Field(
        default=None,
        description="any value for the client's speech synthesis: handed on with what it says, never told to a model / "
        "読み上げの声などクライアント用の値。発言と一緒にそのまま渡し、モデルには見せない",
    )

    def in_language(self, language: Language) -> dict[str, Any]:
        """Its values under their Python names; secrets stand apart from the facts that anybody may be told."""
        values = super().in_language(language)
        values["facts"] = tuple(fact.of(language) for fact in self.facts if not fact.secret)
        values["secrets"] = tuple(
            Secret(fact=fact.of(language), tell_from=TellFrom(**dict(fact.tell_from)))
            for fact in self.facts
            if fact.tell_from is not None
        )
        return values


class NpcFile(PersonFile):
    """npcs/*.yaml."""

    mood: Mood = Field(default="neutral", description="the mood it falls back into / ふだんの気分")


class GoalEntry(ContentModel):
    """Something a character wants of life."""

    goal: Text = Field(description="what it wants / 望むこと")
    importance: Importance = Field(description="how much it wants it / どれほど望むか")


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

    goals: ListOf[GoalEntry] = Field(default=(), description="what it wants of life / 人生で望むこと")
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
        description="how it decides; left out: as the world says / "
        "決め方。なければ世界の設定(`PATCH /world`、`KATARIBE_WORLD__DECISION`)のとおり",
    )


class PlayerFile(PersonFile):
    """Whom a human speaks for: made at run time, in no file of content."""

    personality: Text = Field(default=UNWRITTEN, description="what others may know of it / どんな人か")
