"""Owns words that are no turn of a conversation: a line said in passing, a letter, a page of a diary, and what a chat
client asks for beside a talk. One call each; nothing is stored or remembered of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from pydantic import BaseModel, Field
from sqlmodel import Session, col, select

from service.content.profile import CharacterProfile, Mood, NpcProfile
from service.conversation.context_builder import name_of_doing
from service.conversation.context_selection import persona_told
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import told_prompt
from service.conversation.start import near
from service.conversation.utterance import breaks_character
from service.errors import ModelEmpty, ModelError, ModelOutOfCharacter, refuse
from service.llm.chat import Answer, Prompt, PromptValues, Role, T, TextListener
from service.locales import Language
from service.memory.episodes import episode_of
from service.memory.mind import self_told
from service.memory.recall import RecentMemory, newest_within, on_mind_line, recent_memory, remembered, talk_line
from service.memory.record import FACTS, Kind, Memory
from service.memory.secrets import discretion
from service.memory.telling import clause, episode_told, tell
from service.people.attitude import moods, stance
from service.people.worlds import WorldView
from service.store.event_kinds import ActivityStarted
from service.store.events import told_to
from service.store.phase import Audience
from service.store.shown import ToldWorldTime
from service.store.tables import EventRow
from service.store.usage import CostOut, Purpose, count
from service.usage import Usage
from world.time import MINUTES_PER_DAY, WorldTime, minute_of_day

Form = Literal["bark", "letter", "diary"]

LONGEST = 2000
"""Most characters of such a text."""
KNOWN_TOKENS, LEARNED_TOKENS, TODAY_TOKENS = 200, 80, 120
"""Most tokens, by `estimate_tokens`, for what the writer remembers, has told of itself, and has lived through today."""
MAX_TOKENS: dict[Form, int] = {"bark": 150, "letter": 700, "diary": 700}


class WrittenText(BaseModel, extra="forbid"):
    """What is answered."""

    text: str = Field(max_length=LONGEST)


class Written(CostOut):
    """What was written. Nothing of it is stored or remembered."""

    language: Language = Field(description="the language of the words")
    text: str = Field(description="the words, in the world's language")
    kind: Form = Field(description="as it was asked for")
    person_id: str = Field(description="id of the writer")
    to: str | None = Field(description="id of the person whom a letter is for; null: it is no letter")
    at: ToldWorldTime = Field(description="the world time at which it was written")
    model: str = Field(description="which model made it: openai:gpt-4.1-mini, rehearsal")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be written, by whom, to whom (a letter), and what about ("": whatever is on its mind)."""

    person_id: str
    form: Form
    to_id: str | None = None
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class WriteContext(PromptValues):
    """What the writer knows. `to_name`, `stance` and `last_meeting` are of whom a letter is for ("": it is no letter).
    `persona` is what of itself bears on that; `known` is what it remembers of that one, or of what it is to write
    about; `mid_term` what is on its mind; `did` and `talks` are of its day. What it keeps secret, from whom it writes
    to or from everybody, is in none of it; `secrets` are those that the reader of its letter may be told.
    """

    form: Form
    writer: CharacterProfile | NpcProfile
    place: str
    now: str
    mood: Mood
    about: str = ""
    to_id: str = ""
    to_name: str = ""
    stance: str = ""
    affinity: int = 0
    last_meeting: str = ""
    notices: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    persona: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    mid_term: tuple[str, ...] = ()
    did: tuple[str, ...] = ()
    talks: tuple[str, ...] = ()


async def write(deps: ConversationDependencies, world: WorldView, wanted: Wanted) -> Written:
    """Ask for the text; what it cost is counted for its writer's role.

    Raises:
        NotFound: there is no such person.
        Invalid: a player is to write; a letter is for nobody, or for its writer, or something else for somebody.
        ModelError: the model failed, wrote nothing, or stepped out of its role.
    """
    context = await _gather(deps, world, wanted)
    writer = context.writer
    fault = partial(_fault, context)
    answer = await counted(deps, world, writer.id, write_prompt(context), writer.kind, fault)
    return Written.of(
        answer.usage,
        language=world.language,
        text=_formed(context, answer.value.text),
        kind=wanted.form,
        person_id=writer.id,
        to=wanted.to_id,
        at=world.now,
        model=answer.model,
    )


async def counted(
    deps: ConversationDependencies,
    world: WorldView,
    person_id: str,
    prompt: Prompt[T],
    purpose: Purpose,
    fault: Callable[[Answer[T]], ModelError | None] = lambda _: None,
    hear: TextListener | None = None,
) -> Answer[T]:
    """The answer of one who is asked outside of a conversation; what it cost is counted for that purpose, also where
    `fault` finds something wrong with it. `hear` is told the text while it is written.

    Raises:
        ModelError.
    """
    spent = Usage(calls=1, estimated=True)
    prompt = replace(prompt, thread=f"{world.id}/{person_id}")
    try:
        answer = await deps.models.for_role(prompt.role).complete(prompt, hear)
        if error := fault(answer):
            raise error.costing(answer.usage)
        spent = answer.usage
        return answer
    except ModelError as exc:
        spent = exc.usage.failed
        raise
    finally:
        if spent.calls:
            await deps.database.write(lambda s: count(s, world.id, world.day, purpose, spent))


def write_prompt(context: WriteContext) -> Prompt[WrittenText]:
    """The question as it is sent."""
    return told_prompt("write", context.writer.kind, context, WrittenText, max_tokens=MAX_TOKENS[context.form])


def _formed(context: WriteContext, text: str) -> str:
    """A line said in passing is one line; a letter ends with its writer's name."""
    text = text.strip()
    if context.form == "bark":
        return " ".join(text.split())
    if context.form == "letter" and text and not text.rstrip("。.!").endswith(context.writer.name):
        return f"{text}\n{context.writer.name}"
    return text


def _fault(context: WriteContext, answer: Answer[WrittenText]) -> ModelError | None:
    """What is wrong with an answer of the right form."""
    writer, text = context.writer, _formed(context, answer.value.text)
    told = (*writer.identity, *writer.facts, *context.persona, *writer.lines, *context.secrets)
    if not text:
        return ModelEmpty(model=answer.model)
    is_out = breaks_character(text, (writer.name, writer.personality, writer.custom_prompt, *told))
    return ModelOutOfCharacter(model=answer.model) if is_out else None


async def _gather(deps: ConversationDependencies, world: WorldView, wanted: Wanted) -> WriteContext:
    refuse(
        (world.cast.person(wanted.person_id).kind == "player", "person_id", "answers.invalid_fields.player_writes"),
        ((wanted.form == "letter") != (wanted.to_id is not None), "body.to", "answers.invalid_fields.letter_to"),
    )
    to_itself = wanted.to_id is not None and world.cast.person(wanted.to_id).id == wanted.person_id
    refuse((to_itself, "body.to", "answers.invalid_fields.talks_to_itself"))
    writer = world.cast.actor(wanted.person_id)
    cools = deps.settings.memory.mood_cools_hours

    def work(session: Session) -> tuple[RecentMemory, list[Memory], Mood, tuple[str, ...], str]:
        return (
            recent_memory(session, world, writer.id, wanted.to_id),
            self_told(session, world, writer.id)[writer.id],
            moods(session, world, [writer.id], cools)[writer.id],
            _did(session, world, writer.id) if wanted.form == "diary" else (),
            world.map.label(near(session, world, writer.id)),
        )

    recent, told, mood, did, place = await deps.database.read(work)
    keeps = discretion(writer, wanted.to_id, recent.attitude.affinity).apart(
        world, writer.id, [wanted.to_id] if wanted.to_id else []
    )
    recent = keeps.recent(recent)
    limit = deps.settings.memory.recall_limit if wanted.to_id or wanted.about else 0
    kinds = set(Kind) if wanted.about else FACTS
    found = keeps.known(
        await remembered(
            deps.memory, world, writer.id, wanted.about, limit=limit, partner_id=wanted.to_id, kinds=kinds
        ),
        world,
    )
    last, to_name = recent.last_summary, world.name_of(wanted.to_id) if wanted.to_id else ""
    bears = [one for one in found if one.bears or wanted.to_id]
    learned = [clause(world, one) for one in told if keeps.lets_item(one)]
    talks = [talk_line(world, row).text for row in recent.today]
    return WriteContext(
        language=world.language,
        form=wanted.form,
        writer=writer,
        place=place,
        now=world.sky,
        mood=mood,
        about=wanted.about,
        to_id=wanted.to_id or "",
        to_name=to_name,
        stance=stance(recent.attitude, to_name, world.language) if to_name else "",
        affinity=recent.attitude.affinity,
        last_meeting=episode_told(world, episode_of(last)) if last is not None else "",
        notices=world.announced,
        secrets=keeps.open,
        persona=persona_told(world, writer, f"{wanted.about} {to_name} {place}", [wanted.to_id or ""]),
        learned=newest_within(learned, LEARNED_TOKENS),
        known=tell(world, writer.id, bears, tokens=KNOWN_TOKENS, told=learned).lines,
        mid_term=tuple(on_mind_line(world, one).text for one in recent.mid_term),
        did=tuple(line for line in did if keeps.lets(line)),
        talks=newest_within(talks, 2 * TODAY_TOKENS) if wanted.form == "diary" else (),
        own_prompts=world.cast.own_prompts,
    )


def _did(session: Session, world: WorldView, person_id: str) -> tuple[str, ...]:
    """What the person has begun to do in the world's day, and when."""
    begins = world.day_ends - MINUTES_PER_DAY
    query = select(EventRow).where(
        *told_to(Audience.WORLD, world.id),
        EventRow.person_id == person_id,
        EventRow.kind == ActivityStarted.kind,
        col(EventRow.at) >= begins,
        col(EventRow.at) <= world.now,
    )
    lines = dict[str, None]()
    for row in session.exec(query.order_by(col(EventRow.id))):
        facility = world.map.facilities.get(row.data.get("facility_id") or "")
        what = name_of_doing(world, row.data["action_id"])
        hour, minute = divmod(minute_of_day(WorldTime(row.at)), 60)
        if what:
            lines[f"{hour}:{minute:02d} {what}{f' ({facility.name})' if facility else ''}"] = None
    return newest_within(tuple(lines), TODAY_TOKENS)


LONGEST_ASIDE = 4000
"""Most characters of such a text."""
MOST_LINES, MOST_LETTERS = 20, 1000
"""So many of the last lines are shown, and so much of each; of what is asked for four times as much."""


class AsideText(BaseModel, extra="forbid"):
    """What is answered."""

    utterance: str = Field(min_length=1, max_length=LONGEST_ASIDE)


@dataclass(frozen=True, kw_only=True)
class AsideContext(PromptValues):
    """What somebody asks for who writes such a text: the talk as the client has it, each line with who said it, and
    what is `asked` for. It holds nothing that a person of the world knows or remembers.
    """

    npc_name: str
    player_name: str
    asked: str
    lines: tuple[tuple[str, str], ...] = ()


def aside_prompt(context: AsideContext, role: Role) -> Prompt[AsideText]:
    """Ask for the text. All that comes from the client is data."""
    return told_prompt("aside", role, context, AsideText)
