"""Measures what the service adds to a turn, and what a conversation costs in calls and tokens.

A scripted model of zero latency answers through the real HTTP service on SQLite, with an event listener attached. The
overhead of a turn is the time from one answer of the model to its next question: check, commit, stream, next prompt.
"""

import itertools
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.listener import listen
from service.api.server import settle_memory
from service.app import create_app
from service.conversation.acting import CharacterTurn, NpcTurn
from service.conversation.moderator import Questions
from service.llm.chat import Answer, Message, Prompt, T, TextListener, estimate_tokens, prompt_tokens
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.memory.closing.context import AttitudeDraft, ClosingAnswer
from service.memory.closing.verify import Verdict, Verdicts
from service.settings import Settings
from service.usage import Usage
from tests.memory.answers import closing, memory

CONVERSATIONS = 30
WARM_UP = 3
BRIEFLY = 3
"""So many conversations, after one, show what each way to judge attitudes costs."""
TURNS = 10
MINUTES_APART = 1440

SAID: dict[Language, tuple[str, ...]] = {
    "en": (
        "Good morning. The sea was loud last night, so I could hardly sleep at all.",
        "It always is in spring. My roof lost two tiles, and the cat would not come down.",
        "I heard there will be a market by the pier on Sunday. Will you have a stall again?",
        "If the flour arrives in time. The boat from the island is late, nobody knows why.",
        "Then I could ask the harbour master for you, I have to pass his office anyway.",
        "That would be kind. Tell him I still keep the letter he forgot here in winter.",
        "A letter? He never told me about it. Is it something that worries you?",
        "Not me, but his sister. She asked me twice whether the stamp was a foreign one.",
        "I will mention it carefully. Thank you for telling me, and for the bread as well.",
        "Come by when the tide is low, and bring the news with you. Goodbye for now.",
    ),
    "ja": (
        "おはようございます。ゆうべは海鳴りがひどくて、ほとんど眠れませんでした。",
        "春はいつもそうだよ。うちは瓦が二枚飛んで、猫が屋根から降りてこなかった。",
        "日曜日に桟橋で市が立つと聞きました。今年もお店を出されるんですか。",
        "粉が間に合えばね。島からの船が遅れているんだ、わけは誰も知らないが。",
        "それなら港の番人さんに聞いてみます。どうせ前を通りますから。",
        "助かるよ。冬に忘れていった手紙をまだ預かっていると伝えておくれ。",
        "手紙ですか。そんな話は初めて聞きました。何か心配なことでも?",
        "わたしじゃなくて妹さんがね。切手が外国のものかと二度も聞かれたよ。",
        "それとなく話してみます。教えてくださってありがとうございました。",
        "潮が引いたころにまたおいで。その時は便りを聞かせておくれ。じゃあね。",
    ),
}


class Stopwatch:
    """A model of zero latency that notes when it is asked and when it has answered, and what it is sent."""

    name = "scripted"

    def __init__(self, language: Language) -> None:
        self._lines = itertools.cycle(SAID[language])
        self.asked: list[tuple[str, float, float, tuple[Message, ...]]] = []

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """The next line of the script, or an empty recollection."""
        begun = time.perf_counter()
        value = self._answer(prompt)
        if on_text is not None and isinstance(value, NpcTurn):
            on_text(value.utterance, value.emotion)
        usage = Usage(
            calls=1,
            prompt_tokens=prompt_tokens(prompt.messages),
            completion_tokens=estimate_tokens(value.model_dump_json()),
            estimated=True,
        )
        asked = prompt.role if prompt.name == "speaker" else prompt.name
        self.asked.append((asked, begun, time.perf_counter(), prompt.messages))
        return Answer(value=prompt.answer.model_validate(value.model_dump()), usage=usage, model=self.name)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _answer(self, prompt: Prompt[Any]) -> BaseModel:
        if prompt.role == "closing":
            return _recollection()
        if prompt.role == "verify":
            claims = prompt.given.claims  # type: ignore[attr-defined] # a VerifyContext
            return Verdicts(verdicts=[Verdict(n=one.number, finding="supported") for one in claims])
        if prompt.name == "attitude":
            return self._judged(prompt)
        spoken = {"utterance": self._words(prompt), "emotion": "neutral", "wants_to_end": False}
        if prompt.role == "npc":
            return NpcTurn.model_validate(spoken)
        return CharacterTurn.model_validate({**spoken, "goal_achieved": False})

    def _words(self, prompt: Prompt[Any]) -> str:
        return next(self._lines)

    def _judged(self, prompt: Prompt[Any]) -> Questions | AttitudeDraft:
        """Questions about the last words; then values that change with every turn."""
        asked = prompt.given.lines  # type: ignore[attr-defined] # an AttitudeContext
        if prompt.answer is AttitudeDraft:
            return AttitudeDraft(power=asked[-1].turn % 3, intimacy=1, task_oriented=-(asked[-1].turn % 2))
        return Questions(power=asked[-1].text, intimacy=asked[-1].text, task_oriented=asked[-1].text)


def run(
    *, conversations: int = CONVERSATIONS, warm_up: int = WARM_UP, minutes_apart: int = MINUTES_APART
) -> dict[str, float]:
    """Figures: overhead in milliseconds, calls and prompt tokens, share of a prompt that repeats an earlier one; and
    what a conversation with its closing takes, for each way to judge attitudes.
    """
    english, japanese = (_measure(language, conversations, warm_up, minutes_apart) for language in SAID)
    briefly = min(BRIEFLY, conversations)
    others = {
        f"attitude_{attitude}_{figure}": measured[f"{figure}_per_conversation"]
        for attitude in ("off", "per_conversation", "per_turn")
        for measured in [_measure("en", briefly, min(1, warm_up), minutes_apart, attitude)]
        for figure in ("calls", "prompt_tokens")
    }
    return {
        **english,
        **others,
        "prompt_tokens_per_turn": max(english["prompt_tokens_per_turn"], japanese["prompt_tokens_per_turn"]),
        "prompt_tokens_per_turn_en": english["prompt_tokens_per_turn"],
        "prompt_tokens_per_turn_ja": japanese["prompt_tokens_per_turn"],
        "prefix_share": min(english["prefix_share"], japanese["prefix_share"]),
    }


def _measure(
    language: Language, conversations: int, warm_up: int, minutes_apart: int, attitude: str = "per_conversation"
) -> dict[str, float]:
    model = Stopwatch(language)
    with tempfile.TemporaryDirectory() as directory:
        # The others live on by routine: nobody else asks the model.
        world = {"language": language, "decision": "routine"}
        settings = Settings(data_dir=Path(directory), world=world, memory={"attitude": attitude})
        app = create_app(settings, models=Models(dict.fromkeys(ROLES, model)))
        with _served(app) as url, httpx.Client(base_url=url, timeout=60) as http, _listening(url) as listener:
            talks = [_talk(http, model, listener, minutes_apart) for _ in range(warm_up + conversations)]
            usage = http.get("/usage").raise_for_status().json()
    prefix_share = _prefix_share([prompt for talk in talks for prompt in talk["prompts"]])
    talks = talks[warm_up:]
    overheads = sorted(gap for talk in talks for gap in talk["overheads"])
    turns = sum(talk["turns"] for talk in talks)
    tokens = sum(row["prompt_tokens"] for row in usage if row["role"] in ("character", "npc"))
    return {
        "overhead_ms_p50": statistics.median(overheads) * 1000,
        "overhead_ms_p95": overheads[int(len(overheads) * 0.95)] * 1000,
        "start_ms_p50": statistics.median(talk["start"] for talk in talks) * 1000,
        "calls_per_conversation": sum(talk["calls"] for talk in talks) / len(talks),
        "turns_per_conversation": turns / len(talks),
        "prompt_tokens_per_conversation": sum(talk["tokens"] for talk in talks) / len(talks),
        "prompt_tokens_per_turn": tokens / (TURNS * (warm_up + conversations)),
        "prefix_share": prefix_share,
    }


def _talk(http: httpx.Client, model: Stopwatch, listener: "Connection[str, str]", minutes_apart: int) -> dict[str, Any]:
    """One conversation of a character that meets the same NPC again and again; then so much of the world passes."""
    way = http.post("/characters/aoi/actions", json={"type": "move", "npc_id": "npc_taro"}).raise_for_status().json()
    if way["minutes"]:
        http.post("/world/tick", json={"ticks": way["minutes"]}).raise_for_status()
    model.asked.clear()
    sent = time.perf_counter()
    goal = {"goal": "Hear the news", "success_criteria": "Something happened that was not known before"}
    body = {"character_id": "aoi", "npc_id": "npc_taro", **goal}
    started = http.post("/conversations/start", json=body).raise_for_status().json()
    listener.send(f"/conversations/{started['id']}/events")
    listener.recv()
    talk = http.get(f"/conversations/{started['id']}").raise_for_status().json()
    if talk["phase"] != "closed" or len(talk["turns"]) != TURNS:
        raise RuntimeError(f"the conversation went wrong: {talk}")
    http.post("/world/tick", json={"ticks": minutes_apart}).raise_for_status()
    asked = list(model.asked)
    return {
        "start": asked[0][1] - sent,
        "overheads": [later[1] - earlier[2] for earlier, later in itertools.pairwise(asked)][: TURNS - 1],
        "turns": len(talk["turns"]),
        "calls": talk["cost"]["calls"],
        "tokens": talk["cost"]["prompt_tokens"],
        "prompts": [(role, messages) for role, _, _, messages in asked if role in ("character", "npc")],
    }


def _prefix_share(prompts: list[tuple[str, tuple[Message, ...]]]) -> float:
    """Share of all prompt tokens that repeat, from its start, the last prompt of the same speaker, in this talk or
    before.
    """
    before: dict[str, str] = {}
    repeated = total = 0
    for role, messages in prompts:
        text = "\n".join(f"{m.role}: {m.content}" for m in messages)
        common = common_prefix(before.get(role, ""), text)
        repeated += estimate_tokens(text[:common])
        total += estimate_tokens(text)
        before[role] = text
    return repeated / total


def common_prefix(a: str, b: str) -> int:
    """Characters with which both begin."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _recollection() -> ClosingAnswer:
    told = "They talked about the night, the market and a letter that was left behind in winter."
    heard = memory("The boat from the island is late.", 3, about="the boat", teller="b")
    return closing(told, topics=("market", "letter"), first={"memories": [heard]}, second={"affinity": 5})


@contextmanager
def _listening(url: str) -> Iterator["Connection[str, str]"]:
    """A client in a process of its own, as a game is: what it costs to read is not the service's."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=listen, args=(url, there), daemon=True)
    process.start()
    try:
        yield here
    finally:
        process.terminate()
        process.join()


@contextmanager
def _served(app: FastAPI) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    settle_memory()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
