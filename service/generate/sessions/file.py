"""Owns the file of a `kataribe generate sessions`: its form, and what it may refer to."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from service.content.fields import UNWRITTEN, ContentModel, ListOf, Moment, NonEmpty, Slug, Text
from service.content.load import Cast
from service.content.persons import PersonFile
from service.content.problem import ContentProblem, problem, quote
from service.content.profile import CharacterProfile
from service.content.references import declared_once, unknown
from service.generate.stage import PLACE, on_stage
from service.locales import Language


class SessionsFile(ContentModel):
    """What is to be made."""

    dialogues: int = Field(ge=1, le=999_999, description="how many are made / 作る対話の数")
    language: Language | None = Field(default=None, description="left out: the game's own / 省くとゲームの言語")
    cast: ListOf[Slug] = Field(
        default=(),
        description="ids of people of the game; left out, and no `people`: all of them / "
        "ゲームの人物のid。`people` もなければ全員",
    )
    people: ListOf[PersonFile] = Field(
        default=(),
        description="people of this file alone, with the keys of npcs/*.yaml (content.md) / "
        "このファイルだけの人物。キーは npcs/*.yaml と同じ(content.ja.md)",
    )
    pairs: ListOf[NonEmpty[Slug]] = Field(
        default=(),
        description="who talks with whom, two ids each; left out: everybody with everybody / "
        "話す二人のidの組。なければ全員どうし",
    )
    start_time: Moment | None = Field(
        default=None,
        description="the world time at which it begins; left out: the game's own / "
        "始まりの世界時刻。なければゲームのもの",
    )
    months: Annotated[int, Field(ge=1, le=120)] = Field(default=6, description="how long it goes on / 続く月数")
    sessions: Annotated[int, Field(ge=1, le=50)] = Field(
        default=8, description="how often the two meet / 二人の会う回数"
    )
    max_turns: Annotated[int, Field(ge=2, le=50)] = Field(
        default=10, description="turns of a session / 一回の会話の発言の数"
    )
    events: Annotated[int, Field(ge=2, le=40)] = Field(
        default=8, description="events in the life of each / それぞれの人生の出来事の数"
    )
    questions: Annotated[int, Field(ge=0, le=60)] = Field(
        default=12, description="questions asked for each dialogue / 対話ごとに求める質問の数"
    )
    place: Text = Field(default=UNWRITTEN, description="where they meet, in words / 会う場所(文)")
    seed: int = Field(default=7, description="of all chance / 乱数のシード")


def people_of(file: SessionsFile, cast: Cast, language: Language) -> dict[str, CharacterProfile]:
    """Everybody who may talk, by id. All of them walk, and all are at the same place."""
    own = {one.id: CharacterProfile(**one.in_language(language), home=PLACE) for one in file.people}
    named = file.cast or (() if own or file.pairs else (*cast.characters, *cast.npcs))
    paired = (person_id for pair in file.pairs for person_id in pair if person_id not in own)
    return {person_id: on_stage(cast, person_id) for person_id in (*named, *paired)} | own


def check_sessions(name: str, file: SessionsFile, cast: Cast) -> Iterator[ContentProblem]:
    """What is not there, or there twice."""
    known = {*cast.npcs, *cast.characters}
    everybody = known | {one.id for one in file.people}
    for i, person_id in enumerate(file.cast):
        if person_id not in known:
            yield unknown(name, ("cast", i), "content.unknown_person", person_id, known)
    cast_ids = [(name, ("cast", i), person_id) for i, person_id in enumerate(file.cast)]
    own_ids = [(name, ("people", i, "id"), one.id) for i, one in enumerate(file.people)]
    yield from declared_once([*cast_ids, *own_ids])
    for i, pair in enumerate(file.pairs):
        for j, person_id in enumerate(pair):
            if person_id not in everybody:
                yield unknown(name, ("pairs", i, j), "content.unknown_person", person_id, everybody)
        if len(pair) != 2 or pair[0] == pair[-1]:
            yield problem(name, ("pairs", i), "generate.problem.no_pair", found=quote(", ".join(pair)))
    if not file.pairs and len(file.cast) + len(file.people) == 1:
        yield problem(name, (), "generate.problem.alone")
