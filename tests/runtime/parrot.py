"""Owns the worst talker there is: a parrot speaks every line of its prompts back, thinks them and remembers them. And a
village with secrets, in which it must give none away.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqlmodel import Session, select

from service.content.load import Content
from service.content.profile import Secret, TellFrom
from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import PromptContext
from service.conversation.sketch import SketchContext
from service.conversation.turn_taking import those_there
from service.export.story import StorySpan, story
from service.llm.chat import Answer, Prompt, T, TextListener
from service.locales import Language
from service.memory.closing.context import ClosingContext, Participant
from service.memory.closing.verify import VerifyContext
from service.memory.mind import Evidence, ReflectionContext
from service.store.tables import ConversationRow, TurnRow
from service.usage import Usage
from tests.conversation.talks import begin, pass_minutes, place
from tests.freeze.script import ANSWERS, question_of
from tests.memory.answers import memory
from tests.runtime.worlds import TABLES
from tests.store.conversations import main

MUTE = ("mio", "ren")
"""They say, think and pass on nothing of what they know: so whatever else holds a secret has it from its owner."""
LONGEST = 380
_NO_GOAL = {"goal": "-", "success_criteria": "-"}
_GOES_ON = {"wants_to_end": False, "goal_achieved": False}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A secret of the village: the word of it that nothing else says, and the one who may be told (None: nobody
    ever).
    """

    owner: str
    mark: Mapping[Language, str]
    fact: Mapping[Language, str]
    tell_from: TellFrom
    confidant: str | None = None


SECRETS = (
    Kept(
        owner="npc_taro",
        mark={"en": "zanzibar", "ja": "翡翠"},
        fact={"en": "buried the Zanzibar ledger under the old kiln", "ja": "古い窯の下に翡翠の帳面を埋めた"},
        tell_from=TellFrom(person="mio"),
        confidant="mio",
    ),
    Kept(
        owner="npc_hamako",
        mark={"en": "cordelia", "ja": "瑠璃"},
        fact={"en": "once sailed away with a smuggler called Cordelia", "ja": "昔、瑠璃という密輸人と船で逃げた"},
        tell_from=TellFrom(affinity=40),
        confidant="ren",
    ),
    Kept(
        owner="nagi",
        mark={"en": "quetzal", "ja": "鳳凰"},
        fact={"en": "stole the quetzal feather from the shrine", "ja": "神社から鳳凰の羽根を盗んだ"},
        tell_from=TellFrom(person="mio"),
        confidant="mio",
    ),
    Kept(
        owner="aoi",
        mark={"en": "marzipan", "ja": "琥珀"},
        fact={"en": "poisoned the marzipan at the harvest feast", "ja": "祭りの琥珀糖に毒を入れた"},
        tell_from=TellFrom(affinity=100, person="nobody_here"),
    ),
    Kept(
        owner="npc_harue",
        mark={"en": "obsidian", "ja": "黒曜"},
        fact={"en": "keeps an obsidian knife in the flour bin", "ja": "粉箱に黒曜石の小刀を隠している"},
        tell_from=TellFrom(person="nobody_here"),
    ),
)


def secretive(content: Content) -> Content:
    """The same village, where some have secrets."""
    casts = {}
    for language, cast in content.casts.items():
        people: dict[str, Any] = {**cast.npcs, **cast.characters}
        for kept in SECRETS:
            secret = Secret(fact=kept.fact[language], tell_from=kept.tell_from)
            people[kept.owner] = people[kept.owner].model_copy(update={"secrets": (secret,)})
        casts[language] = replace(
            cast,
            npcs={person_id: people[person_id] for person_id in cast.npcs},
            characters={person_id: people[person_id] for person_id in cast.characters},
        )
    return replace(content, casts=casts)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A prompt that was sent, and about whom: who speaks, and with whom; or whose talk is remembered."""

    people: tuple[str, ...]
    by: str
    text: str


class Parrot:
    """A ChatModel. `asked` are all prompts it was sent."""

    name = "parrot"

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._times: Counter[str] = Counter()
        self._spoken: defaultdict[str, int] = defaultdict(int)

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """What stands in the prompt, line by line from call to call."""
        text = "\n".join(message.content for message in prompt.messages)
        given: Any = prompt.given
        if isinstance(given, VerifyContext):
            self._note(tuple(one.person_id for one in given.closing.participants), "", text)
            found = [{"n": one.number, "finding": "supported"} for one in given.claims]
            return self._answer(prompt.answer.model_validate({"verdicts": found}))
        if isinstance(given, SketchContext):
            self._note(tuple(one.speaker.id for one in given.people), "sketch", text)
            return self._answer(prompt.answer.model_validate(self._sketches(given, text)))
        question = question_of(prompt)
        self._times[question.person_id] += 1
        fields = ANSWERS[question.what](question, self._times[question.person_id], prompt.language)
        if isinstance(given, ClosingContext):
            people = tuple(one.person_id for one in given.participants)
            fields = _remembers(given)
        elif isinstance(given, PromptContext):
            people = (given.speaker.id, given.partner_id, *(one.person_id for one in given.others))
            fields |= self._speaks(given, text)
        elif isinstance(given, ReflectionContext):
            people = (given.person_id,)
            fields = {"insights": [_thinks(one) for one in given.evidence[:3]]}
        else:
            people = (given.speaker.id,)
            fields |= self._decides(given, text)
        self._note(people, people[0] if len(people) == 1 or not _closes(given) else "", text)
        value = prompt.answer.model_validate({k: v for k, v in fields.items() if k in prompt.answer.model_fields})
        if on_text is not None and "utterance" in fields:
            on_text(str(fields["utterance"]), None)
        return self._answer(value)

    def _note(self, people: tuple[str, ...], by: str, text: str) -> None:
        self.asked.append(Asked(people=people, by=by, text=text))

    def _answer(self, value: T) -> Answer[T]:
        return Answer(value=value, usage=Usage(calls=1, prompt_tokens=10, completion_tokens=5), model=self.name)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _speaks(self, given: PromptContext, text: str) -> dict[str, Any]:
        number = self._times[given.speaker.id]
        if given.speaker.id in MUTE:
            words = f"{number} × {number} = {number * number}; {'abcdefgh'[number % 8] * 9} {number + 7}"
            return {"utterance": words, "goal": "-", "success_criteria": "-", **_GOES_ON}
        marked = [line for line in text.split("\n") if _is_marked(line, given.language)]
        is_first = not any(line.speaker_id == given.speaker.id for line in given.lines)
        said = marked[0][:LONGEST] if marked and is_first else self._lines(given.speaker.id, text, LONGEST)
        return {"utterance": said, "goal": said[:190], "success_criteria": said[:190], **_GOES_ON}

    def _sketches(self, given: SketchContext, text: str) -> dict[str, Any]:
        """Both say what stands in the prompt."""
        names = given.names
        said = [self._lines(one.speaker.id, text, LONGEST) for one in given.people * 3]
        turns = [
            {"speaker": names[place % 2], "utterance": words, "emotion": "neutral"} for place, words in enumerate(said)
        ]
        return {"turns": turns, "goal_achieved": False, **(_NO_GOAL if "goal" in given.answer.model_fields else {})}

    def _decides(self, given: Any, text: str) -> dict[str, Any]:
        """It talks with whomever it can."""
        if not hasattr(given, "offers"):
            return {}
        talks = [offer.number for offer in given.offers if offer.partner_name]
        chosen = {"choice": talks[self._times[given.speaker.id] % len(talks)]} if talks else {}
        if given.speaker.id in MUTE:
            return chosen
        said = self._lines(f"{given.speaker.id} decides", text, 190)
        return {"thought": said, "goal": said, "success_criteria": said, **chosen}

    def _lines(self, who: str, text: str, longest: int) -> str:
        """The next lines of the prompt that fit."""
        lines = [line.strip("- ") for line in text.split("\n") if line.strip("- ")]
        said = ""
        for _ in lines:
            line = lines[self._spoken[who] % len(lines)]
            if said and len(said) + len(line) >= longest:
                break
            self._spoken[who] += 1
            said = f"{said} {line}".strip()
        return said[:longest]


async def confide(room: ConversationDependencies, times: int) -> None:
    """Each owner talks with its confidant that often."""
    for kept in SECRETS:
        for _ in range(times if kept.confidant else 0):
            place(room, str(kept.confidant))
            if kept.owner in room.worlds.content.cast("en").characters:
                place(room, kept.owner)
            key = main(begin(room, character_id=str(kept.confidant), npc_id=kept.owner, goal=None))
            await Engine(room).converse(key)
            await close(room, key)
            pass_minutes(room, 30)


def _closes(given: Any) -> bool:
    return isinstance(given, ClosingContext)


def _remembers(given: ClosingContext) -> dict[str, Any]:
    """Everything that was said, secrets first. Who may be told for love is loved more each time."""
    said = sorted(given.lines, key=lambda line: not _is_marked(line.text, given.language))
    paragraph = [line.text[:200] for line in islice(said, 4)]
    people = {owner.ref: {**_feels(given, owner), "paragraph": paragraph} for owner in given.participants}
    memories = [
        {"owner": owner.ref, **one} for owner in given.participants for one in _takes_away(given, owner, said)[:8]
    ]
    return {"people": people, "memories": memories, "promises": [], "not_to_quote": [], "reached": []}


def _thinks(evidence: Evidence) -> dict[str, Any]:
    return {"text": evidence.text[:200], "evidence": [evidence.ref], "importance": 9}


def _takes_away(given: ClosingContext, owner: Participant, said: Sequence[Any]) -> list[dict[str, Any]]:
    """What was said, with who said it; what others told first, and the first of it as on its mind, too."""
    refs = {one.person_id: one.ref for one in given.participants}
    told = sorted(said, key=lambda line: line.speaker_id == owner.person_id)
    lasts = ["long"] * len(told) + ["high"] * min(2, len(told))
    return [
        memory(f"{line.text[:200]}{' ' * (kept != 'long')}", line.turn, teller=refs[line.speaker_id], lasts=kept)
        for line, kept in zip([*told[:6], *told[:2]], [*lasts[: len(told[:6])], "high", "high"], strict=False)
    ]


def _feels(given: ClosingContext, owner: Participant) -> dict[str, Any]:
    liked = {other.ref: min(100, had.affinity + _loved(owner, other)) for other, had in given.others_of(owner)}
    likes: dict[str, Any] = {"towards": liked} if given.is_group else {"affinity": liked[given.partner_of(owner).ref]}
    stands = {"power": 0, "intimacy": 0, "task_oriented": 0}
    judged = {other.ref: stands for other, had in given.others_of(owner) if given.is_judged(had)}
    if judged:
        likes["attitude"] = judged if given.is_group else stands
    elif not given.is_group:
        likes["attitude"] = None
    return {"mood": "neutral", "topics": [], **likes}


def _loved(owner: Participant, other: Participant) -> int:
    return 15 * any(kept.confidant == other.person_id and kept.owner == owner.person_id for kept in SECRETS)


def _is_marked(text: str, language: Language) -> bool:
    return any(kept.mark[language] in text.casefold() for kept in SECRETS)


def told(session: Session, kept: Kept, language: Language) -> int:
    """In how many turns the owner told its confidant."""
    query = select(ConversationRow)
    return sum(
        kept.mark[language] in turn.casefold()
        for row in session.exec(query).unique()
        if {*row.person_ids} == {kept.owner, kept.confidant}
        for turn in _turns_of(session, row, kept.owner)
    )


def leaks(session: Session, asked: Sequence[Asked], language: Language, names: Mapping[Language, str]) -> Iterator[str]:
    """Where a secret stands that nobody may know, or one that only its owner and its confidant know."""
    rows = list(_rows(session))
    lines = [str(line) for line in story(session, "main", names, StorySpan(), place="")]
    talks = {row.id: row for row in session.exec(select(ConversationRow)).unique()}
    for kept in SECRETS:
        mark, pair = kept.mark[language], frozenset((kept.owner, kept.confidant))
        for one in asked:
            if mark in one.text.casefold() and not _may_hold(kept, one):
                yield f"prompt of {one.people}: {mark}"
        for table, row in rows:
            text = json.dumps(row, ensure_ascii=False, default=str).casefold()
            if mark in text and (kept.confidant is None or not _is_theirs(table, row, pair, talks)):
                yield f"{table}: {text}"
        if kept.confidant is None:
            yield from (line for line in lines if mark in line.casefold())


def _may_hold(kept: Kept, one: Asked) -> bool:
    if kept.confidant is None:
        return False
    if one.by in (kept.confidant, ""):  # who was told may hold it in mind, and its own closings are shown what it knew
        return kept.confidant in one.people
    return one.by == kept.owner and {kept.owner, kept.confidant} <= {*one.people}


def _is_theirs(
    table: str, row: Mapping[str, Any], pair: frozenset[str | None], talks: Mapping[str, ConversationRow]
) -> bool:
    """Whether it is of what the two said while nobody else was there, or a memory of one of them."""
    inside = row.get("data") or row.get("payload") or {}
    talk_id = row["id"] if table == "conversations" else row.get("conversation_id") or inside.get("conversation_id")
    person, talk = row.get("person_id") or row.get("character_id"), talks.get(str(talk_id))
    turn = row.get("turn") if table == "turns" else inside.get("turn")
    if talk is not None and turn is not None:
        return {one.person_id for one in those_there(talk, turn)} == pair
    return person in pair or (talk is not None and person is None and pair <= {*talk.person_ids})


def _rows(session: Session) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row of every table, but for what of a turn's row stood in its speaker's prompt alone: prompts are looked at
    themselves, and who was told may hold it in mind.
    """
    for name, table in TABLES.items():
        hidden = {"note", "recalled"} if table is TurnRow else set[str]()
        yield from ((name, row.model_dump(exclude=hidden)) for row in session.exec(select(table)).unique())


def _turns_of(session: Session, row: ConversationRow, speaker_id: str) -> Iterator[str]:
    yield from session.exec(
        select(TurnRow.text).where(TurnRow.conversation_id == row.id, TurnRow.speaker_id == speaker_id)
    )
