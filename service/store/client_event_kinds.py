"""Owns what a game is told of conversations in which a human speaks: a class for every kind of client event, with what
is told of it. Streams, the API and docs/client-events.md share them.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from service.content.profile import Emotion, Mood
from service.store.event_kinds import Payload, left_out
from service.store.phase import Audience, EndReason, Loudness, OpenedFor

SpeakerId = Annotated[str, Field(description="who says it", examples=["npc_taro"])]
TurnNumber = Annotated[int, Field(description="its place in the conversation, from 0", examples=[1])]
CharStart = Annotated[int, Field(description="where it begins in the utterance, in Unicode code points", examples=[0])]
SpokenLanguage = Annotated[str, Field(description="the language it is said in", examples=["en"])]
Voice = Annotated[
    JsonValue,
    Field(description="`voice` of the speaker's file, as it was written; null: none was", examples=["harbour-old-man"]),
]


class ToParticipants(Payload):
    audience = Audience.PARTICIPANTS


class AboutPerson(ToParticipants):
    person_id: str = Field(description="whose it is", examples=["npc_taro"])


class OfUtterance(ToParticipants):
    utterance_id: str = Field(
        description="which attempt to speak which turn: `<conversation>.<turn>.<attempt>`",
        examples=["6f1c0a94d2b75c0e9a41b3d8e7f2.1.0"],
    )


class OfTurn(OfUtterance):
    turn: TurnNumber
    speaker_id: SpeakerId
    speaker_name: str = Field(description="name of who says it", examples=["Taro"])


class OfActionCall(ToParticipants):
    call_id: str = Field(description="of what was asked of the game", examples=["9f0a3c52-7d1e-5b7c-a1d4-2f6f0c9be811"])
    action_id: str = Field(description="of `gameActions` in actions.json", examples=["give_item"])


class Talker(BaseModel, frozen=True, extra="forbid"):
    """Somebody who takes part."""

    person_id: str = Field(description="the person's id", examples=["npc_taro"])
    name: str = Field(description="the person's name", examples=["Taro"])
    speaker: Literal["model", "human"] = Field(description="who finds its words", examples=["model"])


class SentenceEmotion(BaseModel, frozen=True, extra="forbid"):
    """How a sentence is said."""

    label: Emotion = Field(description="how the speaker shows itself", examples=["happy"])
    strength: float = Field(
        description="0 to 1, from the sentence's own marks: 0.3 it trails off, 0.5, 0.8 with an exclamation mark, 1 "
        "with several",
        examples=[0.5],
    )


class TalkStarted(ToParticipants, kind="conversation.started"):
    """A conversation with a human begins; or in one that runs somebody sits down or gets up, or it changes who finds
    whose words.
    """

    people: tuple[Talker, ...] = Field(description="who is there, in the order of their seats")
    turns: int = Field(description="how many turns were said before", examples=[0])
    opened_by: str = Field(description="id of the person who speaks first", examples=["npc_taro"])
    reason: OpenedFor | None = Field(
        description="why that person spoke to a player, by the world's own rule: a `promise` between them is due, it "
        "has seen something `urgent`, or is fond of it (`affinity`); null: a client began the conversation",
        examples=["promise"],
    )


class NpcThinking(AboutPerson, kind="npc.thinking"):
    """A model is to find the person's next words."""


class UtteranceStarted(OfTurn, kind="utterance.started"):
    """Somebody sets about a turn. What follows with the same `utterance_id` is of this attempt."""

    language: SpokenLanguage
    voice: Voice


class UtteranceDelta(OfUtterance, kind="utterance.delta"):
    """More of an utterance in the making. Not numbered and not stored."""

    char_start: CharStart
    text: str = Field(description="what comes there", examples=["(smiles) Good morn"])


class UtteranceSentence(OfUtterance, kind="utterance.sentence"):
    """A sentence that is ready for speech. Not numbered and not stored; `utterance_id` and `index` name it."""

    index: int = Field(description="its place in the utterance, from 0", examples=[0])
    final: bool = Field(description="the utterance ends with it", examples=[True])
    speaker_id: SpeakerId
    text: str = Field(
        description="what is to be spoken, without stage directions; empty: there is a gesture only",
        examples=["Good morning, Mr. Smith."],
    )
    char_start: CharStart
    char_end: int = Field(description="where it ends in the utterance: before this code point", examples=[33])
    language: SpokenLanguage
    voice: Voice
    emotion: SentenceEmotion | None = Field(
        description="how it is said; null: the model has not told yet, see `utterance.completed`",
        examples=[{"label": "happy", "strength": 0.5}],
    )
    gesture: str | None = Field(
        description="stage directions at its edges, in *asterisks* or (parentheses); null: none", examples=["smiles"]
    )


class UtteranceCompleted(OfTurn, kind="utterance.completed"):
    """An utterance is said, by whomever, and stands in the transcript. It comes once more, `interrupted`, where only a
    part of it was heard.
    """

    text: str = Field(description="all of it, as the transcript has it", examples=["(smiles) Good morning, Mr. Smith."])
    emotion: Emotion = Field(description="how the speaker shows itself", examples=["happy"])
    interrupted: bool = Field(description="only so much of it was heard", examples=[False])
    message_id: str | None = Field(
        description="the client's own name for what a human said; null: none was given", examples=["m-17"]
    )
    act: str | None = left_out("what the speaker does with it", "puts down the lamp")
    addressed: tuple[str, ...] | None = left_out("ids of those to whom it is said; left out: to all", ["mio"])
    loudness: Loudness | None = left_out("how loud it is said; left out: as people talk", "whisper")
    heard_by: tuple[str, ...] | None = left_out("ids of those who hear it; left out: all who are there", ["mio"])


class UtteranceDiscarded(OfUtterance, kind="utterance.discarded"):
    """What was told of an utterance counts no more: another attempt follows, it has failed (`error`), nobody has heard
    it, or the conversation ends.
    """

    spoken_sentences: int | None = Field(
        description="how many sentences of it had been told; 0 also where nobody has heard it; null: unknown, the "
        "service that told them is gone",
        examples=[1],
    )


class SuggestedLine(BaseModel, frozen=True, extra="forbid"):
    """A line that the player may say."""

    id: str = Field(description="the line's id", examples=["1.0"])
    text: str = Field(description="the words", examples=["When will the boat be done?"])


class Choices(OfUtterance):
    """Lines that the player may say next, where the client asked for such (`choices` at the start). One of them is said
    by `POST /conversations/{id}/choose`; anything else may be said instead. Whatever is said next, or cuts the
    utterance short, ends them.
    """

    choices: tuple[SuggestedLine, ...] = Field(description="the lines, as the speaker suggested them")


class ActionCallRequested(OfActionCall, AboutPerson, kind="action.requested"):
    """The speaker asks the game for something; say once, before the deadline, what became of it
    (`POST /conversations/{id}/actions/{call_id}/result`).
    """

    turn: TurnNumber
    args: dict[str, JsonValue] = Field(
        description="its arguments, in the form that actions.json says", examples=[{"item": "bun"}]
    )
    awaited: bool = Field(description="the answer to what is said next waits for it", examples=[False])
    deadline: float = Field(
        description="seconds since 1970, by the service's machine; with nobody asked to confirm, `action.done` follows",
        examples=[1795392000.0],
    )


class ActionCallDone(OfActionCall, kind="action.done"):
    """What was asked of the game is done, and will be remembered."""

    message: str = Field(description="the game's own word about it", examples=["Ken has the bun."])


class ActionCallFailed(OfActionCall, kind="action.failed"):
    """What a speaker wanted did not happen, and it will be told so before its next words."""

    reason: Literal["client", "deadline", "not_offered", "arguments"] = Field(
        description="the game said so (client) or nothing in time (deadline); or the game was not asked: it may not be "
        "done now (not_offered), or its arguments do not fit (arguments)",
        examples=["client"],
    )
    message: str = Field(
        description="the game's own word about it, or what is wrong with the arguments", examples=["The bag is stuck."]
    )


class AffinityChanged(AboutPerson, kind="affinity.changed"):
    """A conversation has changed how the person likes another."""

    other_id: str = Field(description="whom it likes more or less", examples=["ken"])
    before: int = Field(description="-100..100, as it was", examples=[4])
    after: int = Field(description="-100..100, as it is", examples=[12])


class MoodChanged(AboutPerson, kind="mood.changed"):
    """A conversation has changed the person's mood."""

    before: Mood = Field(description="as it was", examples=["neutral"])
    after: Mood = Field(description="as it is", examples=["happy"])


class MemoryChanged(AboutPerson, kind="memory.changed"):
    """The person remembers the conversation."""

    facts: int = Field(description="how many things it keeps for long", examples=[2])
    mid_term: int = Field(description="how many things it keeps in mind for some days", examples=[1])


class TalkEnded(ToParticipants, kind="conversation.ended"):
    """Nothing more is said; what is remembered of it comes next."""

    reason: EndReason = Field(description="why it ended", examples=["wants_to_end"])


class TalkFailed(ToParticipants, kind="error"):
    """Something went wrong. Where it was a turn, nothing of it stays. With `next_try_at` its model is away, and is
    asked again by itself; else it is the human's turn: the same words under the same `message_id` ask for another
    attempt, others are said as ever. Where it was the closing, nothing is remembered until another try succeeds.
    """

    type: str = Field(
        description="the last part of the `type` of the problem, as problems of the API have it",
        examples=["model-timeout"],
    )
    detail: str = Field(
        description="what is wrong, in the conversation's language",
        examples=["The language model gpt-4.1-mini did not answer within 60 seconds."],
    )
    next_try_at: str | None = left_out(
        "when it is tried again by itself (the machine's time, in UTC); left out: it is not", "2026-11-24T16:00:00Z"
    )


class WorldRestored(ToParticipants, kind="world.restored"):
    """The world was brought back to an earlier moment: what came after it is no more, nor is what was being spoken.
    Read anew what you show; events go on from here. `conversation_id` is empty.
    """


CLIENT_PAYLOADS: tuple[type[Payload], ...] = (
    TalkStarted,
    NpcThinking,
    UtteranceStarted,
    UtteranceDelta,
    UtteranceSentence,
    UtteranceCompleted,
    UtteranceDiscarded,
    Choices,
    ActionCallRequested,
    ActionCallDone,
    ActionCallFailed,
    TalkEnded,
    AffinityChanged,
    MoodChanged,
    MemoryChanged,
    TalkFailed,
    WorldRestored,
)
"""Every kind of client event, in the order in which a conversation tells them."""

PASSING = (UtteranceDelta, UtteranceSentence)
"""What is told while it happens, and neither numbered nor stored."""
