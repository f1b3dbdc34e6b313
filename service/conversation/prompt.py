"""Owns a speaker's prompt and what it answers. The prompt is a record: what was sent once is sent again, letter by
letter. Beside it is kept which memories stood in it, and how the speaker stood to the partner: a few hundred bytes that
stay when the text is gone.

The system message is authored text alone. The first user message is the context as it was when the two met, and the
goal or the partner's first line. Whatever comes later is a note before the turn it came with. So each prompt begins
with the one before, but for its last block: what comes to mind is told anew before each turn, and stands last.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from service.content.fields import MARKUP
from service.content.profile import Emotion, Mood
from service.conversation.acting import acting, scene_turn, suggesting
from service.conversation.context import Goal, Line, PromptContext
from service.llm.chat import Message, Prompt, PromptValues, Role, T, Templates
from service.memory.recall import RecentMemory
from service.memory.telling import MemoryKind, ref, turn_ref
from service.store.tables import ConversationKey, PromptRow


class Knowledge(BaseModel, frozen=True):
    """What the context of a prompt held, as it was when the two met. `memories` are references (memory/telling.py).

    `affinity` (-100..100), `stance` and `times_met` are the speaker's towards the partner.
    """

    memories: tuple[str, ...] = ()
    affinity: int = 0
    """how it liked the other, -100..100"""
    stance: str = ""
    """in words, in the world's language; empty: nothing had formed yet"""
    times_met: int = 0
    """how often the two had talked before"""
    mood: Mood = "neutral"

    def stored(self) -> dict[str, Any]:
        """As its row keeps it: what says nothing is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)


NOTHING_KNOWN = Knowledge()


def knowledge(context: PromptContext, recent: RecentMemory, told: Sequence[str]) -> Knowledge:
    """What stands in the context: what was `told` from memory, by its references, beside the last talk of the two."""
    last = [ref(MemoryKind.TALK, recent.last_summary.conversation_id)] if recent.last_summary else []
    unsettled = (turn_ref(row.conversation_id, row.turn) for row in recent.unsettled)
    return Knowledge(
        memories=tuple(dict.fromkeys((*last, *told, *unsettled))),
        affinity=context.affinity,
        stance=context.stance,
        times_met=context.times_met,
        mood=context.mood,
    )


TEMPLATES = Templates(__file__)
_JSON = json.JSONEncoder(ensure_ascii=False)

Utterance = Annotated[str, Field(min_length=1, max_length=400)]


class NpcTurn(BaseModel, extra="forbid"):
    """What somebody answers who was spoken to. The emotion comes first: it is known when the first words are spoken."""

    emotion: Emotion
    utterance: Utterance
    wants_to_end: bool


class CharacterTurn(NpcTurn):
    """What the opener answers: it knows whether its goal is reached."""

    goal_achieved: bool


class OpeningTurn(BaseModel, extra="forbid"):
    """The opener's first answer when nobody gave it a goal: it sets one, within the guidelines, and speaks."""

    goal: str = Field(min_length=1, max_length=200)
    success_criteria: str = Field(min_length=1, max_length=200)
    emotion: Emotion
    utterance: Utterance
    wants_to_end: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What every prompt of one speaker in one conversation begins with: the system message, and the context. `knew` is
    what stands in it.
    """

    system: str
    context: str
    knew: Knowledge

    def row(self, key: ConversationKey, person_id: str) -> PromptRow:
        """As it is kept."""
        return PromptRow(
            **key._asdict(),
            person_id=person_id,
            system=self.system,
            context=self.context,
            knew=self.knew.stored(),
        )

    @classmethod
    def of(cls, row: PromptRow) -> "Record | None":
        """As it was kept; None: its text was not, for the conversation is closed."""
        if row.system is None or row.context is None:
            return None
        return cls(system=row.system, context=row.context, knew=Knowledge.model_validate(row.knew))


def render_record(context: PromptContext, knew: Knowledge = NOTHING_KNOWN) -> Record:
    """Render what the speaker is told once, before its first turn; it `knew` what stands in it."""
    told = f"<context>\n{data(_render(context, 'context'))}\n</context>"
    opening = _render(context, "opening")
    text = f"{told}\n\n{opening}" if opening else told
    return Record(system=_render(context, "system"), context=text, knew=knew)


def was_told(record: Record, notes: Sequence[str], text: str) -> bool:
    """Whether a speaker whose prompts begin so, and who was shown these notes, was told the text."""
    return any(data(text) in data(block) for block in (record.context, *notes))


def render_note(context: PromptContext) -> str:
    """Render what is new before this turn, and stays in the prompts of later ones; "" mostly."""
    return data(_render(context, "note"))


def render_reminder(context: PromptContext) -> str:
    """Render what comes to the speaker's mind before this turn; the next turn's prompt has its own instead."""
    return data(_render(context, "reminder"))


def answer_of(context: PromptContext) -> type[BaseModel]:
    """What the speaker answers: an `OpeningTurn`, a `CharacterTurn` or an `NpcTurn`; with an `action`, where it was
    told of any; with `choices`, where the client wants them. In a scene a `SceneTurn`.
    """
    if context.part is not None:
        return scene_turn(context.part.names, addresses=context.part.addresses, urges=context.part.urges)
    answer: type[BaseModel] = NpcTurn
    if context.begins:
        answer = OpeningTurn if context.sets_goal and context.goal is None else CharacterTurn
    if context.actions:
        answer = acting(answer, context.can_do)
    return suggesting(answer, context.choices) if context.choices else answer


def speaker_prompt(context: PromptContext, record: Record, note: str, thread: str = "") -> Prompt[Any]:
    """Ask for the next utterance. `thread` says of which conversation."""
    own_goal = context.goal if context.sets_goal else None
    return Prompt(
        name="speaker",
        role=context.speaker.kind,
        language=context.language,
        messages=messages(record, context.lines, context.speaker.id, note, own_goal),
        answer=answer_of(context),
        given=context,
        thread=thread,
    )


def told_prompt(name: str, role: Role, scene: PromptValues, answer: type[T], *, max_tokens: int = 600) -> Prompt[T]:
    """What is asked by the blocks `system`, `context` and `asking` of a template: the second is data, whatever it
    holds.
    """
    system, told, asking = (
        TEMPLATES.render(name, block, scene.language, scene, scene.own_prompts)
        for block in ("system", "context", "asking")
    )
    return Prompt(
        name=name,
        role=role,
        language=scene.language,
        messages=(
            Message(role="system", content=system),
            Message(role="user", content=f"<context>\n{data(told)}\n</context>\n\n{asking}"),
        ),
        answer=answer,
        given=scene,
        max_tokens=max_tokens,
    )


def messages(
    record: Record, lines: Sequence[Line], speaker_id: str, note: str, own_goal: Goal | None = None
) -> tuple[Message, ...]:
    """The prompt for the turn after `lines`, before which the speaker is shown `note`.

    `own_goal`: the one that the opener set itself, in its first answer.
    """
    said = [Message(role="system", content=record.system)]
    heard = [record.context]
    for line in lines:
        if line.speaker_id != speaker_id:
            heard.append(data(line.shown))
            continue
        said.append(_user([*heard, line.note]))
        answer = own_goal.model_dump() if own_goal is not None and line.turn == 0 else {}
        answer |= line.answer
        said.append(Message(role="assistant", content=_JSON.encode(answer)))
        heard = []
    return (*said, _user([*heard, note]))


def _user(parts: Sequence[str]) -> Message:
    return Message(role="user", content="\n\n".join(filter(None, parts)))


def data(text: str) -> str:
    """What somebody said or wrote, which cannot pass for a part of the prompt's frame."""
    return MARKUP.sub("", text)


def _render(context: PromptContext, block: str) -> str:
    return TEMPLATES.render("speaker", block, context.language, context, context.own_prompts)
