"""Owns what travels over HTTP. Times are world times, ``YYYY-MM-DDTHH:MM`` without a zone."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union, get_args

from pydantic import BeforeValidator, Field, JsonValue, computed_field, model_validator
from pydantic_core import PydanticCustomError

from service.api.fields import PLAIN, Change, FlagIn, In, MayBeLeftOut, Now, Out, Slug, Text, Whole, WorldTimeText
from service.api.life_schemas import ActivityOut, AnnounceIn, AnnouncementOut, ClockOut, LifeOut
from service.content.profile import Decides, Emotion, Importance, Mood, PersonKind
from service.conversation.acting import MOST as CHOICES_MAX
from service.conversation.action_results import MESSAGE_MAX
from service.conversation.human import WORDS_MAX
from service.locales import Language
from service.memory.record import Kind, Mode, Source, Support
from service.store.event_kinds import Payload, RejectionReason, for_every_kind
from service.store.phase import CallState, EndReason, Loudness, Phase

Summary = Annotated[str, Field(description="the conversation in a few sentences")]
Topics = Annotated[list[str], Field(description="what was talked about, a few words each")]
Weather = Annotated[str, Field(max_length=80, pattern=r"^[^\u0000]*$")]


DataName = Annotated[str, Field(pattern=r"^[\w.-]{1,40}$")]
CONTEXT_MAX = 500
"""Most characters of what a game says is going on."""


class ContextIn(In):
    """What the game says is going on: it stands in the prompts of this conversation as data, is never an order to a
    model, and is not remembered.
    """

    text: Annotated[str, Field(max_length=300), PLAIN] = Field(
        default="", description="in words", examples=["Ken is wounded and carries the blue jar."]
    )
    data: Annotated[dict[DataName, FlagIn], Field(max_length=10)] = Field(
        default_factory=dict, description="and as values, each under a name", examples=[{"hp": 3, "night": True}]
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        most = sum(map(len, self.told))
        if most > CONTEXT_MAX:
            raise PydanticCustomError("context_too_long", "too long", {"count": most, "most": CONTEXT_MAX})
        return self

    @property
    def told(self) -> tuple[str, ...]:
        """Line by line."""
        shown = (value if isinstance(value, str) else json.dumps(value) for value in self.data.values())
        values = ", ".join(f"{name}: {value}" for name, value in zip(self.data, shown, strict=True))
        return tuple(filter(None, (self.text, values)))


class StartIn(In):
    """Who talks to whom, and why. Without a goal the character sets one itself; a player has none."""

    mode: Literal["models", "player"] = Field(
        default="models", description="models: a character begins, models speak for both; player: a player begins"
    )
    character_id: Slug | None = Field(
        default=None, description="id of the character that begins the talk; of no use with a player"
    )
    player_id: Slug | None = Field(default=None, description="id of the player that begins the talk, in mode player")
    clock: Literal["goes_on", "hold"] = Field(
        default="goes_on", description="in mode player; hold: the world's clock stands until the talk is over"
    )
    partner_id: Slug | None = Field(default=None, description="whom it talks to: an NPC, or another character")
    npc_id: Slug | None = Field(default=None, description="an older name of `partner_id`")
    goal: Text | None = Field(
        default=None,
        examples=["最近の様子を聞きたい"],
        description="what the character wants of the talk; left out, with `success_criteria`: it sets itself a goal",
    )
    success_criteria: Text | None = Field(
        default=None,
        examples=["近況を1つ以上聞けたら達成"],
        description="how to tell that the goal is reached; given exactly where `goal` is",
    )
    max_turns: Annotated[Whole, Field(ge=1, le=50)] | None = Field(
        default=None,
        description="after so many turns the talk ends at the latest; left out: as the service's settings say",
    )
    context: ContextIn | None = Field(default=None, description="what is going on when they begin to talk")
    actions: Annotated[list[Slug], Field(max_length=50)] | None = Field(
        default=None,
        description="ids of `gameActions` that people may ask for in this talk, where a human speaks; left out: all "
        "that the content allows",
    )
    choices: Annotated[Whole, Field(ge=0, le=CHOICES_MAX)] = Field(
        default=0,
        description="in mode player: after each turn of the other so many lines are suggested to the player "
        "(`choices` of the turn, and the event `choices`), in the same model call; 0: none",
    )


class ActionResultIn(In):
    """What became of something that a speaker asked of the game."""

    ok: bool = Field(strict=True, description="true: it is done, and will be remembered; false: it did not happen")
    message: str = Field(
        default="",
        max_length=MESSAGE_MAX,
        description="a word about it, which the speaker is told",
        examples=["The door is bolted from inside."],
    )


class SayIn(In):
    """What a human says."""

    text: str = Field(max_length=WORDS_MAX, description="the words", examples=["How is the boat coming along?"])
    message_id: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="the client's own name for the message: sent twice, it is said once"
    )
    person_id: Slug | None = Field(
        default=None, description="for whom the human speaks; left out: the one whose words are awaited"
    )
    context: ContextIn | None = Field(default=None, description="what is going on now: told before the next turn")


class ChooseIn(In):
    """Which of the lines that were suggested a human says."""

    choice_id: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="`id` of one of `choices`", examples=["1.0"]
    )
    message_id: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="the client's own name for the message: sent twice, it is said once; left out: the choice is the "
        "name",
    )


class InterruptIn(In):
    """Where a human cuts in: how much was heard of an utterance, in one of two ways."""

    utterance_id: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="as the conversation's events name it"
    )
    heard_chars: Annotated[Whole, Field(ge=0, le=100_000)] | None = Field(
        default=None, description="how many Unicode code points of it were heard", examples=[17]
    )
    heard_text: Annotated[str, Field(max_length=WORDS_MAX)] | None = Field(
        default=None, description="the words of it that were heard", examples=["Good morning, Mr."]
    )

    @model_validator(mode="after")
    def _heard_once(self) -> Self:
        if (self.heard_chars is None) == (self.heard_text is None):
            raise PydanticCustomError("heard_one", "exactly one of heard_chars and heard_text")
        return self


class PlaybackIn(In):
    """What is being played to the human."""

    utterance_id: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="as the conversation's events name it"
    )


class SpeakerIn(In):
    """For whom a human speaks from now on, or no longer."""

    person_id: Slug = Field(description="id of one who takes part")


class TickIn(In):
    """How far the clock is advanced."""

    ticks: Whole = Field(
        default=1,
        ge=1,
        le=10_000_000,
        description="how many ticks to advance; a tick is `tick_minutes` world minutes, see GET /world (1 by default)",
    )
    wait: bool = Field(
        default=True,
        strict=True,
        description="true: answer when all of it has happened; false: answer at once, while the world is on its way",
    )


class WorldIn(Change):
    """What of a world can be changed; what is left out stays as it is."""

    language: MayBeLeftOut[Language] = Field(
        default=None, description="the language of the world's texts and talks from now on"
    )
    decision: Decides | None = Field(
        default=None,
        description="how characters decide that say nothing of their own; null: as the service's settings say",
    )
    weather: MayBeLeftOut[Weather] = Field(
        default=None, description="the weather in words, as every prompt says it; empty: there is nothing to say of it"
    )
    announce: MayBeLeftOut[AnnounceIn] = Field(default=None, description="something everybody knows of from now on")


class GoalOut(Out):
    """What the character wants of the conversation."""

    goal: str = Field(description="what it wants, in a sentence")
    success_criteria: str = Field(description="how to tell that the goal is reached")
    given: bool = Field(description="False: the character set it itself")


class SuggestionOut(Out):
    """A line that a human may say next."""

    id: str = Field(description="by which it is chosen", examples=["1.0"])
    text: str = Field(description="the words")


def _known(emotion: object) -> object:
    return emotion if emotion in get_args(Emotion) else "neutral"


def _usually(value: Any, description: str, example: object) -> Any:
    """A field that is left out where it has its usual value."""
    return Field(
        default=value, exclude_if=lambda given: bool(given == value), description=description, examples=[example]
    )


class TurnOut(Out):
    """One utterance."""

    turn: int = Field(description="its place in the conversation, counted from 0")
    speaker_id: str = Field(description="id of the person who says it")
    speaker_name: str = Field(description="name of the person who says it")
    text: str = Field(description="what is said, in the world's language")
    emotion: Annotated[Emotion, BeforeValidator(_known)] = Field(
        description="how the speaker shows itself while saying it"
    )
    at: WorldTimeText = Field(description="the world time at which it is said")
    model: str = Field(description="which model made it: openai:gpt-4.1-mini, rehearsal")
    prompt_tokens: int = Field(description="tokens of the prompt it was made of")
    completion_tokens: int = Field(description="tokens the model wrote for it")
    duration_ms: int = Field(description="how long the model took, in real milliseconds")
    choices: list[SuggestionOut] = Field(
        validation_alias="suggestions",
        description="lines that were suggested for the answer: one of them can be chosen until something else is said",
    )
    think: str = _usually("", "what its speaker thinks, in a scene; nobody perceives it", "She knows.")
    act: str = _usually("", "what its speaker does, in a scene", "puts down the lamp")
    addressed: list[str] | None = _usually(None, "ids of those to whom it is said; left out: to all", ["mio"])
    loudness: Loudness = _usually(Loudness.NORMAL, "how loud it is said; left out: as people talk", "whisper")
    seen_by: list[str] | None = _usually(None, "ids of those who see the act; left out: all who are there", ["mio"])
    heard_by: list[str] | None = _usually(None, "ids of those who hear the words; left out: all there", ["mio"])


class FailureOut(Out):
    """What went wrong: the problem's type, whose model call it was, and a sentence in the world's language."""

    type: str = Field(description="the last part of the problem's type, such as model-timeout")
    role: str = Field(description="whose call failed: character, npc, closing, decision, moderator, modulator, quality")
    detail: str = Field(description="what happened, as a sentence in the world's language")
    next_try_at: str | None = Field(
        default=None,
        description="of a closing: when it is tried again by itself (the machine's time, in UTC); null: it is not",
    )


class CostOut(Out):
    """Model calls and tokens."""

    calls: int = Field(description="how many calls of models it took")
    prompt_tokens: int = Field(description="tokens that were sent to models")
    completion_tokens: int = Field(description="tokens that models wrote")


class StepOut(Out):
    """A number or word before and after."""

    before: int | str = Field(description="as it was before the conversation")
    after: int | str = Field(description="as it is after the conversation")


class KeptFactOut(Out):
    """A fact that was stored, with the turn it was said in."""

    id: str = Field(description="id of the fact in the long-term memory")
    statement: str = Field(description="the fact, as a sentence")
    turn: int = Field(description="the turn it was said in, counted from 0")


class MidTermOut(Out):
    """Something that affects the person's next days; an open promise, by it or to it, is among that."""

    ref: str | None = Field(
        default=None,
        description="what it is: `memory:` or `promise:` and its id; null: not told",
        examples=["memory:9f0a3c52", "promise:1c77"],
    )
    content: str = Field(description="what is on the person's mind, with who told it")
    importance: Importance = Field(description="how much it matters, and how long it lasts")
    expires_at: WorldTimeText = Field(description="the world time at which it is over")
    created_at: WorldTimeText | None = Field(default=None, description="the world time it came up at; null: not known")
    partner_id: str | None = Field(default=None, description="of whom, or with whom, it came")


class CommitmentIn(In):
    """What became of a promise."""

    state: Literal["kept", "broken", "released"] = Field(
        description="what became of it: kept, broken, or released (taken back; nothing follows)"
    )


class CommitmentOut(Out):
    """A promise. What was not said is empty, or null."""

    id: str = Field(description="id of the promise")
    by_id: str = Field(description="id of the person who promised")
    to_id: str = Field(description="id of the person it was promised to")
    what: str = Field(description="what was promised")
    state: Literal["open", "kept", "broken", "moved", "released", "lapsed"] = Field(
        description="open, or what became of it; moved: another one stands in its place; lapsed: its time went by and "
        "nobody said"
    )
    place: str = Field(description="where, as it was said")
    node_id: str | None = Field(description="where, if that is on the map")
    due_at: WorldTimeText | None = Field(
        description="when: a minute, or the end of the day, or of the part of it, that was said"
    )
    since_at: WorldTimeText | None = Field(description="of a part of a day: when it begins")
    has_hour: bool = Field(description="an hour was said")
    moves: bool = Field(description="it has a place and an hour, or a part of a day: who made it goes there")
    made_at: WorldTimeText = Field(description="the world time at which it was made")
    expires_at: WorldTimeText = Field(description="until when it is open, if nothing ends it before")
    ended_at: WorldTimeText | None = Field(
        description="the world time from which it is not open any more; null: it is open"
    )
    ended_in: str | None = Field(description="id of the conversation that ended it; null: none did")
    moved_to: str | None = Field(description="id of the promise that stands in its place; null: it was not moved")
    conversation_id: str = Field(description="id of the conversation it was made in")
    turn: int = Field(description="the turn it was made in, counted from 0")


class RejectedOut(Out):
    """Something the model claimed that was not stored, and why."""

    statement: str = Field(description="what was not kept")
    turn: int | None = Field(description="the turn it is said to have been said in, from 0; null: none was named")
    reason: RejectionReason = Field(description="why it was not kept")


class AttitudeOut(Out):
    """How one stands to the other, each -3 to 3."""

    power: int = Field(description="-3: submits, 3: has the say")
    intimacy: int = Field(description="-3: closed, 3: as close as can be")
    task_oriented: int = Field(description="-3: company alone, 3: the matter at hand alone")


class _SideChanges(Out):
    summary: str = Field(description="the conversation in a few sentences, as this side remembers it")
    topics: Topics
    affinity: StepOut = Field(description="affinity of the partner towards the character, -100..100")
    stance: str = Field(
        description="how this side stands to the other from now on: power, intimacy and task orientation, in words; "
        "empty: they were not judged"
    )
    attitude: AttitudeOut | None = Field(default=None, description="the same in numbers; null: they were not judged")
    facts: list[KeptFactOut] = Field(description="what this side now remembers")
    mid_term: list[MidTermOut] = Field(description="what is on this side's mind for the next days")
    rejected: list[RejectedOut] = Field(description="what the model wanted remembered and was kept out, and why")


class PartnerChangesOut(_SideChanges):
    """What a talk of two characters has changed for the one that was spoken to."""

    affinity: StepOut = Field(description="of the one who began the talk, towards this one")


class TowardsChangesOut(Out):
    """What a conversation of more than two has changed about how one of them stands to another."""

    affinity: StepOut = Field(description="how much it likes that one, -100..100")
    stance: str = Field(description="power, intimacy and task orientation, in words; empty: they were not judged")
    attitude: AttitudeOut | None = Field(description="the same in numbers; null: they were not judged")


class TakenOut(Out):
    """What one of more than two takes away: of what it perceived alone."""

    summary: str = Field(description="what it perceived of the conversation, in a few sentences")
    topics: Topics
    mood: StepOut = Field(description="its mood")
    towards: dict[str, TowardsChangesOut] = Field(description="how it stands to each it was there with, by person id")
    learned_facts: list[KeptFactOut] = Field(description="what it told about itself that was not known as a fact")
    facts: list[KeptFactOut] = Field(description="what it now remembers")
    mid_term: list[MidTermOut] = Field(description="what is on its mind for the next days")
    rejected: list[RejectedOut] = Field(description="what the model wanted it to remember and was kept out, and why")


class ChangesOut(_SideChanges):
    """What a closed conversation has changed. Between two characters it is the one's who began; `partner` the
    other's. Of more than two, that is the one with whom it shared most of it, and `people` has everybody's.
    """

    mood: StepOut = Field(description="the partner's mood")
    learned_facts: list[KeptFactOut] = Field(
        description="what the NPC told about itself that it did not have as a fact"
    )
    facts: list[KeptFactOut] = Field(description="what the character now remembers")
    partner: PartnerChangesOut | None = Field(
        default=None, description="what it changed for the partner where that is a character; null: it is an NPC"
    )
    people: dict[str, TakenOut] | None = Field(
        default=None, description="of more than two: what each takes away, by person id; null: they were two"
    )


class _WithPartner(Out):
    partner_id: str = Field(description="id of the one spoken with")
    partner_name: str = Field(description="name of the one spoken with")

    @computed_field(description="an older name of `partner_id`")  # type: ignore[prop-decorator]
    @property
    def npc_id(self) -> str:
        """An older name of `partner_id`."""
        return self.partner_id

    @computed_field(description="an older name of `partner_name`")  # type: ignore[prop-decorator]
    @property
    def npc_name(self) -> str:
        """An older name of `partner_name`."""
        return self.partner_name


class ConversationOut(_WithPartner):
    """A conversation without its turns."""

    id: str = Field(description="id of the conversation")
    character_id: str = Field(description="id of the character, or player, that began it")
    character_name: str = Field(description="name of who began it")
    partner_kind: Literal["npc", "character", "player"] = Field(
        description="who the partner is: two characters can talk, too"
    )
    character_kind: Literal["character", "npc", "player"] = Field(description="who began it is")
    mode: Literal["models", "player"] = Field(description="player: a human speaks in it; models: models speak for both")
    awaits: str | None = Field(description="id of the person whose words a human is to find next; null: nobody's")
    living: bool = Field(description="true where the living world holds it, a minute a turn; false: a client began it")
    node_id: str = Field(description="the node at which the character stands")
    phase: Phase = Field(description="where it stands: spoken, being remembered, remembered, or the remembering failed")
    goal: GoalOut | None = Field(description="null: the character has not set itself one yet")
    goal_achieved: bool = Field(description="what the character wanted of it has been reached")
    end_reason: EndReason | None = Field(description="why nothing more is said; null: it goes on")
    failure: FailureOut | None = Field(description="what went wrong with a model; null: nothing")
    started_at: WorldTimeText = Field(description="the world time it began at")
    ended_at: WorldTimeText | None = Field(description="the world time of its end; null: it goes on")
    closed_at: WorldTimeText | None = Field(
        description="the world time from which both remember it; null: they do not yet"
    )
    max_turns: int = Field(description="after so many turns it ends at the latest")
    models: dict[str, str] = Field(description="who answers per role: openai:gpt-4.1-mini, rehearsal")
    rehearsal: bool = Field(description="true where no language model spoke, but the rehearsal")
    cost: CostOut = Field(description="what its model calls came to")
    links: dict[str, str] = Field(description="addresses: `self` is this conversation, `events` its live stream")


class MessageOut(Out):
    """One message of a prompt. `assistant` is what the speaker itself said before."""

    role: Literal["system", "user", "assistant"] = Field(description="who speaks in the prompt")
    content: str = Field(description="the text of the message")


class PromptOut(Out):
    """What a speaker was sent when it was asked for a turn, letter by letter: why it said that."""

    turn: int = Field(description="the turn it was asked for, counted from 0")
    speaker_id: str = Field(description="id of the person who was asked")
    speaker_name: str = Field(description="name of the person who was asked")
    model: str = Field(description="who answered")
    text: str = Field(description="what it said")
    messages: list[MessageOut] = Field(description="the messages in the order in which they were sent")


class ActionCallOut(Out):
    """Something that a speaker asked of the game."""

    id: str = Field(description="by which the game says what became of it")
    turn: int = Field(description="the turn with which it was asked, from 0")
    person_id: str = Field(description="id of the speaker")
    action_id: str = Field(description="id of the action, of `gameActions` in actions.json")
    args: dict[str, JsonValue] = Field(description="its arguments, in the form that actions.json says")
    words: str = Field(description="what it is, in the talk's language")
    state: CallState = Field(description="requested: the game has still to say what became of it")
    reason: Literal["client", "not_offered", "arguments"] | None = Field(
        description="why it failed: the game said so, it may not be asked now, or its arguments do not fit; null: it "
        "did not fail"
    )
    why: str = Field(description="what is wrong with the arguments; empty: nothing")
    message: str = Field(description="the game's own word about it")
    awaited: bool = Field(description="the answer to what is said next waits for the game's word")
    deadline: float = Field(description="until when the game may say so: seconds since 1970, by the machine's clock")


class SaidOut(Out):
    """What a human said, and what was answered."""

    turn: TurnOut = Field(description="the human's turn")
    answer: TurnOut | None = Field(description="the answer, with wait=true; null: there is none yet, or it is over")
    action: ActionCallOut | None = Field(description="what the game is asked with the answer; null: nothing")
    conversation: ConversationOut = Field(description="the conversation as it stands")


class ConversationDetail(ConversationOut):
    """A conversation with its turns and, once closed, what it changed."""

    turns: list[TurnOut] = Field(description="all that was said so far, in order")
    actions: list[ActionCallOut] = Field(description="what was asked of the game so far, in order")
    changes: ChangesOut | None = Field(description="what it has changed; null: it is not closed yet")


class Page(Out):
    """A part of a list. `next` is the cursor of the page that follows; null on the last."""

    next: str | None = Field(default=None, description="the `after` of the next page; null: this is the last")


class ConversationPage(Page):
    """Conversations, newest first."""

    items: list[ConversationOut] = Field(description="the conversations of this page")


class EventOut(Out):
    """Something that happened, `data` as its `kind` has it; see docs/events.md."""

    id: int = Field(description="grows within a world; `after` asks for what is later")
    at: WorldTimeText = Field(description="the world time at which it happened")
    kind: str = Field(description="what happened, as a word; it says what `data` is")
    person_id: str | None = Field(description="whose event it is; null: nobody's")
    data: Payload = Field(description="what is told of an event of that kind")


EVENTS = for_every_kind(EventOut)
"""How an event of each kind travels."""

if TYPE_CHECKING:
    AnyEventOut = EventOut
else:
    AnyEventOut = Annotated[Union[tuple(EVENTS.values())], Field(discriminator="kind")]  # noqa: UP007 - of a tuple


class CommitmentPage(Page):
    """Promises, those that are open first."""

    items: list[CommitmentOut] = Field(description="the promises of this page")


class EventPage(Page):
    """Events in the order asked for."""

    items: list[AnyEventOut] = Field(description="the events of this page")
    timeline: int = Field(
        description="where it is another one than on the page before, the world was brought back to an earlier moment "
        "meanwhile (`POST /world/restore`): read its events anew",
        examples=[0],
    )


class TickOut(Page):
    """What a step of time brought. `now` is where the clock is, `until` where it goes; `next` is the `after` with which
    `GET /world/events` tells the events that are not here.
    """

    before: WorldTimeText = Field(description="the world time at which the clock stood before")
    now: Now
    until: WorldTimeText = Field(description="the world time to which the clock goes; `now` where it is there")
    ticks: int = Field(description="how many ticks were asked for")
    events: list[AnyEventOut] = Field(description="what happened in that time, oldest first")


class PositionOut(Out):
    """On `node_id`, or on the way from it `toward` the next one, of which `progress` (0 up to 1) is done."""

    node_id: str = Field(description="the node it is on, or left last")
    place: str = Field(description="name of that node and its surroundings")
    toward: str | None = Field(default=None, description="the next node of its way; null: it stands")
    progress: float = Field(default=0.0, description="how much of the way to `toward` is done, 0 up to 1")
    walking_to: str | None = Field(default=None, description="the node where its way ends; null: it stands")
    arrives_at: WorldTimeText | None = Field(
        default=None, description="the world time at which it is there; null: it stands"
    )


class PersonOut(Out):
    """Somebody and where."""

    id: str = Field(description="id of the person")
    name: str = Field(description="its name in the world's language")
    kind: PersonKind = Field(
        description="a character moves and decides; an NPC stands at its post; for a player a human speaks"
    )
    position: PositionOut = Field(description="where it is at that moment")
    talking_in: str | None = Field(description="id of the conversation the person is in")
    activity: ActivityOut | None = Field(default=None, description="what a character does now; null at a past moment")


class PeopleOut(Page):
    """Everybody at one moment, characters first; players who are nowhere are left out."""

    at: WorldTimeText = Field(description="the world time that is shown")
    people: list[PersonOut] = Field(description="the people of this page")


class WorldOut(Out):
    """A world's clock and how it is played."""

    id: str = Field(description="id of the world, as the header X-World-Id names it")
    name: str = Field(description="the world's name, as its author calls it")
    language: Language = Field(description="the language of the world's texts and talks")
    started_at: WorldTimeText = Field(description="the world time at which its story begins")
    now: Now
    label: str = Field(description="date and time as a person would say them")
    tick_minutes: int = Field(description="how many world minutes a tick is")
    models: dict[str, str] = Field(description="which model answers per role: openai:gpt-4.1-mini, rehearsal")
    rehearsal: bool = Field(description="true where no language model speaks, but the rehearsal")
    memory: str = Field(description="where long-term memory is kept: sql or graphiti")
    characters: int = Field(description="how many characters live in it")
    npcs: int = Field(description="how many NPCs stand in it")
    conversations_running: int = Field(description="how many conversations are being spoken now")
    memories_waiting: int = Field(
        description="people of whose memories the graph in Neo4j has yet to be given something"
    )
    until: WorldTimeText = Field(description="where the clock was told to go; `now` where it stands")
    moving: bool = Field(description="the world is on its way from `now` to `until`")
    calls_in_flight: int = Field(description="questions to models that this process has asked and not had answered")
    clock: ClockOut = Field(description="how its clock runs")
    decision: Decides = Field(description="how characters decide that say nothing of their own")
    weather: str = Field(description="the weather in words; empty: there is nothing to say of it")
    announcements: list[AnnouncementOut] = Field(description="what everybody knows of now")
    circumstances: str = Field(description="date, time, weather and announcements as every prompt says them")


class NodeOut(Out):
    """A place to stand on."""

    id: str = Field(description="id of the node")
    map_id: str = Field(description="id of the map it is on")
    name: str = Field(description="its name in the world's language; may be empty")
    x: float = Field(description="how far right it is drawn, in the map's own units")
    y: float = Field(description="how far down it is drawn, in the map's own units")
    closed: bool = Field(description="true: an NPC stands there, nobody else can")


class EdgeOut(Out):
    """A way, walked in `minutes` in either direction."""

    a: str = Field(description="the node at one end")
    b: str = Field(description="the node at the other end")
    minutes: int = Field(description="world minutes it takes to walk it, either way")


class FacilityOut(Out):
    """What can be used, from which nodes, and when (``HH:MM-HH:MM``)."""

    id: str = Field(description="id of the facility")
    map_id: str = Field(description="id of the map it is on")
    name: str = Field(description="its name in the world's language")
    node_ids: list[str] = Field(description="the nodes from which it can be used")
    tags: list[str] = Field(description="what can be done there: actions of actions.json name these")
    hours: list[str] = Field(description="when it is open, each `HH:MM-HH:MM`")
    open_now: bool = Field(description="true: it is open at the world's clock")


class MapOut(Out):
    """All maps of the world."""

    maps: dict[str, str] = Field(description="each map's name by its id")
    nodes: list[NodeOut] = Field(description="the places to stand on")
    edges: list[EdgeOut] = Field(description="the ways between nodes")
    facilities: list[FacilityOut] = Field(description="the shops, fields and houses")
    posts: dict[str, str] = Field(description="the node each NPC stands at, by the NPC's id")


class OneMemoryOut(Out):
    """Something that a person remembers, of whatever kind. What its kind does not have is null, or empty."""

    id: str = Field(
        description="what it is called here: its kind and its id", examples=["fact.9f0a3c52", "turn.6f1c0a94d2b7.0003"]
    )
    kind: Kind = Field(
        description="fact; observed: it perceived it itself; self: it has told it of itself; insight: it has come to "
        "think it; mid_term: it affects its next days; turn: it was said in a talk; summary: of a talk"
    )
    text: str = Field(
        description="what it says, as a sentence: without who told it, so that it alone is no more than that"
    )
    line: str = Field(
        description="as the person is told of it in a prompt, with its teller and when: true whatever is the case",
        examples=["(yesterday) What Harue has told you: Misaki was her best friend."],
    )
    about: str | None = Field(description="whom or what it is about, by name; null: nobody")
    subject_id: str | None = Field(description="id of the person it is about; null: it is of nobody of this world")
    told_by: str | None = Field(
        description="id of the person who told it, or spoke the turn; null: nobody, several together, or nobody of "
        "this world",
        examples=["npc_taro"],
    )
    speaker_name: str | None = Field(description="of a turn: name of who said it")
    via: list[str] = Field(
        description="ids of those through whose hands it is known to have come to the teller: who began it first",
        examples=[["mio"]],
    )
    mode: Mode | None = Field(description="how it was meant")
    quote: str = Field(description="a line of it, word for word; empty: none")
    support: Support | None = Field(
        description="what it rests on. author: its author says so; perceived: it was perceived; these stand by "
        "themselves. verified, model, unsure: somebody told it, as a second look at the talk confirms, as a model "
        "wrote it, and as that look did not find it said; null: it is a turn"
    )
    source: Source | None = Field(description="what it came of; null: it is a view of a talk")
    importance: int | None = Field(description="1, small talk, to 10, what changes a life")
    confidence: float | None = Field(
        description="how far it may be relied on, 0..1: 0.8 of what it was before is left after each who told it on",
        examples=[0.64],
    )
    slot: str = Field(description="what has one value at a time, as the place of a thing; empty: nothing")
    level: Importance | None = Field(description="of mid_term: how much it matters, and how long it lasts")
    topics: list[str] = Field(description="of a summary: what the talk was about, a few words each")
    overheard: bool | None = Field(description="of a turn: the person took no part in that conversation")
    partner_id: str | None = Field(description="with whom it had to do, or whom the talk was with; null: nobody")
    conversation_id: str | None = Field(description="id of the conversation it comes of; null: it is of none")
    turns: list[int] = Field(description="the turns it was said in, counted from 0; empty: not known, or a whole talk")
    evidence: list[str] = Field(
        description="what it was drawn from, where that is no turn", examples=[["talk:6f1c0a94d2b7", "memory:9f0a3c52"]]
    )
    valid_from: WorldTimeText = Field(description="the world time from which it is true, or at which it was said")
    valid_to: WorldTimeText | None = Field(
        description="the world time from which it is no longer true; null: none is known"
    )
    known_from: WorldTimeText = Field(description="the world time since which it is known")
    known_until: WorldTimeText | None = Field(description="the world time at which its end was learned; null: none was")
    replaced_by: str | None = Field(description="id of the memory that ended it, without its kind; null: none did")
    expires_at: WorldTimeText | None = Field(description="of mid_term: the world time at which it is over")
    ago: str = Field(description="the world time since it is known, in the world's language")


class TellFromOut(Out):
    """Who may be told a secret; either suffices."""

    affinity: int | None = Field(description="whoever its owner likes at least so much; null: no matter how much")
    person: str | None = Field(description="the person with that id; null: none is named")


class SecretOut(Out):
    """Something true of a person that its author lets it tell to some only. It is for who makes the game: no player
    need see it.
    """

    fact: str = Field(description="what is true of it, as its author wrote")
    tell_from: TellFromOut = Field(description="who may be told")


class PersonaLineOut(Out):
    """Something of a person that is told when the moment asks for it."""

    told: str = Field(description="as a model reads it; of a relationship, what the other is to it")
    weight: int = Field(description="how much it matters, from 1 to 10")
    person: str | None = Field(description="whom it is about: told in its presence alone; null: nobody")


class _AuthoredPerson(Out):
    id: str = Field(description="id of the person")
    name: str = Field(description="its name in the world's language")
    personality: str = Field(description="what it is like, as its author wrote")
    tendencies: list[str] = Field(description="habits of speech and behaviour, as its author wrote")
    custom_prompt: str = Field(description="what its author adds to every prompt in which it speaks")
    identity: list[str] = Field(description="who it is, in a line of each of its prompts: age, occupation, home …")
    persona: list[PersonaLineOut] = Field(description="what else its author wrote; told when the moment asks for it")
    goals: list[dict[str, str]] = Field(
        description="what it wants of life: `goal`, and its `importance` (low, medium, high)"
    )
    facts: list[str] = Field(description="what is true of it, as its author wrote")
    secrets: list[SecretOut] = Field(
        description="what is true of it as well, and told to some only; in no prompt of a talk with anybody else"
    )
    talking_in: str | None = Field(description="id of the conversation it is in; null: it is in none")


class NpcOut(_AuthoredPerson):
    """An NPC as it stands now. `facts` are its author's and stand first; `learned_facts` is what it has also said."""

    learned_facts: list[OneMemoryOut] = Field(
        description="what it has also said of itself since the story began, and what of it holds still; oldest first"
    )
    mood: Mood = Field(description="how it feels now")
    conversation_count: int = Field(description="how many conversations it has had, with anybody")
    last_conversation_at: WorldTimeText | None = Field(
        description="the world time of its last conversation; null: it has had none"
    )
    spawn_node_id: str = Field(description="the node it stands at")
    affinity: dict[str, int] = Field(description="towards each character it has met")
    items: list[str] = Field(description="what it carries, in words")


class CharacterOut(_AuthoredPerson, LifeOut):
    """A character as it stands now."""

    home: str = Field(description="the node where it lives and sleeps")
    position: PositionOut = Field(description="where it is now")
    beside: list[str] = Field(description="ids of people close enough to talk to")
    mid_term: list[MidTermOut] = Field(description="what is on its mind for the next days")
    today: list["TodayOut"] = Field(description="its conversations of the current day")


class TodayOut(_WithPartner):
    """A conversation of the character's current day."""

    conversation_id: str = Field(description="id of the conversation")
    summary: Summary
    at: WorldTimeText = Field(description="the world time of the conversation")


class LastMeetingOut(Out):
    """The last closed conversation of the two."""

    conversation_id: str = Field(description="id of the conversation")
    summary: Summary
    topics: Topics
    at: WorldTimeText = Field(description="the world time of the conversation")
    elapsed_minutes: int = Field(description="world minutes since then")
    ago: str = Field(description="the world time since, in the world's language", examples=["2日前"])


class RecalledOut(OneMemoryOut):
    """Something that a search found."""

    score: float = Field(
        description="how well it fits what was asked; orders the answers of one search, and means nothing beyond it"
    )
    parts: dict[str, float] = Field(
        description="what the score is made of: `words` (its own), `around` (the words beside it in its talk), `cues` "
        "(who speaks, when, question or answer, length), `cosine` (likeness, where there are vectors), `importance`, "
        "`about`",
        examples=[{"words": 1.0, "around": 1.8, "cues": -0.2, "cosine": 0.9, "importance": 0.08, "about": 0.0}],
    )
    bears: bool = Field(description="it bears on what was asked, and is not only the nearest there is")


class RelationOut(Out):
    """How the two stand."""

    affinity: int = Field(description="of the one asked about, towards the one who remembers, -100..100")
    conversation_count: int = Field(description="how many conversations the two have had")
    last_met_at: WorldTimeText | None = Field(
        description="the world time of their last conversation; null: they have not met"
    )
    stance: str = Field(
        description="of the one who remembers, towards the one asked about: the three numbers below, in words; empty: "
        "they were not judged yet"
    )
    power: int | None = Field(
        description="of the one who remembers, -3 (submits) to 3 (has the say); null: not judged yet"
    )
    intimacy: int | None = Field(description="the same, -3 (closed) to 3 (as close as can be)")
    task_oriented: int | None = Field(description="the same, -3 (company alone) to 3 (the matter at hand alone)")


class PersonMemoryOut(Page):
    """What a person, NPC or character, remembers. `next` pages the facts."""

    person_id: str = Field(description="id of the one who remembers")
    group_id: str = Field(description="what the long-term memory is called: the `group_id` of its graph in Neo4j")
    about: str | None = Field(description="about whom it was asked")
    now: Now
    found: bool = Field(
        description="whether a fact or a turn bears on the query (without one: whether anything is remembered); "
        "if not, `facts` are only the nearest there are"
    )
    relation: RelationOut | None = Field(description="how the two stand; null: nobody was named by `about`")
    last_meeting: LastMeetingOut | None = Field(
        description="the last closed conversation of the two; null: there is none, or nobody was named"
    )
    facts: list[RecalledOut] = Field(description="remembered facts, the ones that fit best first")
    turns: list[RecalledOut] = Field(
        description="with a query: what was said that answers it and no fact tells, the best first; at most ten"
    )
    insights: list[OneMemoryOut] = Field(
        description="what it has come to think: with a query of what bears on it, with `about` of what names that one; "
        "at most ten"
    )
    mid_term: list[MidTermOut] = Field(description="what is on its mind for the next days")
    today: list[TodayOut] = Field(description="its conversations of the current day")
    long_term_available: bool = Field(
        description="false: the memory graph is away, and `facts` is empty for that reason"
    )


class MemoryOut(PersonMemoryOut):
    """What a character remembers: `person_id` and `about` also go by their older names."""

    character_id: str = Field(description="an older name of `person_id`")
    npc_id: str | None = Field(description="an older name of `about`")


class UsageOut(CostOut):
    """Model calls and tokens of one world day and role."""

    day: str = Field(description="the world day, YYYY-MM-DD")
    role: str = Field(
        description="what the calls were for: character, npc, closing, decision, attitude, long_term, survey, quality"
    )
    failures: int = Field(description="calls that gave no answer")
    cached_tokens: int = Field(description="tokens of `prompt_tokens` that the server had at hand from before")
    estimated: bool = Field(description="true: a server did not report its tokens, and they were estimated")


class LeftOut(Out):
    """A limit a day, how much of it is spent, and how much is left."""

    limit: int = Field(description="how much may be spent a day")
    spent: int = Field(description="how much is spent today")
    left: int = Field(description="how much is left today")


class BudgetOut(Out):
    """What a day's model calls may cost, over all worlds. `day` and `renews_at` are the machine's, in UTC."""

    day: str = Field(examples=["2026-04-01"], description="the day that is counted, by the machine's clock in UTC")
    renews_at: str = Field(
        examples=["2026-04-02T00:00:00Z"], description="the moment in UTC from which a new day is counted"
    )
    exhausted: bool = Field(description="no model is asked any more today, but for what is still to be remembered")
    calls: LeftOut | None = Field(description="null: no limit (KATARIBE_LLM__MAX_CALLS_PER_DAY)")
    tokens: LeftOut | None = Field(description="null: no limit (KATARIBE_LLM__MAX_TOKENS_PER_DAY)")


class HealthOut(Out):
    """Whether the service and what it needs are there."""

    status: Literal["ok", "degraded", "down"] = Field(
        description="ok: all is there; degraded: it serves, and something is missing; down: nothing can be kept"
    )
    degraded: list[str] = Field(default_factory=list, description="the parts that are missing while it serves")
    checks: dict[str, str] = Field(description="by part: ok, or what is wrong and what to do")
