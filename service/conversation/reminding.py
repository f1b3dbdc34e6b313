"""Owns what comes to a speaker's mind before a turn: its memory is asked anew for what is being talked of."""

from collections.abc import Sequence

from service.conversation.context import PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.memory_share import reminded_tokens
from service.conversation.prompt import Record, was_told
from service.conversation.relevance import brought_to_mind, told_of_persona
from service.llm.chat import estimate_tokens
from service.memory.lexical import query_tokens, says_little, tokens_a_word
from service.memory.recall import Line, fitting, remembered
from service.memory.record import Kind
from service.memory.secrets import discretion_among
from service.memory.telling import Told, tell
from service.people.worlds import WorldView

SAYS_WHAT = 4
"""So many telling words of the last line say what is talked of; with fewer ("When?") the line before says it too."""
MOST_FOUND = 20
"""So many memories are looked at for the block; the shorter ones that fit are told."""
AUTHORED_SHARE = 3
"""One part in so many of the block is for what an author wrote."""


async def reminded_of(deps: ConversationDependencies, met: WorldView, context: PromptContext, record: Record) -> Told:
    """What the last lines remind the speaker of: of itself, of lore, and of what it remembered when the two `met`, best
    first, without what its prompt holds already.

    It is asked before every turn and told with this one alone: the next turn has a block of its own. No model, store
    or embedder is asked.
    """
    query = _talked_of([line.text for line in context.lines])
    if not query.strip():
        return Told()
    room, owner_id = reminded_tokens(deps.settings.llm.context_tokens), context.speaker.id
    found = await remembered(deps.memory, met, owner_id, query, limit=MOST_FOUND, kinds=set(Kind), at_hand=True)
    keeps = discretion_among(context.speaker, context.affinities).apart(met, owner_id, context.affinities)
    notes = [line.note for line in context.lines if line.speaker_id == owner_id]
    own = map(Line, told_of_persona(met, context.speaker, query, context.affinities))
    untold = (one for one in (*own, *brought_to_mind(met, owner_id, query)) if not was_told(record, notes, one.text))
    authored = fitting(untold, room // AUTHORED_SHARE)
    room -= sum(map(estimate_tokens, authored.lines))
    told = (record.system, record.context, *notes, *authored.lines, *(line.text for line in context.lines))
    recalled = tell(met, owner_id, keeps.known(found, met), tokens=room, told=told)
    return Told(lines=(*authored.lines, *recalled.lines), refs=(*authored.refs, *recalled.refs))


def _talked_of(said: Sequence[str]) -> str:
    """The last line, and the one before where the last says little by itself."""
    telling = [token for token in query_tokens(" ".join(said[-1:])) if not says_little(token)]
    return " ".join(said[-1:] if len(telling) >= SAYS_WHAT * tokens_a_word(telling) else said[-2:])
