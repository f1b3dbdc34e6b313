"""Owns how much of a prompt its speaker's memory may take, what persona, place and talk leave of the context; and what
comes to its mind before a turn: its memory is asked anew for what is being talked of, and what an author wrote,
of it or of its world, by the rarity of the words they share, as in a memory.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from service.content.lore import Lore
from service.content.profile import Profile
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import PromptContext, Record, render_record, was_told
from service.llm.chat import estimate_tokens
from service.memory.lexical import query_tokens, says_little, tokens, tokens_a_word
from service.memory.ranking import FEW, floor
from service.memory.recall import Line, fitting, remembered, within
from service.memory.record import Kind, Recalled
from service.memory.secrets import discretion_among
from service.memory.telling import MemoryKind, Told, ref, tell
from service.people.worlds import WorldView

KNOWN_TOKENS = 100
"""Most tokens, by `estimate_tokens`, for what a speaker remembers of its partner in a small context; see `scaled`."""
OTHERS_TOKENS = 90
"""The same for what it remembers of those who are there besides its partner, all together."""
HEARD_TOKENS = 80
"""The same for what it remembers of others that bears on its goal."""
LEARNED_TOKENS = 80
"""The same for what it told about itself before: what bears on the moment, then the newest of it."""
TODAY_TOKENS = 120
"""The same for the day's conversations with others: the newest of them."""
SMALL_CONTEXT = 900
"""The context, in tokens, for which the shares of its sections are written down; they grow with it."""
LEAST_TOKENS = 100
"""So much memory is told where a persona leaves no room."""
MOST_REMINDED = 300
"""Most tokens for what comes to mind before one turn, however large the context."""

_TALK = 0.2
"""The share of the context that the talk itself takes in its middle."""
_REMINDED = 0.1
"""The share for what comes to mind before one turn."""


def scaled(tokens: int, context_tokens: int) -> int:
    """What a section of so many tokens in a small context may take in one of `context_tokens`."""
    return tokens * context_tokens // SMALL_CONTEXT


def reminded_tokens(context_tokens: int) -> int:
    """Most tokens for what comes to mind before one turn: 300 of 3,000, 100 of 1,000."""
    return min(MOST_REMINDED, int(_REMINDED * context_tokens))


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a speaker remembers when two meet, by the section of its context where it may stand, what matters most
    first. `others` is what it remembers of those who are there besides the partner, by their ids.
    """

    known: Sequence[Recalled] = ()
    others: Mapping[str, Sequence[Recalled]] = field(default_factory=dict)
    mid_term: Sequence[Line] = ()
    heard: Sequence[Recalled] = ()
    lore: Sequence[Line] = ()
    learned: Sequence[Line] = ()
    today: Sequence[Line] = ()


def fitted(
    world: WorldView, context: PromptContext, found: Found, context_tokens: int
) -> tuple[PromptContext, tuple[str, ...]]:
    """The context, which holds nothing of that yet, with as much of what was found as there is room for; and references
    to what it tells. The last meeting is told whole. Then comes what bears most on the moment: what it knows of the
    partner and of the others who are there, in equal shares, what is on its mind and promised, what bears on its goal,
    what it told of itself, and the day's other talks. Nothing is told twice.
    """
    record = render_record(context)
    taken = estimate_tokens(record.system) + estimate_tokens(record.context)
    room = max(LEAST_TOKENS, int((1 - _TALK) * context_tokens) - reminded_tokens(context_tokens) - taken)
    share = _Share(world, context, room)
    known = share.tell(found.known, scaled(KNOWN_TOKENS, context_tokens))
    of_each = min(scaled(OTHERS_TOKENS, context_tokens), share.room) // max(1, len(context.others))
    others = tuple(
        replace(one, known=share.tell(found.others.get(one.person_id, ()), of_each)) for one in context.others
    )
    mid_term = share.fit(found.mid_term, share.room)
    heard = share.tell(found.heard, scaled(HEARD_TOKENS, context_tokens))
    heard += share.fit(found.lore, scaled(HEARD_TOKENS, context_tokens) - _tokens(heard))
    learned = share.fit(found.learned, scaled(LEARNED_TOKENS, context_tokens))
    today = share.fit(found.today, scaled(TODAY_TOKENS, context_tokens))
    told = replace(
        context,
        known=known,
        others=others,
        mid_term=mid_term[::-1],
        heard=heard,
        learned=learned,
        today=today[::-1],
    )
    return told, tuple(share.refs)


class _Share:
    """How much room is left, what the context tells by now, and what that refers to."""

    def __init__(self, world: WorldView, context: PromptContext, room: int) -> None:
        self._world, self._owner_id = world, context.speaker.id
        self.room = room
        self.refs: list[str] = []
        last = (context.last_meeting.summary,) if context.last_meeting else ()
        own = (*context.speaker.identity, *context.speaker.facts, *context.persona, *context.secrets)
        unsettled = (line.text for line in context.unsettled)
        self._told = [*last, *filter(None, (context.scene_before,)), *context.lore, *own, *unsettled]

    def tell(self, found: Iterable[Recalled], most: int) -> tuple[str, ...]:
        return self._take(tell(self._world, self._owner_id, found, tokens=min(most, self.room), told=self._told))

    def fit(self, lines: Iterable[Line], most: int) -> tuple[str, ...]:
        return self._take(fitting(lines, min(most, self.room), self._told))

    def _take(self, told: Told) -> tuple[str, ...]:
        self.room -= _tokens(told.lines)
        self._told += told.lines
        self.refs += told.refs
        return told.lines


def _tokens(told: Iterable[str]) -> int:
    return sum(map(estimate_tokens, told))


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


def bearing(query: str, texts: Sequence[str], weights: Sequence[float] = ()) -> list[int]:
    """The places of the texts that bear on the query, best first. `weights`, where they are given, are what the shared
    words of each are worth: 1 unless it matters more or less than others.
    """
    if not texts:
        return []
    rarity = _rarity(texts, [token for token in query_tokens(query) if not says_little(token)])
    least = floor(sum(rarity.values()), len(texts))
    scores = [sum(rarity[token] for token in rarity.keys() & _words(text)) for text in texts]
    if weights:
        scores = [score * weight for score, weight in zip(scores, weights, strict=True)]
    places = sorted(range(len(texts)), key=lambda place: -scores[place])
    return [place for place in places if scores[place] and scores[place] >= least]


def _rarity(texts: Sequence[str], wanted: Sequence[str]) -> dict[str, float]:
    total = max(len(texts), FEW)
    holding = {token: sum(token in _words(text) for text in texts) for token in wanted}
    return {token: math.log1p((total - count + 0.5) / (count + 0.5)) for token, count in holding.items()}


@lru_cache(maxsize=10_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


PERSONA_TOKENS = 60
"""Most tokens of a prompt, by `estimate_tokens`, for what of its persona bears on the moment."""

_USUAL = 5
"""How much something matters of which its author does not say it."""


def told_of_persona(world: WorldView, profile: Profile, query: str, present: Collection[str]) -> list[str]:
    """What each of those present is to the person; then what of its persona bears on the query, best first: the more it
    matters, the sooner.
    """
    others = [
        world.say("persona.relationship", name=world.name_of(line.person), text=line.text)
        for line in profile.persona
        if line.person is not None and line.person in present
    ]
    lines = [line for line in profile.persona if line.person is None]
    found = bearing(query, [line.text for line in lines], [line.weight / _USUAL for line in lines])
    return [*others, *(lines[place].told for place in found)]


def persona_told(world: WorldView, profile: Profile, query: str, present: Collection[str]) -> tuple[str, ...]:
    """As much of it as a prompt has room for."""
    return within(told_of_persona(world, profile, query, present), PERSONA_TOKENS)


LORE_TOKENS = 80
"""Most tokens of a prompt, by `estimate_tokens`, for lore that is always told: the first of it."""


def known_lore(world: WorldView, person_id: str, *, is_always: bool) -> list[Lore]:
    """What the person knows at the moment of `world`, in the order of the files."""
    if not world.cast.lore:
        return []
    character = world.cast.characters.get(person_id)
    lives = character.home if character else world.map.npc_nodes.get(person_id)
    node = world.map.nodes.get(lives) if lives is not None else None
    map_id = node.map_id if node else None
    known = (one for one in world.cast.lore if one.is_always == is_always)
    return [one for one in known if one.is_known(person_id, map_id, world.flags)]


def always_told(world: WorldView, person_id: str) -> Told:
    """The lore that stands in every prompt of the person."""
    return fitting(map(_line, known_lore(world, person_id, is_always=True)), LORE_TOKENS)


def brought_to_mind(world: WorldView, person_id: str, query: str) -> list[Line]:
    """The lore that bears on the query, by the rarity of the words they share, as in a memory; best first."""
    known = known_lore(world, person_id, is_always=False)
    return [_line(known[place]) for place in bearing(query, [one.text for one in known])]


def _line(one: Lore) -> Line:
    return Line(one.text, ref(MemoryKind.LORE, one.id))
