"""Owns a table of five in tests: Aoi whispers to Ren where a key lies, and a model tells it in everybody's entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.llm.chat import Prompt
from service.locales import Language
from service.memory.closing.context import ClosingContext
from service.people.worlds import WorldView
from service.store.tables import ConversationRow, ParticipantRow, TurnRow, WorldRow
from tests.memory.answers import memory, promise
from world.time import WorldTime

FIVE = ("aoi", "ren", "mio", "npc_taro", "npc_hamako")
KNOWING, OTHERS = FIVE[:2], FIVE[2:]


@dataclass(frozen=True, kw_only=True)
class Whisper:
    """What is said in the turns, the third and the fourth of them whispered; what is done in the sixth, which only
    Taro sees; what a model makes of the whisper, how it is asked after, and words that give it away.
    """

    lines: tuple[str, str, str, str, str]
    act: str
    told: str
    promised: str
    summary: str
    asked: str
    telling: tuple[str, ...]
    acted: str
    aloud: str


WHISPERS: dict[Language, Whisper] = {
    "en": Whisper(
        lines=(
            "Good evening, everybody. The soup smells wonderful.",
            "Where did you hide it?",
            "The silver key lies under the chapel stairs.",
            "I shall fetch the silver key tomorrow.",
            "I have painted my boat green.",
        ),
        act="slips a coin into the lantern",
        told="The silver key lies under the chapel stairs",
        promised="fetch the silver key tomorrow",
        summary="Aoi told everybody that the soup smells wonderful.",
        asked="Where does the silver key lie, under the chapel stairs?",
        telling=("key", "chapel", "stairs"),
        acted="coin",
        aloud="boat",
    ),
    "ja": Whisper(
        lines=(
            "こんばんは、皆さん。いい匂いのスープですね。",
            "どこに隠したんだい?",
            "銀の鍵は礼拝堂の階段の下にあります。",
            "明日、銀の鍵を取りに行きます。",
            "私は舟を緑色に塗りました。",
        ),
        act="提灯の中に小銭を滑り込ませる",
        told="銀の鍵は礼拝堂の階段の下にある",
        promised="明日、銀の鍵を取りに行く",
        summary="葵はいい匂いのスープだと言った。",
        asked="銀の鍵は礼拝堂の階段の下のどこにありますか?",
        telling=("鍵", "礼拝堂", "階段"),
        acted="小銭",
        aloud="舟",
    ),
}


def seat(
    session: Session, world: WorldView, turns: Sequence[Mapping[str, Any]], people: Sequence[str] = FIVE, **fields: Any
) -> ConversationRow:
    """A conversation of these people whose closing is due, with what of each turn is not as it mostly is."""
    key = {"world_id": world.id, "conversation_id": fields.pop("id", "table")}
    stays = fields.pop("stays", {})
    row = ConversationRow(
        world_id=world.id,
        id=key["conversation_id"],
        participants=[
            ParticipantRow(**key, person_id=person_id, seat=number, **stays.get(person_id, {}))
            for number, person_id in enumerate(people)
        ],
        node_id="tavern_door",
        language=world.language,
        max_turns=20,
        models={},
        **{"phase": "closing", "started_at": world.now, "ended_at": world.now, **fields},
    )
    session.add(row)
    session.flush()
    spent = dict.fromkeys(("calls", "prompt_tokens", "completion_tokens", "duration_ms"), 1)
    for number, turn in enumerate(turns):
        said = {"text": "", "emotion": "neutral", "at": row.started_at, "model": "scripted", **spent, **turn}
        session.add(TurnRow(**key, turn=number, speaker_name=world.name_of(turn["speaker_id"]), **said))
    session.flush()
    return row


def whispered(room: ConversationDependencies, language: Language) -> Whisper:
    """The five have talked, and nobody remembers it yet."""
    room.database.write_now(lambda s: speak(s, room, language))
    told = WHISPERS[language]
    first, asked, key, promise, boat = told.lines
    turns: list[dict[str, Any]] = [
        {"speaker_id": "aoi", "text": first},
        {"speaker_id": "ren", "text": asked, "heard_by": ["aoi"], "loudness": "whisper"},
        {"speaker_id": "aoi", "text": key, "heard_by": ["ren"], "loudness": "whisper"},
        {"speaker_id": "ren", "text": promise, "heard_by": ["aoi"], "loudness": "whisper"},
        {"speaker_id": "mio", "text": boat},
        {"speaker_id": "npc_hamako", "act": told.act, "seen_by": ["npc_taro"]},
    ]
    room.database.write_now(lambda s: seat(s, room.worlds.open(s, "main"), turns))
    return told


def speak(session: Session, room: ConversationDependencies, language: Language) -> None:
    """The world speaks that language."""
    room.worlds.open(session, "main", lock=True)
    session.get_one(WorldRow, "main").language = language
    session.flush()


def tells_everybody(prompt: Prompt[Any]) -> BaseModel:
    """A model that puts the whisper, and what was done unseen, into everybody's entry, with the turn it was said in and
    with one that all have heard.
    """
    given = prompt.given
    assert isinstance(given, ClosingContext)
    told = WHISPERS[given.language]
    paragraph = [told.summary, f"{told.told}."]
    topics = [told.telling[0], told.telling[1], told.acted, told.aloud]
    memories = [
        {"owner": one.ref, **each}
        for one in given.participants
        for each in (
            *(memory(told.told, turn, about="a", teller="a") for turn in (2, 0)),
            memory(told.act, 5),
        )
    ]
    memories.append({"owner": "d", **memory(told.promised, 0, lasts="high")})
    promises = [promise(told.promised, 3, by="b", to="c"), promise(told.promised, 0, by="b", to="d")]
    return answered_alike(prompt, paragraph, topics, memories, promises)


STANCE = {"power": 0, "intimacy": 1, "task_oriented": 0}
"""How everybody is said to stand to whom it has met before."""


def answered_alike(
    prompt: Prompt[Any],
    paragraph: Sequence[str],
    topics: Sequence[str] = (),
    memories: Sequence[Mapping[str, Any]] = (),
    promises: Sequence[Mapping[str, Any]] = (),
) -> BaseModel:
    """The same entry for everybody, who likes everybody a little more."""
    given = prompt.given
    assert isinstance(given, ClosingContext)
    people: dict[str, dict[str, Any]] = {}
    for one in given.participants:
        others = given.others_of(one)
        told = {"paragraph": list(paragraph), "topics": list(topics), "mood": "happy"}
        liked = {other.ref: stands.affinity + 3 for other, stands in others}
        judged = {other.ref: STANCE for other, stands in others if given.is_judged(stands) and not one.is_player}
        people[one.ref] = {**told, "towards": liked, **({"attitude": judged} if judged else {})}
    lists = {"memories": list(memories), "promises": list(promises), "not_to_quote": [], "reached": []}
    answer: type[BaseModel] = prompt.answer
    return answer.model_validate({"people": people, **lists})


NET = "I will bring the net tomorrow."


def left_early(session: Session, room: ConversationDependencies) -> WorldTime:
    """Three talk in the living world, and Ren leaves before the third turn. Answers when it ended."""
    room.worlds.open(session, "main", lock=True)
    world = room.worlds.open(session, "main")
    turns = [
        {"speaker_id": "aoi", "text": "Will you bring the net tomorrow?"},
        {"speaker_id": "ren", "text": NET},
        {"speaker_id": "mio", "text": "He is gone. I have painted my boat green."},
    ]
    stays = {"ren": {"left_turn": 2}}
    seat(session, world, turns, ("aoi", "ren", "mio"), id="quay", stays=stays, clock_policy="minute", talk_id="t1")
    return world.now


def tells_of_the_net(prompt: Prompt[Any]) -> BaseModel:
    """A model that tells everybody of the net, and of Ren's promise."""
    given = prompt.given
    assert isinstance(given, ClosingContext)
    told = [
        {"owner": one.ref, **memory("Ren brings the net tomorrow.", 1, about="b", teller="b")}
        for one in given.participants
    ]
    paragraph = ["Ren said that he will bring the net tomorrow."]
    return answered_alike(prompt, paragraph, [], told, [promise("bring the net tomorrow", 1, by="b", to="a")])
