"""Owns a rumour in tests: Aoi tells Mio, Mio tells Ren, Ren tells Sota, each in a talk of its own that is closed."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.locales import Language
from service.store.tables import WorldRow
from tests.conversation.talks import begin, pass_minutes, place, replies, says
from tests.memory.answers import closing, memory
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

HANDS = ("aoi", "mio", "ren", "sota")


@dataclass(frozen=True, kw_only=True)
class Rumour:
    """What each says when it tells it on, whom it names in that, and what the model makes of it every time."""

    told: tuple[str, str, str]
    named: tuple[str, str, str]
    statement: str
    reply: str = "Is that so? I had no idea."
    bye: str = "I must be off, goodbye."


RUMOURS: dict[Language, Rumour] = {
    "en": Rumour(
        told=(
            "The old bridge by the mill is broken in the middle.",
            "Aoi says the old bridge by the mill is broken in the middle.",
            "Have you heard from Mio? The old bridge by the mill, it is broken in the middle!",
        ),
        named=("", "Aoi", "Mio"),
        statement="The old bridge by the mill is broken in the middle",
    ),
    "ja": Rumour(
        told=(
            "水車小屋のそばの古い橋が、真ん中で壊れているんです。",
            "葵さんが言うには、水車小屋のそばの古い橋が真ん中で壊れているそうですよ。",
            "澪から聞いたか。水車小屋のそばの古い橋が真ん中で壊れているんだ。",
        ),
        named=("", "葵", "澪"),
        statement="水車小屋のそばの古い橋が真ん中で壊れている",
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
    for hand in range(3):
        await tell(room, script, HANDS[hand], HANDS[hand + 1], rumour, hand)
        await after((HANDS[hand], HANDS[hand + 1]))


async def tell(
    room: ConversationDependencies, script: ScriptedModel, teller: str, listener: str, rumour: Rumour, hand: int
) -> None:
    """The one tells the other so in the words of that hand, and the model notes whom they name."""
    for person_id in (teller, listener):
        place(room, person_id)
    script.enqueue(says(rumour.told[hand]), replies(rumour.reply, leaves=True), says(rumour.bye, leaves=True))
    key = main(begin(room, character_id=teller, npc_id=listener))
    await Engine(room).converse(key)
    kept = memory(rumour.statement, 0, teller="a", heard_from=rumour.named[hand])
    script.enqueue(closing(second={"memories": [kept]}))
    await close(room, key)
    pass_minutes(room, 30)


def _speak(session: Session, room: ConversationDependencies, language: Language) -> None:
    room.worlds.open(session, "main", lock=True)
    session.get_one(WorldRow, "main").language = language
