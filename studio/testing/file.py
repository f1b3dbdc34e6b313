"""Owns the files of `kataribe test`: their form, and what they may refer to."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from service.public.files import (
    UNWRITTEN,
    Cast,
    ContentModel,
    ContentProblem,
    ContentRefused,
    FlagEntry,
    ListOf,
    Moment,
    NonEmpty,
    Slug,
    Text,
    Unreadable,
    files_in,
    read_form,
    refusal,
    unknown,
)
from service.public.words import Language

PROBES = Path(__file__).parent / "probes"
"""Where ours lie: they hold for everybody."""

_SUFFIXES = (".yaml", ".yml")


class TestsRefused(ContentRefused):
    """Files of tests have errors. Facts: as of ContentErrors."""

    __test__ = False


class GivenEntry(ContentModel):
    """How it is before the first word."""

    affinity: Annotated[int, Field(ge=-100, le=100)] | None = Field(
        default=None, description="how much the person likes the player / その人物のプレイヤーへの好感度"
    )
    facts_told: ListOf[Text] = Field(
        default=(), description="what the player told it before, as sentences / プレイヤーが前に話したこと(文)"
    )
    flags: dict[Slug, FlagEntry] = Field(
        default={}, description="flags of the world (`PUT /world/flags`) / 世界のフラグ(`PUT /world/flags`)"
    )
    time: Moment | None = Field(
        default=None, description="the world time; left out: the game's start / 世界時刻。なければゲームの始まり"
    )


class MustEntry(ContentModel):
    """What has to be said."""

    any: NonEmpty[Text] = Field(description="one of these stands in an answer / このどれかが答えにあること")


class TestEntry(ContentModel):
    """A talk of a player with a person, and what its answers are held to."""

    __test__ = False

    name: Text = Field(default=UNWRITTEN, description="what it is called in reports / 報告での名前")
    npc: str | None = Field(
        default=None,
        description="id of an NPC or a character; left out: each NPC / NPCかキャラクターのid。なければ全NPC",
    )
    as_: Text = Field(
        default=UNWRITTEN,
        alias="as",
        description="what the player is called; left out: Mika / プレイヤーの名前。なければ Mika",
    )
    given: GivenEntry = Field(default=GivenEntry(), description="how it is before / 話す前の状態")
    say: NonEmpty[Text] = Field(description="what the player says, line by line / プレイヤーの言葉(順に)")
    never: ListOf[Text] = Field(
        default=(), description="words that stand in no answer / どの答えにもあってはならない言葉"
    )
    must: ListOf[MustEntry] = Field(default=(), description="what has to be said / 言わなければならないこと")
    judge: Text = Field(
        default=UNWRITTEN,
        description="a sentence that a model holds the talk against; one call / "
        "モデルが会話に照らして確かめる文。呼び出し1回",
    )
    longest: Annotated[int, Field(ge=20, le=2000)] = Field(
        default=500, description="the most characters of an answer / 答えの最大の文字数"
    )
    repeat: Annotated[int, Field(ge=1, le=50)] = Field(
        default=1, description="how often the talk is held / 会話をくり返す回数"
    )
    pass_: Annotated[int, Field(ge=1, le=50)] | None = Field(
        default=None,
        alias="pass",
        description="so many of them have to hold; left out: all / そのうち通るべき回数。なければ全部",
    )
    before: Annotated[int, Field(ge=1, le=9999)] | None = Field(
        default=None,
        description="only in worlds that begin before this year / 世界の始まりがこの年より前のときだけ",
    )

    @model_validator(mode="after")
    def _passes(self) -> Self:
        if self.pass_ is not None and self.pass_ > self.repeat:
            raise refusal("passes_more")
        return self


class TestsFile(ContentModel):
    """Tests of one file."""

    __test__ = False

    language: Language | None = Field(default=None, description="left out: the game's own / 省くとゲームの言語")
    tests: NonEmpty[TestEntry] = Field(description="the tests / テスト")


def read_tests(directory: Path, cast: Cast) -> dict[str, TestsFile]:
    """The files of tests in a directory, by their names, checked.

    Raises:
        TestsRefused: it names everything that is wrong with them.
    """
    read: dict[str, TestsFile] = {}
    wrong: list[ContentProblem] = []
    try:
        names = [name for name in files_in(directory, ".") if name.endswith(_SUFFIXES)]
        if not names:
            raise Unreadable("testing.no_files")
    except Unreadable as exc:
        raise TestsRefused(directory, [ContentProblem(file=str(directory), key_path="", said=exc.reason)]) from exc
    for path in (directory / name for name in names):
        try:
            read[path.name] = read_form(TestsFile, path, partial(_unknown, path.name, cast), refused=TestsRefused)
        except TestsRefused as exc:
            wrong += exc.problems
    if wrong:
        raise TestsRefused(directory, wrong)
    return read


def _unknown(name: str, cast: Cast, file: TestsFile) -> Iterator[ContentProblem]:
    known = {*cast.npcs, *cast.characters}
    for i, test in enumerate(file.tests):
        if test.npc is not None and test.npc not in known:
            yield unknown(name, ("tests", i, "npc"), "content.unknown_person", test.npc, known)
