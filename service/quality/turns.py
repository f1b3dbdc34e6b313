"""Owns the check of what is said: which turns are checked, by what they are judged, and how one is said anew."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from service.conversation.dependencies import Again, Spoken
from service.conversation.prompt import PromptContext, SharedLine, data
from service.llm.chat import Answer, Role
from service.llm.choose import Models
from service.memory.secrets import discretion_among
from service.quality.checks import Exchange, Standard
from service.quality.improve import improve, row_of
from service.quality.judge import LATELY, CheckContext, Judge, feedback
from service.quality.marks import Marks
from service.quality.sampling import is_sampled
from service.settings import QualitySettings
from service.store.perceived import told_of_turn
from service.store.quality import Checked, Tally
from service.store.tables import ConversationKey

_PARTS = ("think", "act", "talk", "utterance")
"""What of an answer is heard or seen, and may be corrected."""
_LONGEST = 2000
"""More than these may have together."""


class TurnChecks:
    """Checks turns as the settings say (conversation/dependencies.py)."""

    def __init__(self, rules: QualitySettings, models: Models) -> None:
        self._rules = rules
        self._models = models

    def wants(self, key: ConversationKey, turn: int, role: Role) -> bool:
        """Whether that turn is one of those that are checked."""
        return is_sampled(self._rules.of(role), *key, turn)

    async def best(self, spoken: Spoken, first: Answer[Any], again: Again, tally: Tally) -> Checked[Answer[Any]]:
        """What is said instead of, or as, the `first`."""
        work = _Turn(self._models, spoken, again, tally)
        found = await improve(work, first, self._rules)
        row = row_of(
            found,
            lambda answer: _line(answer.value),
            world_id=spoken.key.world_id,
            id=f"{spoken.key.conversation_id}/{spoken.turn}",
            role=spoken.context.speaker.kind,
            person_id=spoken.context.speaker.id,
            conversation_id=spoken.key.conversation_id,
            turn=spoken.turn,
            threshold=self._rules.threshold,
            model=work.judge.name,
            tally=tally,
        )
        return Checked(value=found.value, row=row, tally=tally)


class _Turn:
    """A turn that is being said."""

    def __init__(self, models: Models, spoken: Spoken, again: Again, tally: Tally) -> None:
        self.tally = tally
        self._again = again
        context = spoken.context
        self.judge = Judge(
            model=models.for_role("quality"),
            context=CheckContext(
                language=context.language,
                speaker=context.speaker,
                told=data(spoken.told),
                line="",
                lines=tuple(data(f"{one.speaker_name}: {one.shown}") for one in context.lines if one.shown)[-LATELY:],
            ),
            standard=Standard(
                speaker=context.speaker,
                language=context.language,
                discretion=discretion_among(context.speaker, context.affinities),
                longest=_LONGEST,
            ),
            thread="/".join(spoken.key),
            tally=tally,
        )
        self._before, self._said = _exchanges(context)

    async def marks(self, value: Answer[Any]) -> Marks:
        line = _line(value.value)
        return await self.judge.marks(line, Exchange(self._said, line), self._before)

    async def again(self, value: Answer[Any], reasons: Sequence[str]) -> Answer[Any] | None:
        return await self._again(feedback(replace(self.judge.context, line=_line(value.value)), reasons))

    async def correct(self, value: Answer[Any], reasons: Sequence[str]) -> Answer[Any] | None:
        parts = {name: getattr(value.value, name) for name in _PARTS if name in type(value.value).model_fields}
        changed = await self.judge.corrected("", parts, reasons)
        return replace(value, value=value.value.model_copy(update=changed)) if changed else None


def _line(answer: Any) -> str:
    """What others perceive of it; of what nobody does, what is thought."""
    if "talk" not in type(answer).model_fields:
        return str(answer.utterance).strip()
    return told_of_turn(answer.act.strip(), answer.talk.strip()) or answer.think.strip()


def _exchanges(context: PromptContext) -> tuple[list[Exchange], str]:
    """What the speaker heard and said, time after time, and what it has heard since."""
    before, heard = list[Exchange](), list[str]()
    for line in context.lines:
        if line.speaker_id == context.speaker.id:
            own = told_of_turn(line.act, line.text) if isinstance(line, SharedLine) else line.text
            before.append(Exchange(" ".join(heard), own))
            heard = []
        else:
            heard.append(line.shown)
    return before, " ".join(heard)
