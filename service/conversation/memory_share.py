"""Owns how much of a prompt its speaker's memory may take: what persona, place and talk leave of the context. Pure."""

from dataclasses import replace
from typing import Any

from service.conversation.context import PromptContext
from service.conversation.prompt import render_record
from service.llm.chat import estimate_tokens
from service.memory.recall import newest_within, within

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


def fitted(context: PromptContext, context_tokens: int) -> PromptContext:
    """The context with no more of what its speaker remembers than there is room for. The last meeting is told whole.
    Then comes what bears most on the moment: what it knows of the partner and of the others who are there, in equal
    shares, what is on its mind and promised, what bears on its goal, what it told of itself, and the day's other talks.
    """
    others = tuple(replace(one, known=()) for one in context.others)
    without: dict[str, Any] = {"known": (), "heard": (), "mid_term": (), "learned": (), "today": (), "others": others}
    record = render_record(replace(context, **without))
    taken = estimate_tokens(record.system) + estimate_tokens(record.context)
    room = max(LEAST_TOKENS, int((1 - _TALK) * context_tokens) - reminded_tokens(context_tokens) - taken)
    known = within(context.known, room)
    room -= _tokens(known)
    others = tuple(replace(one, known=within(one.known, room // max(1, len(others)))) for one in context.others)
    room -= sum(_tokens(one.known) for one in others)
    mid_term = newest_within(context.mid_term, room)
    room -= _tokens(mid_term)
    heard = within(context.heard, room)
    room -= _tokens(heard)
    learned = within(context.learned, room)
    room -= _tokens(learned)
    today = newest_within(context.today, room)
    return replace(context, known=known, others=others, mid_term=mid_term, heard=heard, learned=learned, today=today)


def _tokens(told: tuple[str, ...]) -> int:
    return sum(map(estimate_tokens, told))
