"""Owns what is answered without a model to who asks many: by chance where there is a choice, in authored words; and of
a memory what shares its words with the question.
"""

import random

from pydantic import BaseModel

from service.conversation.asking import ScanContext, ScanPart, ScanSentence, Shown, SurveyContext, answer_of
from service.conversation.context import PromptContext
from service.conversation.relevance import bearing
from service.offline.phrases import clip, phrases
from service.offline.speaker import Speaker

_LONGEST = 200
_MOST = 10


def answer_survey(context: SurveyContext, rng: random.Random) -> BaseModel:
    """The answer; the same context and generator state make the same."""
    moment = PromptContext(
        language=context.language,
        speaker=context.person,
        begins=True,
        partner_id="",
        partner_name="",
        place="",
        now=context.now,
        mood=context.mood,
    )
    speaker, form = Speaker(moment, rng), context.form
    rests_on = [one.ref for one in _bearing(context)[:1]]
    own = speaker.tell(context.question) or context.person.personality or context.person.name
    why = clip(own, _LONGEST, speaker.phrases)
    answer: str | float = rng.choice(form.choices) if form.choices else why
    if form.least is not None and form.most is not None:
        answer = min(max(round(rng.uniform(form.least, form.most)), form.least), form.most)
    return answer_of(form).model_validate({"rests_on": rests_on, "because": why, "answer": answer})


def scan(context: ScanContext, rng: random.Random) -> ScanPart:
    """The lines that bear on the question, as they stand. Nothing is left to chance: `rng` is not drawn from."""
    words = phrases(context.language)
    told = context.shown if context.merging else _bearing(context)
    return ScanPart(
        sentences=[ScanSentence(text=clip(one.text, _LONGEST, words), rests_on=[one.ref]) for one in told[:_MOST]]
    )


def _bearing(context: SurveyContext | ScanContext) -> list[Shown]:
    """What of that which is shown bears on the question, best first."""
    return [context.shown[place] for place in bearing(context.question, [one.text for one in context.shown])]
