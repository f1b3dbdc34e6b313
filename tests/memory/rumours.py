"""Owns a rumour in tests: Aoi tells Mio, Mio tells Ren, Ren tells Sota, each in a talk of its own that is closed."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.llm.scripted import ScriptedModel
from service.locales import Language
from service.store.tables import WorldRow
from tests.conversation.talks import begin, pass_minutes, place, replies, says
from tests.memory.answers import claim, extraction
from tests.store.conversations import main

HANDS = ("aoi", "mio", "ren", "sota")


@dataclass(frozen=True, kw_only=True)
class Rumour:
    """What each says when it tells it on, what the model makes of it every time, and what the last one remembers."""

    told: tuple[str, str, str]
    subject: str
    statement: str
    remembered: tuple[str, str, str]
    reply: str = "Is that so? I had no idea."
    bye: str = "I must be off, goodbye."


RUMOURS: dict[Language, Rumour] = {
    "en": Rumour(
        told=(
            "The old bridge by the mill is broken in the middle.",
            "Aoi says the old bridge by the mill is broken in the middle.",
            "Have you heard? The old bridge by the mill, it is broken in the middle!",
        ),
        subject="the bridge",
        statement="The old bridge by the mill is broken in the middle",
        remembered=(
            'Aoi said: "The old bridge by the mill is broken in the middle."',
            'Heard from Mio, who had it from Aoi: "Aoi says the old bridge by the mill is broken in the middle."',
            "Heard from Ren, who had it by way of Mio from Aoi: "
            '"Have you heard? The old bridge by the mill, it is broken in the middle!"',
        ),
    ),
    "ja": Rumour(
        told=(
            "水車小屋のそばの古い橋が、真ん中で壊れているんです。",
            "葵さんが言うには、水車小屋のそばの古い橋が真ん中で壊れているそうですよ。",
            "聞いたか。水車小屋のそばの古い橋が真ん中で壊れているんだ。",
        ),
        subject="古い橋",
        statement="水車小屋のそばの古い橋が真ん中で壊れている",
        remembered=(
            "葵「水車小屋のそばの古い橋が、真ん中で壊れているんです。」",
            "澪(もとは葵)から聞いた話「葵さんが言うには、水車小屋のそばの古い橋が真ん中で壊れているそうですよ。」",
            "蓮(もとは葵、澪を通じて)から聞いた話「聞いたか。水車小屋のそばの古い橋が真ん中で壊れているんだ。」",
        ),
        reply="そうなんですか。知りませんでした。",
        bye="では、もう行きます。さようなら。",
    ),
}


async def goes_round(
    room: ConversationDependencies,
    script: ScriptedModel,
    language: Language,
    after: Callable[[Sequence[str]], Awaitable[None]],
) -> None:
    """Let the rumour go through all hands; `after` is called with the two of each talk, once it is closed."""
    room.database.write_now(lambda s: _speak(s, room, language))
    rumour = RUMOURS[language]
    for teller, listener, words in zip(HANDS, HANDS[1:], rumour.told, strict=False):
        await tell(room, script, teller, listener, words, rumour)
        await after((teller, listener))


async def tell(
    room: ConversationDependencies, script: ScriptedModel, teller: str, listener: str, words: str, rumour: Rumour
) -> None:
    """The one tells the other so, and the model extracts the rumour's statement."""
    for person_id in (teller, listener):
        place(room, person_id)
    script.enqueue(says(words), replies(rumour.reply), says(rumour.bye, leaves=True))
    key = main(begin(room, character_id=teller, npc_id=listener))
    await Engine(room).converse(key)
    script.enqueue(extraction(second={"facts": [claim(rumour.statement, 0, subject=rumour.subject)]}))
    await close(room, key)
    pass_minutes(room, 30)


def _speak(session: Session, room: ConversationDependencies, language: Language) -> None:
    room.worlds.open(session, "main", lock=True)
    session.get_one(WorldRow, "main").language = language
