"""npcs/*.yaml and characters/*.yaml: their form, and what a model is told of a person. The keys that fragments have too
are all optional.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from service.content.fields import (
    UNWRITTEN,
    Clock,
    ContentModel,
    ListOf,
    Names,
    NeedId,
    NodeId,
    Number,
    PersonId,
    PictureName,
    Slug,
    Text,
    TextForm,
    refusal,
)
from service.content.profile import SMALL, Decides, LifeGoal, Mood, PersonaLine, Secret, TellFrom, Weight
from service.locales import Language, languages, sentence
from service.settings import ContextTokens


class FactEntry(TextForm):
    """Something true of a person: a text; or `en`, `ja` with what makes it a secret beside them."""

    secret: bool = Field(
        default=False,
        description="true: told only to those whom `tellFrom` names; else it is in no prompt, and nobody learns it / "
        "true なら `tellFrom` の相手にだけ話す。ほかではどのプロンプトにも入らず、誰にも知られない",
    )
    tell_from: TellFrom | None = Field(
        default=None,
        description="who may be told; beside `secret` only, and required there / "
        "話してよい相手。`secret` にだけ、必ず添える",
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not any(getattr(self, one) for one in languages()):
            raise refusal("text")
        if self.secret != (self.tell_from is not None):
            raise refusal("untold_secret" if self.secret else "open_secret")
        return self


class OccupationEntry(ContentModel):
    """What it does for a living: a text; or a mapping with `title`."""

    title: Text = Field(description="what it is called / 職業の名前")
    organization: Text = Field(default=UNWRITTEN, description="where, or for whom / 勤め先や雇い主")
    description: Text = Field(
        default=UNWRITTEN,
        description="what it has to do there; told when there is talk of it / 仕事の内容。話題に出たときだけ伝える",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        is_text = isinstance(value, str) or (isinstance(value, dict) and value and value.keys() <= set(languages()))
        return {"title": value} if is_text else value


Degree = Literal["low", "medium", "high"]


class BigFiveEntry(ContentModel):
    """The five traits; what is medium is told to nobody."""

    openness: Degree = Field(default="medium", description="how open it is to what is new / 開放性")
    conscientiousness: Degree = Field(default="medium", description="how careful and orderly / 誠実性")
    extraversion: Degree = Field(default="medium", description="how outgoing / 外向性")
    agreeableness: Degree = Field(default="medium", description="how warm and yielding / 協調性")
    neuroticism: Degree = Field(default="medium", description="how easily troubled / 神経症傾向")


class PreferencesEntry(ContentModel):
    """What it cares for."""

    interests: ListOf[Text] = Field(default=(), description="what it is interested in / 関心のあること")
    likes: ListOf[Text] = Field(default=(), description="what it likes / 好きなもの")
    dislikes: ListOf[Text] = Field(default=(), description="what it dislikes / 嫌いなもの")


class RelationshipEntry(ContentModel):
    """What another person is to it."""

    person: PersonId = Field(description="the id of the other / 相手のid")
    description: Text = Field(description="what the other is to it / 本人にとってどんな相手か")


class ExperienceEntry(ContentModel):
    """Something it has lived through."""

    event: Text = Field(description="what happened / 起きたこと")
    importance: Weight = Field(
        description="from 1 to 10, or `low`, `medium`, `high`; what matters more comes to mind sooner / "
        "1〜10、または `low`、`medium`、`high`。大きいほど思い出しやすい"
    )


class PersonaFile(ContentModel):
    """The keys that files of people and fragments share. `identity` always stands in a prompt, in one line; the lines
    of a persona come in when the moment asks for them.
    """

    age: int | None = Field(default=None, ge=0, le=10_000, description="its age in years / 年齢")
    gender: Text = Field(default=UNWRITTEN, description="its gender / 性別")
    appearance: Text = Field(
        default=UNWRITTEN,
        description="what one sees of it, as of a stranger: told to those who meet it / "
        "初めて会う人の目に映る姿。会う人に伝える",
    )
    nationality: Text = Field(default=UNWRITTEN, description="its nationality or people / 国籍や民族")
    residence: Text = Field(default=UNWRITTEN, description="where it lives, in words / 住まい(文)")
    education: Text = Field(
        default=UNWRITTEN, description="what it has learned, and where / 学んだことと、学んだところ"
    )
    occupation: OccupationEntry | None = Field(
        default=None, description="what it does for a living: a text, or these keys / 職業。文章か、次のキー"
    )
    big_five: BigFiveEntry = Field(default=BigFiveEntry(), description="the five traits of personality / 性格の五因子")
    preferences: PreferencesEntry = Field(default=PreferencesEntry(), description="what it cares for / 好み")
    beliefs: ListOf[Text] = Field(default=(), description="what it believes / 信じていること")
    skills: ListOf[Text] = Field(default=(), description="what it is good at / 得意なこと")
    behaviors: ListOf[Text] = Field(
        default=(), description="what it usually does, and when / ふだんの振る舞いと、どんなときか"
    )
    relationships: ListOf[RelationshipEntry] = Field(
        default=(),
        description="what others are to it; told in their presence alone / 人間関係。その相手がいるときだけ伝える",
    )
    experiences: ListOf[ExperienceEntry] = Field(default=(), description="what it has lived through / 経験してきたこと")
    goals: ListOf[LifeGoal] = Field(default=(), description="what it wants of life / 人生で望むこと")
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
    context_tokens: ContextTokens | None = Field(
        default=None,
        description="about how many tokens its prompts in talks may take; left out: as its world or the settings say / "
        "会話のプロンプトのおよそのトークン数。なければ世界か設定のとおり",
    )
    deflections: ListOf[Text] = Field(
        default=(),
        description="what it says when its model twice will not speak for it; without any, neutral words / "
        "モデルが二度続けて本人の言葉を返さないときに言う台詞。なければ中立な言葉",
    )
    voice: JsonValue = Field(
        default=None,
        description="any value for the client's speech synthesis: handed on with what it says, never told to a model / "
        "読み上げの声などクライアント用の値。発言と一緒にそのまま渡し、モデルには見せない",
    )

    def told(self, language: Language) -> dict[str, Any]:
        """The values of its profile: those of a persona as what is told of them; secrets stand apart from the facts
        that anybody may be told.
        """
        values = {name: value for name, value in self.in_language(language) if name not in _TOLD}
        values["facts"] = tuple(fact.of(language) for fact in self.facts if not fact.secret)
        values["secrets"] = tuple(
            Secret(fact=fact.of(language), tell_from=fact.tell_from)
            for fact in self.facts
            if fact.tell_from is not None
        )
        values["identity"] = tuple(_identity(self, language))
        values["seen"] = sentence(language, "common.comma").join(_seen(self, language))
        values["persona"] = tuple(_persona(self, language))
        return values


_TOLD = frozenset(
    "age gender appearance nationality residence education occupation big_five preferences beliefs skills behaviors "
    "relationships experiences use aliases node_id".split()
)
"""Keys that a profile holds as sentences, has taken in (fragments), or leaves to the map."""


def _identity(person: PersonaFile, language: Language) -> Iterator[str]:
    if person.age is not None:
        yield sentence(language, "persona.age", count=person.age)
    texts = {name: getattr(person, name).of(language) for name in ("gender", "nationality", "residence")}
    yield from (texts[name] for name in ("gender", "nationality") if texts[name])
    if person.occupation is not None:
        title, place = (one.of(language) for one in (person.occupation.title, person.occupation.organization))
        yield sentence(language, f"persona.{'occupation_at' if place else 'occupation'}", title=title, place=place)
    if texts["residence"]:
        yield sentence(language, "persona.residence", place=texts["residence"])
    for name, degree in person.big_five:
        if degree != "medium":
            yield sentence(language, f"persona.{degree}", trait=sentence(language, f"persona.traits.{name}"))


def _seen(person: PersonaFile, language: Language) -> Iterator[str]:
    """What meets the eye: how it looks, or its gender and about its age; and its trade."""
    looks = person.appearance.of(language)
    yield from filter(None, (looks or person.gender.of(language),))
    if person.age is not None and not looks:
        yield sentence(language, "persona.age_about", count=max(5, round(person.age, -1)))
    if person.occupation is not None:
        yield person.occupation.title.of(language)


def _persona(person: PersonaFile, language: Language) -> Iterator[PersonaLine]:
    """What comes in when the moment asks for it."""
    cares = person.preferences
    work = person.occupation.description if person.occupation else UNWRITTEN
    for kind, texts in (
        ("work", (work,)),
        ("education", (person.education,)),
        ("skill", person.skills),
        ("belief", person.beliefs),
        ("behavior", person.behaviors),
        ("interest", cares.interests),
        ("like", cares.likes),
        ("dislike", cares.dislikes),
    ):
        yield from (persona_line(kind, text.of(language), language) for text in texts if text)
    yield from (
        persona_line("experience", one.event.of(language), language, weight=one.importance)
        for one in person.experiences
    )
    yield from (
        persona_line("wish", wish.goal.of(language), language, weight=wish.weight)
        for wish in person.goals
        if wish.weight <= SMALL
    )
    for other in person.relationships:
        text = other.description.of(language)
        yield PersonaLine(text=text, told=text, person=other.person)


def persona_line(kind: str, text: str, language: Language, **more: int) -> PersonaLine:
    """What a model is told of such a thing."""
    return PersonaLine(text=text, told=sentence(language, f"persona.{kind}", text=text), **more)


class _PersonHead(ContentModel):
    """What stands first in a person's file."""

    id: Slug = Field(description="the person's id, no other person's / 人物のid。ほかの誰とも違う")
    name: Text = Field(description="the person's name / 名前")
    personality: Text = Field(description="what it is like / どんな人か")
    use: ListOf[Annotated[str, Names("fragment")]] = Field(
        default=(),
        description="names of files in fragments/ whose keys it has too / fragments/ のファイルの名前。そのキーも持つ",
    )


class PersonFile(PersonaFile, _PersonHead):
    """What the files of NPCs and characters have in common."""

    aliases: ListOf[str] = Field(
        default=(),
        description="its ids in files of other programs that are taken in / 取り込む別のプログラムのファイルでのid",
    )
    portrait: PictureName | None = Field(
        default=None,
        description="its picture on the pages, as `pictures/aoi.svg`; left out: one is drawn from its id / "
        "ページに出る絵(`pictures/aoi.svg` のように)。なければidから描く",
    )


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
    facility_id: Annotated[str, Names("facility")] | None = Field(
        default=None, alias="facility", description="at which facility; left out: at home / どの施設で。なければ家で"
    )
    action_id: Annotated[str, Names("action")] | None = Field(
        default=None,
        alias="action",
        description="an id of actions.json; left out: what fits the place / actions.json のid。なければ場所に合うもの",
    )


class CharacterFile(PersonFile):
    """characters/*.yaml."""

    routine: ListOf[RoutineEntry] = Field(
        default=(), description="what it does on a day, in order of time / 一日の日課(時刻の順)"
    )
    home: NodeId = Field(description="the node where it begins and sleeps / 始まりの場所で、眠るノード")
    knows: ListOf[PersonId] = Field(
        default=(),
        description="ids of people it was on terms with before, and they with it / "
        "前から知り合いの人のid。互いに知り合いになる",
    )
    needs: dict[NeedId, Number] = Field(
        default={}, description="levels it begins with, by need / 始めの値(欲求のidごと)"
    )
    decision: Decides | None = Field(
        default=None,
        description="how it decides; left out: as the world says (`PATCH /world`, `KATARIBE_WORLD__DECISION`) / "
        "決め方。なければ世界の設定(`PATCH /world`、`KATARIBE_WORLD__DECISION`)のとおり",
    )


class PlayerFile(PersonFile):
    """Whom a human speaks for: made at run time, in no file of content."""

    personality: Text = Field(default=UNWRITTEN, description="what others may know of it / どんな人か")
