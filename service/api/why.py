"""Owns the endpoints that say why: why somebody said a turn, and why something happened, in words and in fields."""

from typing import Annotated

from fastapi import Depends, Path, Query, Request
from pydantic import Field

from service.api.dependencies import KNOWN_QUERY, Out, Router, Serving, Slug, World
from service.api.schemas import EVENTS, AnyEventOut
from service.content.profile import Mood
from service.conversation import why as turns
from service.conversation.prompt import Knowledge
from service.history import why as events
from service.llm.chat import Message
from service.locales import Language, language_named
from service.memory.telling import Remembered
from service.people.worlds import WorldView
from service.store.event_kinds import ActionFailed, FailedCall
from service.store.shown import OutWithValues
from service.store.tables import DecisionRow, TurnRow
from world.actions import Option

router = Router(dependencies=[KNOWN_QUERY])

Words = Annotated[list[str], Field(description="the answer, a sentence each, in the language that was asked for")]
Messages = Annotated[
    list[Message] | None,
    Field(
        description="the whole prompt in the order in which it was sent; null: it is not kept (KATARIBE_KEEP_PROMPTS)"
    ),
]


def _told(
    request: Request,
    world: World,
    lang: Annotated[
        Language | None, Query(description="the language of the words; left out: Accept-Language, else the world's")
    ] = None,
) -> WorldView:
    return world.told_in(lang or language_named(request.headers.get("accept-language")) or world.language)


ToldWorld = Annotated[WorldView, Depends(_told)]
"""The world as it stands, told in the language that is asked for."""


class TowardsOut(Out, of=Knowledge, shows="affinity stance times_met"):
    """How a speaker stood to the other when the two met; its stance, as it was last judged before the turn."""

    partner_id: str = Field(description="id of the other")


_COST = "model calls prompt_tokens completion_tokens cached_tokens duration_ms"
"""Who answered a prompt, and what that cost."""


class TurnWhyOut(OutWithValues, of=TurnRow, shows=f"turn speaker_id speaker_name text think act {_COST}"):
    """Why somebody said a turn."""

    perceived: list[str] = Field(description="what it was shown of what was said and done since its last turn")
    words: Words
    goal: str | None = Field(
        description="what its speaker wanted of the talk, or of the scene; null: it did not begin it, or nothing"
    )
    towards: TowardsOut | None = Field(description="how it stood to the other; null: nothing is recorded")
    mood: Mood | None = Field(description="how it felt; null: nothing is recorded")
    memories: list[Remembered] = Field(description="what stood in its prompt of its memory, when the two met")
    reminded: list[Remembered] = Field(description="what came to its mind with this turn")
    told: list[str] = Field(description="what the game had said was going on, line by line")
    messages: Messages


class ChoiceOut(Out, of=Option, shows="action_id facility_id target_id"):
    """Something a character could choose."""

    number: int = Field(description="as the model was offered it, from 1")
    node_id: str | None = Field(description="where it is done; null: in the facility, or where the person is")
    chosen: bool = Field(description="whether the model chose it")


class ImpossibleOut(Out, of=ActionFailed, shows="action_id reason facility_id target_id"):
    """Something that was not possible."""


class QuestionOut(OutWithValues, of=DecisionRow, shows=_COST):
    """What a model was asked for a decision, or for a plan of the day, and what its prompt held."""

    call: FailedCall = Field(description="decision, or plan")
    failures: int = Field(description="answers that could not be used")
    places: list[str] = Field(description="of a plan: ids of the facilities it might name")
    needs: dict[str, int] = Field(description="how its needs stood, by id")
    offered: list[ChoiceOut] = Field(description="what could be chosen; of a plan nothing")
    refused: list[ImpossibleOut] = Field(description="what it was told to be impossible")
    memories: list[Remembered] = Field(description="what stood in its prompt of its memory")
    messages: Messages


class SourceOut(Out):
    """The conversation that something comes of."""

    conversation_id: str = Field(description="of GET /conversations/{id}")
    turn: int | None = Field(description="the turn in which it was said, from 0; null: of the whole conversation")
    text: str | None = Field(description="what was said in that turn; null: no one turn")


class EventWhyOut(OutWithValues):
    """Why something happened."""

    event: AnyEventOut = Field(description="what happened")
    words: Words
    led_by: int | None = Field(description="id of the decision it follows from; null: of none that is known")
    question: QuestionOut | None = Field(
        description="what a model was asked for it, or for the decision it follows from; null: none was, or it is not "
        "recorded"
    )
    source: SourceOut | None = Field(description="the conversation it comes of; null: of none")
    evidence: list[Remembered] = Field(description="of insights: what they were drawn from")


@router.get(
    "/conversations/{conversation_id}/turns/{turn}/why",
    tags=["conversations"],
)
async def why_said(
    conversation_id: Slug,
    turn: Annotated[int, Path(ge=0, le=1000)],
    deps: Serving,
    world: ToldWorld,
) -> TurnWhyOut:
    """Why somebody said that: what it wanted, what it remembered and where from, how it stood to the other, which model
    answered and at what cost; the whole prompt where it is kept.
    """
    why = await turns.why_said(deps.conversation, world, conversation_id, turn)
    knew = why.knew
    return TurnWhyOut.of(
        why.turn,
        words=turns.in_words(world, why),
        goal=why.goal.goal if why.goal else why.wanted or None,
        perceived=why.perceived,
        towards=TowardsOut.of(knew, partner_id=why.partner_id) if knew else None,
        mood=knew.mood if knew else None,
        memories=why.memories,
        reminded=why.reminded,
        told=why.told,
        messages=why.messages,
    )


@router.get("/events/{event_id}/why", tags=["world"])
async def why_happened(event_id: Annotated[int, Path(ge=1, le=2**62)], deps: Serving, world: ToldWorld) -> EventWhyOut:
    """Why something happened. A decision, or a plan: what was offered, what was not possible and why, what the model
    thought. What somebody does: the decision it follows from. What comes of a conversation: that one, and its turn.
    What somebody came to think: the evidence it drew on. What nobody decided says so.
    """
    why = await events.why_happened(deps.conversation, world, event_id)
    asked, basis = why.question, why.basis
    return EventWhyOut.of(
        why,
        event=EVENTS[why.event.kind].model_validate(why.event),
        words=events.in_words(world, why),
        led_by=why.led.id if why.led else None,
        question=asked
        and QuestionOut.of(
            asked,
            offered=[
                ChoiceOut.of(one, number=number, node_id=one.node_id or None, chosen=number == basis.chosen)
                for number, one in enumerate(basis.options, 1)
            ],
            refused=basis.refusals,
            places=basis.places,
            needs=basis.needs,
            memories=why.memories,
            messages=asked.prompt,
        ),
        source=why.conversation
        and SourceOut(
            conversation_id=why.conversation.id,
            turn=why.turn.turn if why.turn else None,
            text=why.turn.text if why.turn else None,
        ),
        evidence=[one for _, evidence in why.drawn for one in evidence],
    )
