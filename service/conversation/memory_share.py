"""Owns how much of a prompt its speaker's memory may take: what persona, place and talk leave of it. Pure."""

import re
from dataclasses import replace
from typing import Any

from service.conversation.context import PromptContext
from service.conversation.prompt import Record, render_record, speaker_prompt
from service.llm.chat import estimate_tokens, prompt_tokens
from service.memory.recall import newest_within, within

TURN_TOKENS = 900
"""What a prompt is to take, by `estimate_tokens`."""
TALK_TOKENS = 160
"""What of this the talk itself takes in its middle."""
LEAST_TOKENS = 100
"""So much memory is told where a persona leaves no room."""

_SENTENCE = re.compile(r".+?(?:。|[.!?！？][\"”]?(?:\s+|$)|$)", re.DOTALL)


def fitted(context: PromptContext) -> PromptContext:
    """The context with no more of what its speaker remembers than there is room for. First comes what bears most on the
    moment: the last meeting, in at most half of the room, then what it knows of the partner, of the others who are
    there, in equal shares, what bears on its goal, what it told of itself, and the day's other talks.
    """
    last = context.last_meeting
    others = tuple(replace(one, known=()) for one in context.others)
    without: dict[str, Any] = {"known": (), "heard": (), "learned": (), "today": (), "others": others}
    bare = replace(context, **without, last_meeting=last and replace(last, summary=""))
    record = render_record(bare)
    taken = estimate_tokens(record.system) + estimate_tokens(record.context)
    room = max(LEAST_TOKENS, TURN_TOKENS - TALK_TOKENS - taken)
    if last is not None:
        last = replace(last, summary=_shortened(last.summary, room // 2))
        room -= estimate_tokens(last.summary)
    known = within(context.known, room)
    room -= _tokens(known)
    others = tuple(replace(one, known=within(one.known, room // max(1, len(others)))) for one in context.others)
    room -= sum(_tokens(one.known) for one in others)
    heard = within(context.heard, room)
    room -= _tokens(heard)
    learned = newest_within(context.learned, room)
    room -= _tokens(learned)
    today = newest_within(context.today, room)
    return replace(context, last_meeting=last, known=known, others=others, heard=heard, learned=learned, today=today)


def room_left(context: PromptContext, record: Record) -> int:
    """How much more the speaker may be told before its next turn; negative where its prompt takes more already."""
    return TURN_TOKENS - prompt_tokens(speaker_prompt(context, record, "").messages)


def _tokens(told: tuple[str, ...]) -> int:
    return sum(map(estimate_tokens, told))


def _shortened(summary: str, tokens: int) -> str:
    """Its first sentences, one at least."""
    first, *more = _sentences(summary) or [""]
    return "".join((first, *within(more, tokens - estimate_tokens(first)))).strip()


def _sentences(text: str) -> list[str]:
    """The sentences of a text, with the white space behind them; who is quoted is not cut off."""
    found, part = list[str](), ""
    for piece in _SENTENCE.findall(text):
        part += piece
        if part.count('"') % 2 == 0 and part.count("「") == part.count("」"):
            found.append(part)
            part = ""
    return [*found, part] if part else found
