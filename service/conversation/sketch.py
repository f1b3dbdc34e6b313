"""Owns a sketched talk: where nobody looks, one call makes all of what two people say, and it knows no secret. The
turns are said one by one, as others are; where somebody comes to look, the rest is let go of, and asked for turn by
turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

from service.content.profile import Emotion
from service.conversation.acting import CharacterTurn, Gesture, OpeningTurn, Utterance
from service.conversation.context_builder import Contexts
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import PromptContext, told_prompt
from service.conversation.transcript import Transcript
from service.conversation.turn_taking import FEWEST, OPENER
from service.llm.chat import PromptValues
from service.store.phase import TurnForm
from service.usage import Usage

TURN_TOKENS = 120
"""Room for a turn in the answer."""


class SketchedTurn(BaseModel, extra="forbid"):
    """One turn of a talk that is sketched: the name of who says it, and what is said, as in an NpcTurn."""

    speaker: str
    utterance: Utterance
    emotion: Emotion
    act: Gesture = ""


class Sketch(BaseModel, extra="forbid"):
    """A whole talk of two. Whether the opener's goal is reached in it."""

    turns: list[SketchedTurn] = Field(min_length=2)
    goal_achieved: bool


class OpeningSketch(Sketch):
    """One whose opener sets itself a goal, as in an OpeningTurn."""

    goal: str = Field(min_length=1, max_length=200)
    success_criteria: str = Field(min_length=1, max_length=200)


@dataclass(frozen=True, kw_only=True)
class SketchContext(PromptValues):
    """Those who talk, who begins first; what each is `told` when they meet; and the `most` turns there is time for."""

    people: tuple[PromptContext, ...]
    told: tuple[str, ...]
    most: int

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(one.speaker.name for one in self.people)

    @property
    def answer(self) -> type[Sketch]:
        """What is asked for."""
        return OpeningSketch if self.people[0].goal is None else Sketch


def is_sketchable(said: Transcript) -> bool:
    """Whether its next turn may be one of a sketch: two models talk, and all that was said so far is of one."""
    row = said.row
    is_of_two = len(row.participants) == FEWEST and not row.has_human and row.form == TurnForm.TALK
    return is_of_two and all(turn.draft is not None for turn in said.turns)


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """The next turn of a sketch (None: it has none that is of use), what it cost, and with the first one the others."""

    turn: CharacterTurn | OpeningTurn | None
    rest: list[dict[str, Any]]
    usage: Usage
    model: str


async def sketched_turn(
    deps: ConversationDependencies, known: Contexts, said: Transcript, context: PromptContext
) -> Drafted:
    """The next turn, of the speaker with that `context`. The first one asks for the sketch.

    Raises:
        ModelError: the model failed.
    """
    if said.turns:
        rest = said.turns[0].draft or []
        turn = CharacterTurn(**rest[len(said.turns) - 1]) if len(said.turns) <= len(rest) else None
        return Drafted(turn=turn, rest=[], usage=Usage(), model=said.turns[0].model)
    scene = SketchContext(
        language=context.language,
        own_prompts=context.own_prompts,
        people=(context, *(one for seat, one in known.contexts.items() if seat != OPENER)),
        told=tuple(record.context for _, record in sorted(known.records.items())),
        most=said.row.max_turns,
    )
    prompt = told_prompt("sketch", context.speaker.kind, scene, scene.answer, max_tokens=TURN_TOKENS * scene.most)
    answer = await deps.models.for_role(prompt.role).complete(replace(prompt, thread="/".join(said.row.key)))
    turns = _in_turn(answer.value, scene.names)
    first: CharacterTurn | OpeningTurn | None = next(iter(turns), None)
    if first is not None and isinstance(answer.value, OpeningSketch):
        spoken = first.model_dump(exclude={"goal_achieved"})
        first = OpeningTurn(**spoken, goal=answer.value.goal, success_criteria=answer.value.success_criteria)
    rest = [turn.model_dump() for turn in turns[1:]]
    return Drafted(turn=first, rest=rest, usage=answer.usage, model=answer.model)


def _in_turn(sketch: Sketch, names: Sequence[str]) -> list[CharacterTurn]:
    """Its turns as far as each follows the other's. The last two are the goodbyes, and the opener's last one says
    whether its goal is reached.
    """
    count = len(sketch.turns)
    last_of_opener = (count - 1) // 2 * 2
    said = list[CharacterTurn]()
    for place, turn in enumerate(sketch.turns):
        if turn.speaker != names[place % 2]:
            break
        said.append(
            CharacterTurn(
                utterance=turn.utterance,
                emotion=turn.emotion,
                act=turn.act,
                wants_to_end=place >= count - 2,
                goal_achieved=sketch.goal_achieved and place == last_of_opener,
            )
        )
    return said
