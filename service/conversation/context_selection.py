"""Owns how much of a prompt its speaker's memory may take, what persona, place and talk leave of the context; and what
comes to its mind before a turn: its memory is asked anew for what is being talked of, and what an author wrote,
of it or of its world, by the rarity of the words they share, as in a memory.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from service.content.lore import LoreEntry
from service.content.profile import NpcProfile, Profile
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import PromptContext, PromptRecord, render_record, was_told
from service.llm.chat import estimate_tokens
from service.memory.lexical import (
    FEW,
    asks,
    floor,
    grams,
    is_named,
    jaccard,
    normal,
    query_tokens,
    says_little,
    share,
    telling,
    tokens,
    tokens_a_word,
)
from service.memory.recall import PromptLine, fitting, remembered, within
from service.memory.record import DEFAULT_IMPORTANCE, HeardTurn, Kind, Memory, Recalled
from service.memory.secrets import discretion_among
from service.memory.telling import MemoryKind, Told, in_turn, ref, ref_of, remembered_as, said_of, tell, turns_of
from service.people.worlds import WorldView
from world.time import MINUTES_PER_DAY

LEAST_TOKENS = 100
"""So much memory is told where a persona leaves no room."""
MOST_REMINDED = 300
"""Most tokens for what comes to mind before one turn, however large the context."""

_TALK = 0.1
"""The share of the context that the talk itself takes in its middle."""
_REMINDED = 0.1
"""The share for what comes to mind before one turn."""
_LINE_TOKENS = 20
"""What a line takes beside its words, in attention if not in tokens: without it the shortest would always come first.
"""
BEARS = 3.0
"""How much more a line is worth that bears on the moment; as much as three steps of importance."""
FADES_DAYS = 7
"""In so many world days half of what is worth being new is gone."""
_ALIKE = 0.35
"""Jaccard similarity of trigrams from which two lines of one turn tell the same."""


def context_tokens(deps: ConversationDependencies, world: WorldView, speaker: Profile) -> int:
    """How many tokens a prompt of the speaker may take: as its file says, else its world, else the settings of its
    role.
    """
    role = deps.settings.llm.npc if isinstance(speaker, NpcProfile) else deps.settings.llm.character
    return speaker.context_tokens or world.context_tokens or role.context_tokens or deps.settings.llm.context_tokens


def reminded_tokens(context_tokens: int) -> int:
    """Most tokens for what comes to mind before one turn: 300 of 3,000, 100 of 1,000."""
    return min(MOST_REMINDED, int(_REMINDED * context_tokens))


_NO_LINE = PromptLine("")


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Something that a speaker's context may tell: in which `section` (a field of PromptContext, or the id of somebody
    who is there besides the partner), what it is `worth`, and of what it tells: an `item` of its memory, or a `line`.
    """

    section: str
    worth: float
    line: PromptLine = _NO_LINE
    item: Recalled | None = None


def remembered_as_worth(world: WorldView, section: str, found: Iterable[Recalled], more: float = 0) -> list[Candidate]:
    """What was found in its memory, by how much it matters and how new it is, and `more`."""

    def worth(one: Recalled) -> float:
        age = (world.now - one.item.known_from) / MINUTES_PER_DAY
        importance = one.item.importance if isinstance(one.item, Memory) else DEFAULT_IMPORTANCE - 1
        return float(importance + 2 * 0.5 ** (age / FADES_DAYS) + more)

    return [Candidate(section=section, worth=worth(one), item=one) for one in found]


def past_candidates(world: WorldView, found: Iterable[Recalled]) -> list[Candidate]:
    """Lines of a given past, as far as everything else leaves room: the more a line tells, and the newer it is; and
    what its owner has said, above all in answer, for who is asked again is to say the same.
    """
    given = [(one, one.item) for one in found if isinstance(one.item, HeardTurn) and one.item.given]
    given.sort(key=lambda both: (both[1].known_from, both[1].id), reverse=True)  # of equal worth the newest first
    last, oldest = (given[0][1].known_from, given[-1][1].known_from) if given else (0, 0)
    asked = {(one.conversation_id, one.turn + 1) for _, one in given if _is_partners(one) and asks(one.text)}

    def worth(one: HeardTurn) -> float:
        is_own = not _is_partners(one)
        answers = is_own and (one.conversation_id, one.turn) in asked
        newer = 1.0 if answers else (one.known_from - oldest) / max(1, last - oldest)
        form = _QUESTION if asks(one.text) else 1.0
        own = (_OWN if is_own else 1.0) * (_ANSWER if answers else 1.0)
        return _PAST * (1 + newer) * (estimate_tokens(one.text) + _LINE_TOKENS) * form * own

    return [Candidate(section="past", worth=worth(turn), item=one) for one, turn in given]


def _is_partners(one: HeardTurn) -> bool:
    return one.speaker_id == one.partner_id


_PAST = 0.02
"""What a token of a past that was given is worth: less than of anything else."""
_QUESTION, _OWN, _ANSWER = 0.25, 1.4, 1.5
"""How much more a line of it is worth that only asks, that its owner said, and besides answers what it was asked."""


def fitted(
    world: WorldView, context: PromptContext, candidates: Iterable[Candidate], tokens: int
) -> tuple[PromptContext, tuple[str, ...]]:
    """The context, which holds none of the candidates yet, with those that are worth most a token as long as there is
    room in a prompt of so many tokens; and references to what they tell. What does not fit is passed over, and what the
    context tells already.
    """
    record = render_record(context)
    taken = estimate_tokens(record.system) + estimate_tokens(record.context)
    room = max(LEAST_TOKENS, int((1 - _TALK) * tokens) - reminded_tokens(tokens) - taken)
    owner_id, told = context.speaker.id, [normal(record.system), normal(record.context)]
    sections, facts = dict[str, list[Candidate]](), list[str]()
    turns = dict[str, list[frozenset[str]]]()

    def told_alone(one: Candidate) -> str:
        if one.item is None or one.section == "past":
            return one.line.text if one.item is None else one.item.item.text
        return remembered_as(world, one.item, owner_id)

    costs = [(one, estimate_tokens(told_alone(one))) for one in candidates]
    for one, cost in sorted(costs, key=lambda both: -both[0].worth / (both[1] + _LINE_TOKENS)):
        text = one.line.text if one.item is None else one.item.item.text
        said, shape = said_of(text), grams(text, 3)
        sources = () if one.item is None else turns_of(one.item.item)
        if cost > room or any(said in each for each in told) or any(each in said for each in facts):
            continue
        if any(jaccard(shape, other) >= _ALIKE for turn in sources for other in turns.get(turn, ())):
            continue
        room -= cost
        told.append(said)
        if one.item is not None and one.item.beside is not None:
            answer = said_of(one.item.beside.text)
            if any(answer in each for each in told):
                one = replace(one, item=replace(one.item, beside=None))
            told.append(answer)
        facts += [said] * (one.item is not None)
        for turn in sources:
            turns.setdefault(turn, []).append(shape)
        sections.setdefault(one.section, []).append(one)
    shown = {name: _shown(world, owner_id, chosen) for name, chosen in sections.items()}
    lines = {name: told.lines for name, told in shown.items()}
    others = tuple(replace(one, known=lines.pop(one.person_id, ())) for one in context.others)
    refs = dict.fromkeys(ref for told in shown.values() for ref in told.refs)
    return replace(context, others=others, **cast("dict[str, Any]", lines)), tuple(refs)


def _shown(world: WorldView, owner_id: str, chosen: Sequence[Candidate]) -> Told:
    """The chosen of one section: what the world's days brought in its order, the rest with what is worth most first."""
    found = [one.item for one in chosen if one.item is not None]
    if chosen[0].section == "past":
        turns = sorted((one.item for one in found if isinstance(one.item, HeardTurn)), key=lambda one: (one.at, one.id))
        return Told(lines=tuple(in_turn(world, turns, owner_id)), refs=tuple(map(ref_of, turns)))
    items = tell(world, owner_id, found, tokens=_ALL)
    lines = [one.line for one in chosen if one.item is None]
    return Told(
        lines=(*items.lines, *(one.text for one in lines)), refs=(*items.refs, *(one.ref for one in lines if one.ref))
    )


_ALL = 1_000_000


SAYS_WHAT = 4
"""So many telling words of the last line say what is talked of; with fewer ("When?") the line before says it too."""
MOST_FOUND = 20
"""So many memories are looked at for the block; the shorter ones that fit are told."""
MOST_TOLD = 4
"""So many of them, the best, are told at most, of which the prompt may hold some already: further ones seldom bear."""
NEAR_BEST = 0.5
"""What scores less than that share of the best is left out, though there is room, for the same reason."""
AUTHORED_SHARE = 2
"""One part in so many of the block at most is for what an author wrote."""


async def reminded_of(
    deps: ConversationDependencies, met: WorldView, context: PromptContext, record: PromptRecord, *, by_human: bool
) -> Told:
    """What the last lines remind the speaker of: of whoever is spoken of, of itself, of lore, and of what it remembered
    when the two `met`, best first, without what its prompt holds already.

    It is asked before every turn and told with this one alone: the next turn has a block of its own. `by_human`: a
    human has spoken, and the embedder is asked too, which takes some 20 ms; else all is found by words, at once.
    """
    said = [line.text for line in context.lines[-2:]]
    words = [token for token in query_tokens(" ".join(said[-1:])) if not says_little(token)]
    query = " ".join(said[-1:] if len(words) >= SAYS_WHAT * tokens_a_word(words) else said)
    query = " ".join((query, *(one.name for one in context.newcomers)))
    if not query.strip():
        return Told()
    owner_id = context.speaker.id
    room = reminded_tokens(context_tokens(deps, met, context.speaker))
    found = await remembered(deps.memory, met, owner_id, query, limit=MOST_FOUND, kinds=set(Kind), at_hand=not by_human)
    keeps = discretion_among(context.speaker, context.affinities).apart(met, owner_id, context.affinities)
    notes = [line.note for line in context.lines if line.speaker_id == owner_id]
    own = (*spoken_of(met, context.speaker, query, context.affinities), *bearing_persona(met, context.speaker, query))
    written = (*map(PromptLine, own), *brought_to_mind(met, owner_id, query))
    untold = (one for one in written if not was_told(record, notes, one.text))
    authored = fitting(untold, room // AUTHORED_SHARE)
    room -= sum(map(estimate_tokens, authored.lines))
    told = (record.system, record.context, *notes, *authored.lines, *(line.text for line in context.lines))
    best = islice(worth_a_line(keeps.known(found, met), NEAR_BEST), MOST_TOLD)
    recalled = tell(met, owner_id, best, tokens=room, told=told)
    return Told(lines=(*authored.lines, *recalled.lines), refs=(*authored.refs, *recalled.refs))


def worth_a_line(found: Sequence[Recalled], near_best: float = 0) -> Iterator[Recalled]:
    """Without the turns of a talk of which memories were kept: those say what mattered in it. One may stand for how it
    was said, where it bears on the moment. And without what answers less well than that share of the best.
    """
    is_quoted, best = False, max((one.score for one in found), default=0.0)
    for one in (each for each in found if not near_best or each.score >= near_best * best):
        if isinstance(one.item, HeardTurn) and one.item.retold:
            if is_quoted or not one.bears:
                continue
            is_quoted = True
        yield one


def bearing(query: str, texts: Sequence[str], weights: Sequence[float] = ()) -> list[int]:
    """The places of the texts that bear on the query, best first. `weights`, where they are given, are what the shared
    words of each are worth: 1 unless it matters more or less than others.
    """
    if not texts:
        return []
    wanted, total = [token for token in query_tokens(query) if not says_little(token)], max(len(texts), FEW)
    holding = {token: sum(token in _tokens_of(text) for text in texts) for token in wanted}
    rarity = {token: math.log1p((total - count + 0.5) / (count + 0.5)) for token, count in holding.items()}
    least = floor(sum(rarity.values()), len(texts))
    scores = [sum(rarity[token] for token in rarity.keys() & _tokens_of(text)) for text in texts]
    if weights:
        scores = [score * weight for score, weight in zip(scores, weights, strict=True)]
    places = sorted(range(len(texts)), key=lambda place: -scores[place])
    return [place for place in places if scores[place] and scores[place] >= least]


@lru_cache(maxsize=10_000)
def _tokens_of(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


PERSONA_TOKENS = 600
"""Most tokens, by `estimate_tokens`, for a persona outside of a talk: in a letter, or a survey."""
VOICE = 2
"""So many of its lines show in each of its prompts how a person sounds; the others are told as what it knows."""
_SAID_ALREADY = 0.5
"""Share of a fact's telling words from which a line says no more than the fact."""
_USUAL = 5
"""How much something matters of which its author does not say it."""


def relation_of(world: WorldView, profile: Profile, other_id: str) -> str:
    """What the other is to the person, as its author wrote; "": nothing was written."""
    told = (line.text for line in profile.persona if line.person == other_id)
    return next((world.say("persona.relationship", name=world.name_of(other_id), text=one) for one in told), "")


def looks_of(world: WorldView, other_id: str) -> str:
    """What anybody sees of the other; "": nothing was written."""
    seen = world.cast.person(other_id).seen
    return seen and world.say("persona.relationship", name=world.name_of(other_id), text=seen)


def spoken_of(world: WorldView, profile: Profile, query: str, present: Collection[str]) -> list[str]:
    """What each is to the person whom the query names, and who is not present."""
    others = (line.person for line in profile.persona if line.person is not None and line.person not in present)
    return [relation_of(world, profile, one) for one in others if is_named(world.name_of(one), query)]


def _persona(world: WorldView, profile: Profile) -> list[tuple[str, str, float]]:
    """What of the person may be told beside what always is: the words by which it is found, how it is told, and what it
    is worth.
    """
    lines = [(one.text, one.told, float(one.weight)) for one in profile.persona if one.person is None]
    facts = [telling(one) for one in profile.facts]
    sayings = (one for one in profile.lines[VOICE:] if not any(share(fact, one) >= _SAID_ALREADY for fact in facts))
    return [*lines, *((one, world.say("persona.saying", text=one), _USUAL - 1.0) for one in sayings)]


def bearing_persona(world: WorldView, profile: Profile, query: str) -> list[str]:
    """What of it bears on the query, best first: the more it matters, the sooner."""
    lines = _persona(world, profile)
    found = bearing(query, [text for text, _, _ in lines], [worth / _USUAL for _, _, worth in lines])
    return [lines[place][1] for place in found]


def persona_candidates(world: WorldView, profile: Profile, query: str, present: Collection[str]) -> list[Candidate]:
    """All of it for a context, what those are to the person whom the query names, and of its lines those that bear."""
    bears = bearing_persona(world, profile, query)
    named = [(line, _USUAL + BEARS) for line in spoken_of(world, profile, query, present)]
    more = [(one.told, float(one.weight)) for one in profile.persona if one.person is None and one.told not in bears]
    lines = [*named, *((told, _USUAL + BEARS) for told in bears), *more]
    return [Candidate(section="persona", worth=worth, line=PromptLine(told)) for told, worth in lines]


def persona_told(world: WorldView, profile: Profile, query: str, present: Collection[str]) -> tuple[str, ...]:
    """As much of it as a prompt outside of a talk has room for: what those present are to the person, then what is
    worth most.
    """
    found = sorted(persona_candidates(world, profile, query, present), key=lambda one: -one.worth)
    related = (relation_of(world, profile, one) for one in present)
    return within([*filter(None, related), *(one.line.text for one in found)], PERSONA_TOKENS)


MOST_LORE = 60
"""So many pieces of lore are weighed for a context."""
LORE_TOKENS = 80
"""Most tokens of a prompt, by `estimate_tokens`, for lore that is always told: the first of it."""


def known_lore(world: WorldView, person_id: str, *, is_always: bool) -> list[LoreEntry]:
    """What the person knows at the moment of `world`, in the order of the files."""
    if not world.cast.lore:
        return []
    character = world.cast.characters.get(person_id)
    lives = character.home if character else world.map.npc_nodes.get(person_id)
    node = world.map.nodes.get(lives) if lives is not None else None
    map_id = node.map_id if node else None
    known = (one for one in world.cast.lore if (one.tell == "always") == is_always)
    return [one for one in known if one.is_known(person_id, map_id, world.flags, world.cast.groups)]


def always_told(world: WorldView, person_id: str) -> Told:
    """The lore that stands in every prompt of the person."""
    return fitting((_line(world, one) for one in known_lore(world, person_id, is_always=True)), LORE_TOKENS)


def brought_to_mind(world: WorldView, person_id: str, query: str) -> list[PromptLine]:
    """The lore that bears on the query, by the rarity of the words they share, as in a memory; best first."""
    known = known_lore(world, person_id, is_always=False)
    lines = [_line(world, one) for one in known]
    return [lines[place] for place in bearing(query, [line.text for line in lines])]


def lore_candidates(world: WorldView, person_id: str, query: str) -> list[Candidate]:
    """What else of lore the person knows, for a context: what bears on the query is worth more."""
    bears = brought_to_mind(world, person_id, query)
    lines = (_line(world, one) for one in known_lore(world, person_id, is_always=False))
    rest = [line for line in lines if line not in bears]
    told = [*((line, _USUAL + BEARS) for line in bears), *((line, _USUAL - 1.0) for line in rest)]
    return [Candidate(section="persona", worth=worth, line=line) for line, worth in told[:MOST_LORE]]


def _line(world: WorldView, one: LoreEntry) -> PromptLine:
    return PromptLine(one.text.of(world.language), ref(MemoryKind.LORE, one.id))
