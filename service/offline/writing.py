"""Owns what is written or answered without a model outside of talks: authored lines and facts, what is remembered, and
plain marks that say that nobody has judged a line.
"""

import random

from pydantic import BaseModel

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.context_selection import bearing
from service.conversation.prompt import PromptContext
from service.conversation.surveys import (
    AskedContext,
    ScanContext,
    ScanPart,
    ScanSentence,
    Shown,
    SurveyContext,
    answer_of,
)
from service.conversation.writing import AsideContext, AsideText, WriteContext, WrittenText
from service.locales import sentence
from service.offline.phrases import clip, phrases, recollections
from service.offline.speaker import OfflineSpeaker
from service.quality.checks import ASKED, HIGHEST, CheckContext, GivenMarks, corrected

_LONGEST_BARK, _LONGEST = 120, 200
_MOST = 10


def write(context: WriteContext, rng: random.Random) -> WrittenText:
    """The text; the same context and generator state make the same."""
    own, words = _alone(context, context.writer, rng, context.secrets), phrases(context.language)
    known = [one.clause for line in context.known for one in recollections(line, context.language)]
    if context.form == "bark":
        remembered = known[:1] if context.about else ()
        return WrittenText(text=clip(own.utter(remembered or [own.tell(context.about)]), _LONGEST_BARK, words))
    if context.form == "letter":
        told = known[:2] or [one for one in (context.last_meeting,) if one]
        memories = [words.only("letter.memory", memory=one) for one in told]
        dear = words.only("letter.dear", name=context.to_name)
        lines = [dear, *memories, own.tell(context.about), words.only("letter.close"), context.writer.name]
    else:
        day = [*context.did, *context.talks, *context.mid_term]
        lines = [context.now, *(day or [words.only("letter.quiet")])]
    return WrittenText(text="\n".join(filter(None, lines)))


def write_aside(context: AsideContext, rng: random.Random) -> AsideText:
    """The last words that were said, whatever is wanted."""
    return AsideText(utterance=context.lines[-1][1] if context.lines else context.npc_name)


def answer_survey(context: SurveyContext, rng: random.Random) -> BaseModel:
    """By chance where there is a choice, in authored words."""
    person, form = context.person, context.form
    own = _alone(context, person, rng).tell(context.question) or person.personality or person.name
    why = clip(own, _LONGEST, phrases(context.language))
    answer: str | float = rng.choice(form.choices) if form.choices else why
    if form.least is not None and form.most is not None:
        answer = min(max(round(rng.uniform(form.least, form.most)), form.least), form.most)
    told = {"rests_on": [one.ref for one in _bearing(context)[:1]], "because": why, "answer": answer}
    return answer_of(form).model_validate(told)


def scan(context: ScanContext, rng: random.Random) -> ScanPart:
    """The lines that bear on the question, as they stand."""
    told = (context.shown if context.merging else _bearing(context))[:_MOST]
    texts = (clip(one.text, _LONGEST, phrases(context.language)) for one in told)
    return ScanPart(
        sentences=[ScanSentence(text=text, rests_on=[one.ref]) for text, one in zip(texts, told, strict=True)]
    )


def _alone(
    context: WriteContext | SurveyContext,
    person: CharacterProfile | NpcProfile,
    rng: random.Random,
    secrets: tuple[str, ...] = (),
) -> OfflineSpeaker:
    """The person as it speaks to nobody."""
    moment = PromptContext(
        language=context.language,
        speaker=person,
        begins=True,
        partner_id="",
        partner_name=context.to_name if isinstance(context, WriteContext) else "",
        place="",
        now=context.now,
        secrets=secrets,
    )
    return OfflineSpeaker(moment, rng)


def _bearing(context: AskedContext) -> list[Shown]:
    """What of that which is shown bears on the question, best first."""
    return [context.shown[place] for place in bearing(context.question, [one.text for one in context.shown])]


def check(context: CheckContext, rng: random.Random) -> BaseModel:
    """The highest marks, or the parts as they are. Nothing is left to chance: `rng` is not drawn from."""
    if context.parts:
        return corrected(tuple(name for name, _ in context.parts)).model_validate(dict(context.parts))
    mark = {"reason": sentence(context.language, "marks.unjudged"), "score": HIGHEST}
    return GivenMarks.model_validate(dict.fromkeys(ASKED, mark))
