"""Owns what comes to a speaker's mind before a turn: its memory is asked anew for what is being talked of."""

from collections.abc import Sequence

from service.conversation.context import PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.lore import brought_to_mind, lore_told
from service.conversation.memory_share import reminded_tokens
from service.conversation.persona import told_of_persona
from service.conversation.prompt import Record, was_told
from service.conversation.relevance import bearing
from service.memory.lexical import query_tokens, says_little, tokens_a_word
from service.memory.recall import new_lines, remembered, within
from service.memory.refs import refs_told
from service.memory.secrets import discretion_among
from service.memory.record import Kind
from service.people.worlds import WorldView

SAYS_WHAT = 4
"""So many telling words of the last line say what is talked of; with fewer ("When?") the line before says it too."""
MOST_FOUND = 20
"""So many memories are looked at for the block; the shorter ones that fit are told."""
AUTHORED_SHARE = 3
"""One part in so many of the block is for what an author wrote, and for what the speaker told of itself."""


async def reminded_of(
    deps: ConversationDependencies, met: WorldView, context: PromptContext, record: Record
) -> tuple[tuple[str, ...], list[str]]:
    """What the last lines remind the speaker of: of itself, of lore, and of what it remembered when the two `met`, best
    first, without what its prompt holds already. The lines, and what they refer to.

    It is asked before every turn and told with this one alone: the next turn has a block of its own. No model, store
    or embedder is asked.
    """
    query = _talked_of([line.text for line in context.lines])
    if not query.strip():
        return (), []
    room = reminded_tokens(deps.settings.llm.context_tokens)
    kinds = set(Kind)
    found = await remembered(deps.memory, met, context.speaker.id, query, limit=MOST_FOUND, kinds=kinds, at_hand=True)
    keeps = discretion_among(context.speaker, context.affinities).apart(met, context.speaker.id, context.affinities)
    found = keeps.known(found, met)
    notes = [line.note for line in context.lines if line.speaker_id == context.speaker.id]
    own = told_of_persona(met, context.speaker, query, context.affinities)
    has_told = [text for text in context.has_told if keeps.lets(text)]  # somebody may have come since they met
    told_before = [has_told[place] for place in bearing(query, has_told)]
    authored = (*own, *brought_to_mind(met, context.speaker.id, query), *told_before)
    untold = within((text for text in authored if not was_told(record, notes, text)), room // AUTHORED_SHARE)
    told = (record.system, record.context, *notes, *untold, *(line.text for line in context.lines))
    reminded = within([*untold, *new_lines(met, found, told)], room)
    return reminded, [*refs_told(met, found, reminded), *lore_told(met, reminded)]


def _talked_of(said: Sequence[str]) -> str:
    """The last line, and the one before where the last says little by itself."""
    telling = [token for token in query_tokens(" ".join(said[-1:])) if not says_little(token)]
    return " ".join(said[-1:] if len(telling) >= SAYS_WHAT * tokens_a_word(telling) else said[-2:])
