"""Owns a speaker's prompt, and the value it is rendered from: what the speaker knows at that moment. The prompt is a
record: what was sent once is sent again, letter by letter. Beside it is kept which memories stood in it, and how the
speaker stood to the partner: a few hundred bytes that stay when the text is gone.

The system message is authored text alone. The first user message is the context as it was when the two met, and the
goal or the partner's first line. Whatever comes later is a note before the turn it came with. So each prompt begins
with the one before, but for its last block: what comes to mind is told anew before each turn, and stands last.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from service.content.actions import GameAction
from service.content.fields import MARKUP
from service.content.profile import CharacterProfile, Mood, NpcProfile
from service.conversation.acting import CharacterTurn, ChatTurn, NpcTurn, OpeningTurn, acting, scene_turn, suggesting
from service.llm.chat import Message, Prompt, PromptValues, Role, T, Templates
from service.memory.recall import RecentMemory
from service.memory.telling import MemoryKind, ref, turn_ref
from service.people.person import FeltNeed
from service.store.perception import Said
from service.store.phase import CallState, OpenedFor
from service.store.tables import ConversationKey, PromptRow

Nudge = Literal["repeated", "broke_character", "garbled", "foreign", "gave_away", "refused", "go_on"]
"""Why the speaker is asked again: it repeated itself, stepped out of its role, spoke no words or another language, gave
a secret away, or its model refused to answer; or it is to say more.
"""


class Goal(BaseModel, frozen=True, extra="forbid"):
    """What the opener wants of this conversation; small enough for one conversation."""

    goal: str = Field(min_length=1, max_length=200)
    """what it wants, in a sentence"""
    success_criteria: str = Field(min_length=1, max_length=200)
    """how to tell that the goal is reached"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line(Said):
    """One turn as the person who is asked perceived it: what it did not hear or see of it is "". `turn` counts from 0
    within its conversation; `note` is the block its speaker was shown before it, of which the first lines tell what
    happened before those `note_turns`. `told` is how it is told to others, where that is more than the `text`;
    `in_scene`: it was one of a scene.
    """

    note: str = ""
    note_turns: tuple[int, ...] = ()
    told: str = ""
    think: str = ""
    act: str = ""
    emotion: str = "neutral"
    in_scene: bool = False

    @property
    def shown(self) -> str:
        """The line as others are told it."""
        return self.told or self.text

    @property
    def answer(self) -> dict[str, str]:
        """What its speaker answered, in the order of its form."""
        if self.in_scene:
            return {"think": self.think, "act": self.act, "talk": self.text}
        return {"utterance": self.text, "emotion": self.emotion, **({"act": self.act} if self.act else {})}


@dataclass(frozen=True, kw_only=True, slots=True)
class Present:
    """Somebody who is there besides the partner, and what the speaker has to do with it, as PromptContext says of the
    partner. `ago`: since the two last talked ("": they have not); `spot`: where it stands.
    """

    person_id: str
    name: str
    affinity: int = 0
    stance: str = ""
    acquainted: bool = False
    relation: str = ""
    looks: str = ""
    ago: str = ""
    known: tuple[str, ...] = ()
    spot: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenePart:
    """What a speaker of a scene has of its own: what it wants there, how it means to go about it, where it stands.
    `partner_spot` is where the partner stands. It is asked to whom it speaks and how loud (`addresses`), and how much
    it wants to go on (`urges`), where that is of use. `names` are those who may be named in its answer. `apart` tells
    who is too far off to perceive all of its turn, where it was not told so yet; it may go to the spots `goes_to`.
    """

    goal: str = ""
    plan: str = ""
    spot: str = ""
    partner_spot: str = ""
    addresses: bool = False
    urges: bool = False
    names: tuple[str, ...] = ()
    apart: str = ""
    goes_to: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LastMeeting:
    """A settled conversation of the two, as it is told, and the world time since, in words."""

    summary: str
    ago: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionOutcome:
    """What became of something that the speaker asked of the game; `message` is the game's own word."""

    what: str
    state: CallState
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class PromptContext(PromptValues):
    """What a person knows when it speaks, whoever it is.

    As it was when they met: `now` is date, time and weather ("": the place is not of this world), `notices` are
    announced, `told` is what the game said was going on, `lore` what the speaker's author lets it always know.
    `meetings` are the last ones with the partner, oldest first; `known` (each with when), `stance`, `affinity`
    (-100..100) and `times_met` are about the partner, and `relation` is what its author wrote that the partner is to
    it, `looks` what one sees of the partner. `acquainted`: the two knew each other before they first talked here.
    `secrets` are those that the partner, and who else is there, may be told. `heard` is what it remembers, from
    anybody, that bears on its goal. `past` are lines of a past with the partner that was given.
    `said_today` and `said_before` (in the days before) are what it has said to the partner, and all that was said among
    more than two: no prompt tells it, but who speaks without a model repeats nothing of it; and answers by `relations`
    (a name, and what that one is to it) and by `places` (a name, what is there, and when it is open).
    `unsettled` are the last lines of a talk of these two that has ended but is not yet remembered (its closing
    runs, or failed), and `unsettled_ago` when that was. `persona` is what of itself, as its author wrote, bears on
    the moment; `learned` what it told about itself before; `mid_term` what affects its next days; `today` the day's
    conversations with others; `items` what it carries; `doing` what it did when they met.

    Since then: `lines` were said; `clock` is the time, where it has moved on by itself ("": it has not), `news` what
    was announced, `told_now` what the game says goes on now, and `reminded` what the last lines remind the speaker of;
    `stance_now` is its stance by now, where it was told another one before. `begins`: it opened the conversation.
    `is_reached`: the goal of the talk is. `acts`: it is asked what its hands and face do.
    `actions` is all that it may ask of the game in this conversation, `can_do` what of it may be asked now; `outcomes`
    are what became of what it asked before. `choices`: so many lines it suggests to the partner for its next words.
    `opened_for`: why it spoke to a player first, and `matter` what of.
    `goal` is the opener's; None while it is to set one itself (`sets_goal`), in its first answer.
    `scene_before` is what it remembers of the scene that this one goes on from. `others` are there besides the partner;
    `part` is what the speaker has of its own in a scene (None: it is a talk), and `happened` who came or left since
    its last turn, and what a writer let happen: a sentence each, with the turn before which it happened. `newcomers`:
    who has sat down at a player's table since its last turn. `whispers_to`: the player who has whispered to it, and
    whom alone its answer reaches. `keeps` are the secrets that its prompt told it, and that not all may know who are
    there by now: they are in `secrets` no more.
    """

    speaker: CharacterProfile | NpcProfile
    begins: bool
    partner_id: str
    partner_name: str
    place: str
    now: str
    notices: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    scene_before: str = ""
    lore: tuple[str, ...] = ()
    meetings: tuple[LastMeeting, ...] = ()
    relation: str = ""
    looks: str = ""
    times_met: int = 0
    acquainted: bool = False
    affinity: int = 0
    stance: str = ""
    secrets: tuple[str, ...] = ()
    mood: Mood = "neutral"
    persona: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    mid_term: tuple[str, ...] = ()
    today: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    needs: tuple[FeltNeed, ...] = ()
    doing: str = ""
    unsettled: tuple[Line, ...] = ()
    unsettled_ago: str = ""
    said_today: tuple[str, ...] = ()
    said_before: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    places: tuple[tuple[str, str, str], ...] = ()

    opened_for: OpenedFor | None = None
    matter: str = ""
    goal: Goal | None = None
    sets_goal: bool = False
    lines: tuple[Line, ...] = ()
    turns_left: int = 10
    is_reached: bool = False
    acts: bool = True
    clock: str = ""
    news: tuple[str, ...] = ()
    told_now: tuple[str, ...] = ()
    reminded: tuple[str, ...] = ()
    stance_now: str = ""
    nudge: Nudge | None = None
    actions: tuple[GameAction, ...] = ()
    can_do: tuple[GameAction, ...] = ()
    outcomes: tuple[ActionOutcome, ...] = ()
    choices: int = 0
    others: tuple[Present, ...] = ()
    part: ScenePart | None = None
    happened: tuple[tuple[int, str], ...] = ()
    newcomers: tuple[Present, ...] = ()
    whispers_to: str = ""
    keeps: tuple[str, ...] = ()
    feedback: str = ""

    @property
    def company(self) -> tuple[str, ...]:
        """The names of all the others."""
        return (self.partner_name, *(one.name for one in self.others))

    @property
    def affinities(self) -> dict[str, int]:
        """How the speaker likes each of the others."""
        return {self.partner_id: self.affinity, **{one.person_id: one.affinity for one in self.others}}


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


NOTHING_KNOWN = Knowledge()


def knowledge(context: PromptContext, recent: RecentMemory, told: Sequence[str]) -> Knowledge:
    """What stands in the context: what was `told` from memory, by its references, beside the last talk of the two."""
    last = [ref(MemoryKind.TALK, row.conversation_id) for row in recent.meetings]
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


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptRecord:
    """What every prompt of one speaker in one conversation begins with: the system message, and the context. `knew` is
    what stands in it.
    """

    system: str
    context: str
    knew: Knowledge

    def row(self, key: ConversationKey, person_id: str) -> PromptRow:
        """The row that keeps the record."""
        return PromptRow(
            **key._asdict(),
            person_id=person_id,
            system=self.system,
            context=self.context,
            knew=self.knew.model_dump(mode="json", exclude_defaults=True),
        )

    @classmethod
    def of(cls, row: PromptRow) -> "PromptRecord | None":
        """The record that a row keeps; None: the conversation is closed, and its text is gone."""
        if row.system is None or row.context is None:
            return None
        return cls(system=row.system, context=row.context, knew=Knowledge.model_validate(row.knew))


def render_record(context: PromptContext, knew: Knowledge = NOTHING_KNOWN) -> PromptRecord:
    """Render what the speaker is told once, before its first turn; it `knew` what stands in it."""
    told = f"<context>\n{data(_render(context, 'context'))}\n</context>"
    opening = _render(context, "opening")
    text = f"{told}\n\n{opening}" if opening else told
    return PromptRecord(system=_render(context, "system"), context=text, knew=knew)


def was_told(record: PromptRecord, notes: Sequence[str], text: str) -> bool:
    """Whether a speaker whose prompts begin so, and who was shown these notes, was told the text."""
    return any(data(text) in data(block) for block in (record.context, *notes))


def render_note(context: PromptContext) -> str:
    """Render what is new before this turn, and stays in the prompts of later ones; "" mostly."""
    return data(_render(context, "note"))


def render_reminder(context: PromptContext) -> str:
    """Render what comes to the speaker's mind before this turn; the next turn's prompt has its own instead."""
    return data(_render(context, "reminder"))


def answer_of(context: PromptContext) -> type[BaseModel]:
    """What the speaker answers: an `OpeningTurn`, a `CharacterTurn`, an `NpcTurn` or a `ChatTurn`; with an `action`,
    where it was told of any; with `choices`, where the client wants them. In a scene a `SceneTurn`.
    """
    if context.part is not None:
        part = context.part
        return scene_turn(part.names, part.goes_to, addresses=part.addresses, urges=part.urges)
    answer: type[BaseModel] = NpcTurn if context.acts else ChatTurn
    if context.begins:
        answer = OpeningTurn if context.sets_goal and context.goal is None else CharacterTurn
    if context.actions:
        answer = acting(answer, context.can_do)
    return suggesting(answer, context.choices) if context.choices else answer


def speaker_prompt(context: PromptContext, record: PromptRecord, note: str, thread: str = "") -> Prompt[Any]:
    """Ask for the next utterance. `thread` says of which conversation."""
    own_goal, note_turns = context.goal if context.sets_goal else None, [turn for turn, _ in context.happened]
    return Prompt(
        name="speaker",
        role=context.speaker.kind,
        language=context.language,
        messages=messages(record, context.lines, context.speaker.id, note, own_goal, note_turns),
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
    record: PromptRecord,
    lines: Sequence[Line],
    speaker_id: str,
    note: str,
    own_goal: Goal | None = None,
    note_turns: Sequence[int] = (),
) -> tuple[Message, ...]:
    """The prompt for the turn after `lines`, before which the speaker is shown `note`.

    `own_goal`: the one that the opener set itself, in its first answer. `note_turns`: see Line.
    """
    said = [Message(role="system", content=record.system)]
    begun, heard = record.context, list[Line]()
    for line in lines:
        if line.speaker_id != speaker_id:
            heard.append(line)
            continue
        said.append(_user([begun, *_in_order(heard, line.note, line.note_turns)]))
        goal = own_goal.model_dump() if own_goal is not None and line.turn == 0 else {}
        said.append(Message(role="assistant", content=_JSON.encode(line.answer | goal)))
        begun, heard = "", []
    return (*said, _user([begun, *_in_order(heard, note, note_turns)]))


def _in_order(heard: Sequence[Line], note: str, note_turns: Sequence[int]) -> Iterator[str]:
    """The lines as they are told, each behind what the note says happened before it; then the rest of the note."""
    told = note.split("\n")
    for line in heard:
        before = sum(turn <= line.turn for turn in note_turns)
        yield from ("\n".join(told[:before]), data(line.shown))
        told, note_turns = told[before:], note_turns[before:]
    yield "\n".join(told)


def _user(parts: Sequence[str]) -> Message:
    return Message(role="user", content="\n\n".join(filter(None, parts)))


def data(text: str) -> str:
    """What somebody said or wrote, which cannot pass for a part of the prompt's frame."""
    return MARKUP.sub("", text)


def _render(context: PromptContext, block: str) -> str:
    return TEMPLATES.render("speaker", block, context.language, context, context.own_prompts)
