"""Owns what is written without a model: authored lines and facts, what the writer remembers, and its day."""

import random

from service.conversation.context import PromptContext
from service.conversation.writing import WriteContext, WrittenText
from service.offline.phrases import clip, phrases
from service.offline.speaker import Speaker

_LONGEST_BARK = 120


def write(context: WriteContext, rng: random.Random) -> WrittenText:
    """The text; the same context and generator state make the same."""
    forms = {"bark": _bark, "letter": _letter, "diary": _diary}
    return WrittenText(text=forms[context.form](context, rng))


def _writer(context: WriteContext, rng: random.Random) -> Speaker:
    moment = PromptContext(
        language=context.language,
        speaker=context.writer,
        begins=True,
        partner_id=context.to_id,
        partner_name=context.to_name,
        place=context.place,
        now=context.now,
        secrets=context.secrets,
        mood=context.mood,
        affinity=context.affinity,
    )
    return Speaker(moment, rng)


def _bark(context: WriteContext, rng: random.Random) -> str:
    """An authored line or fact that fits, or what is remembered of it."""
    writer = _writer(context, rng)
    known = context.known[0] if context.about and context.known else ""
    return clip(writer.utter([known or writer.tell(context.about)]), _LONGEST_BARK, writer.phrases)


def _letter(context: WriteContext, rng: random.Random) -> str:
    writer = _writer(context, rng)
    words = writer.phrases
    told = [words.only("letter.memory", memory=one) for one in context.known[:2]]
    if not told and context.last_meeting:
        told = [words.only("letter.memory", memory=context.last_meeting)]
    dear, close = words.only("letter.dear", name=context.to_name), words.only("letter.close")
    return "\n".join(filter(None, [dear, *told, writer.tell(context.about), close, context.writer.name]))


def _diary(context: WriteContext, rng: random.Random) -> str:
    words = phrases(context.language)
    lines = [*context.did, *context.talks, *context.mid_term]
    return "\n".join([context.now, *(lines or [words.only("letter.quiet")])])
