"""Owns what comes to a speaker's mind while it talks: its memory is asked again when the topic moves."""

from functools import lru_cache

from service.conversation.context import PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.lore import brought_to_mind, lore_told
from service.conversation.memory_share import room_left
from service.conversation.persona import told_of_persona
from service.conversation.prompt import Record, was_told
from service.llm.chat import estimate_tokens
from service.memory.lexical import says_little, tokens
from service.memory.recall import new_lines, remembered, within
from service.memory.refs import refs_told
from service.memory.secrets import discretion_among
from service.memory.store import Kind
from service.people.worlds import WorldView

REMINDED_TOKENS = 70
"""Most tokens, by `estimate_tokens`, for what comes to mind before one turn; with its frame at most 90."""
NOTES_TOKENS = 100
"""The same for all notes of a speaker in one conversation, for each stays in its prompts."""
LATELY = 2
"""How many last lines show what the talk is about."""
STILL_ABOUT = 0.3
"""The talk has turned to something new where memory was asked before for a smaller share of their words."""
ENOUGH_WORDS = 3
"""Fewer say nothing about the topic."""
MOST_FOUND = 6


async def reminded_of(
    deps: ConversationDependencies, met: WorldView, context: PromptContext, record: Record
) -> tuple[tuple[str, ...], list[str]]:
    """What the last lines remind the speaker of, of what it remembered when the two `met`, then of itself and of lore,
    and was not told yet: the lines, and what they refer to.

    Nothing while the talk is about what its memory was asked for before, or where its prompt has no room. No model is
    asked.
    """
    notes = [line.note for line in context.lines if line.speaker_id == context.speaker.id]
    room = min(REMINDED_TOKENS, NOTES_TOKENS - sum(map(estimate_tokens, notes)))
    if room <= 0 or not has_turned(context) or (room := min(room, room_left(context, record))) <= 0:
        return (), []
    query = " ".join(line.text for line in context.lines[-LATELY:])
    kinds = set(Kind)
    # At hand: a turn waits for no store and no embedding.
    found = await remembered(deps.memory, met, context.speaker.id, query, limit=MOST_FOUND, kinds=kinds, at_hand=True)
    found = (
        discretion_among(context.speaker, context.affinities)
        .apart(met, context.speaker.id, context.affinities)
        .known(found)
    )
    told = (record.system, record.context, *notes, *(line.text for line in context.lines))
    own = told_of_persona(met, context.speaker, query, context.affinities)
    authored = (*own, *brought_to_mind(met, context.speaker.id, query))
    untold = (text for text in authored if not was_told(record, notes, text))
    reminded = within([*new_lines(met, (one for one in found if one.bears), told), *untold], room)
    return reminded, [*refs_told(met, found, reminded), *lore_told(met, reminded)]


def has_turned(context: PromptContext) -> bool:
    """Whether the last lines share too little with what the speaker's memory was asked for: its goal, where it was
    given one, and the lines before which it was asked again. The same lines always answer the same.
    """
    given = context.goal if context.begins and not context.sets_goal else None
    asked = _words(f"{given.goal} {given.success_criteria}") if given else frozenset()
    own = [number for number, line in enumerate(context.lines) if line.speaker_id == context.speaker.id]
    turned = False
    for number in (*own, len(context.lines)):
        lately = _words(" ".join(line.text for line in context.lines[max(0, number - LATELY) : number]))
        turned = len(lately) >= ENOUGH_WORDS and len(lately & asked) < STILL_ABOUT * len(lately)
        asked = asked | lately if turned else asked
    return turned


@lru_cache(maxsize=1000)
def _words(text: str) -> frozenset[str]:
    return frozenset(token for token in tokens(text) if not says_little(token))
