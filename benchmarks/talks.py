"""Measures how talks go: how they end where every fifth answer of the model is a fault, of ten kinds; whether the last
line of one with a goal is left unanswered; and what stands in an answer before its first word.

The words are the rehearsal's, or a script's. A faulty answer is read as one of a server is; who asks again is answered
without the waits between. What is drawn is drawn from a seed.
"""

import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from typer.testing import CliRunner

from benchmarks import evidence
from service.app import create_app
from service.content.files import init_content
from service.conversation.acting import LONGEST_WORDS, CharacterTurn
from service.errors import (
    ModelBroken,
    ModelEmpty,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelServerError,
    ModelTimeout,
)
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener, estimated
from service.llm.choose import ROLES, Models
from service.llm.reply import read_answer
from service.llm.wrappers import Retrying
from service.offline.model import OfflineModel
from service.settings import LlmSettings
from service.store.phase import EndReason, Phase
from studio.cli.main import cli
from tests.api.play import settings_for, talk, write_village

SHARE = 0.2
WAITS = 120.0
"""Seconds that a talk waits for a model that is away."""

FOREIGN = (
    "Das Brot ist heute Morgen leider schon ausverkauft, mein Herr.",
    "Je ne sais pas où elle est allée ce matin, monsieur.",
    "パンは朝のうちに売り切れてしまったので、また明日来てください。",
    "面包今天早上已经卖完了，真是对不起，请明天再来。",
)
NONSENSE = (
    "bread bread bread bread bread bread bread bread bread",
    "ああああああああああああああああああああああああああ",
    "!!!!! ????? !!!!! ????? !!!!!",
    "I have two ch\ufffdldren and a b\ufffdat.",
)
MARKS = ("<|im_end|>", "[/INST]", "</s>", "<end_of_turn>")


def _with(utterance: Callable[[random.Random, str], str]) -> Callable[[random.Random, dict[str, Any]], str]:
    """The content of an answer with those words in place of its own."""
    return lambda draw, value: json.dumps({**value, "utterance": utterance(draw, value["utterance"])})


def _too_long(draw: random.Random, words: str) -> str:
    """The words, and what a model adds that does not come to an end."""
    more = (f"And {n} {draw.choice(('boats', 'gulls', 'letters'))} I counted on day {n * 7}." for n in range(2, 60))
    return " ".join((words, *more))


CONTENT: dict[str, Callable[[random.Random, dict[str, Any]], str]] = {
    "foreign": _with(lambda draw, _: draw.choice(FOREIGN)),
    "nonsense": _with(lambda draw, _: draw.choice(NONSENSE)),
    "marks": _with(lambda draw, words: f"{words} {draw.choice(MARKS)}{draw.choice(MARKS)}"),
    "too_long": _with(_too_long),
    "broken": lambda _, value: json.dumps(value)[:-7],
}
"""What a server sends instead of an answer."""
FACTS = {"model": "m", "reason": "a fault", "seconds": 60, "retry_after_seconds": None}
ERRORS: dict[str, Callable[[], ModelError]] = {
    "timeout": lambda: ModelTimeout(**FACTS),
    "rate": lambda: ModelRateLimited(**FACTS),
    "away": lambda: ModelServerError(**FACTS, status_code=503),
    "refused": lambda: ModelRefused(**FACTS),
    "empty": lambda: ModelEmpty(**FACTS),
}
KINDS = (*CONTENT, *ERRORS)


class Faulty(ModelWrapper):
    """A ChatModel whose answers are now and then faults; which ones is drawn."""

    def __init__(self, inner: ChatModel, draw: random.Random) -> None:
        super().__init__(inner)
        self._draw = draw

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Raises: ModelError: one of the kinds."""
        kind = self._draw.choice(KINDS) if self._draw.random() < SHARE else ""
        if kind in ERRORS:
            raise ERRORS[kind]()
        answer = await self._inner.complete(prompt, on_text)
        if not kind:
            return answer
        value = answer.value.model_dump(mode="json")
        if "utterance" not in value:
            raise ModelBroken(**FACTS)
        return estimated(prompt, read_answer(CONTENT[kind](self._draw, value), prompt.answer, "m"), self.name)


class Scripted:
    """A ChatModel that reaches its goal, or takes its leave, at a given turn; where it is told to, it says goodbye."""

    name = "scripted"

    def __init__(self, at: int, *, reaches: bool) -> None:
        self._at = at
        self._reaches = reaches
        self._closing = OfflineModel()
        self.leaves: list[bool] = []
        """of each turn, whether its speaker takes its leave"""

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt."""
        if prompt.name != "speaker":
            return await self._closing.complete(prompt, on_text)
        said = len(getattr(prompt.given, "lines", ()))
        is_told = "goodbye" in prompt.messages[-1].content
        value: dict[str, Any] = {"utterance": LINES[said % len(LINES)], "emotion": "neutral"}
        value |= {"wants_to_end": is_told or (not self._reaches and said == self._at)}
        self.leaves.append(value["wants_to_end"])
        if issubclass(prompt.answer, CharacterTurn):
            value |= {"goal_achieved": self._reaches and said >= self._at}
        return estimated(prompt, prompt.answer.model_validate(value), self.name)

    async def aclose(self) -> None:
        """Nothing to release."""


LINES = (
    "Good morning. The sea was loud last night, and I hardly slept at all.",
    "It always is in spring. My roof lost two tiles, and the cat stayed up there.",
    "Is it true that there will be a market by the pier on Sunday?",
    "If the flour comes in time. The island boat is late, and nobody knows why.",
    "Then I could ask the harbour master for you; I pass his office anyway.",
    "That would be kind. He forgot a letter here in winter, and I still keep it.",
    "A letter? He never told me of one. Does it worry you to have it?",
    "Not me, but his sister does. She asked me twice about the stamp on it.",
    "I will mention it with care. Thank you for telling me, and for the bread.",
    "Come by when the tide is low, and bring me what you hear.",
)
GOALS = tuple((at, reaches) for reaches in (True, False) for at in range(1, 9))
"""Turns at which a goal is reached, or somebody takes its leave."""


CASES = Path(__file__).parent / "dialogue_cases"


def run(
    talks: int = 200, goals: int = 20, seed: int = 7, splits: str = evidence.SPLITS, most: int | None = None
) -> dict[str, float]:
    """Figures: shares of talks that end well, and that are broken off; faults that were kept; what stands before the
    first word; of direct questions to imported people, and to one with a past, those whose answer stands in the prompt.
    """
    told = evidence.run(splits, most, CASES)
    return {
        **_under_faults(talks, seed),
        "broken_off_share": _broken_off(goals),
        **_first_word(),
        "persona_reached_share": _persona_reached(most),
        **{name: value for name, value in told.items() if not name.startswith(("found", "unfound"))},
    }


def _under_faults(talks: int, seed: int) -> dict[str, float]:
    """Talks of which every fifth answer is a fault. `nonsense_kept` are turns with words that no person says;
    `authored` are those that an author had written for whom a model would not speak.
    """
    model = Retrying(
        Faulty(OfflineModel(), random.Random(seed)),
        attempts=LlmSettings().attempts,
        backoff_seconds=0,
        rng=random.Random(seed),
    )
    ended = kept = authored = remembered = 0
    with _service(model) as client:
        for number in range(talks):
            held = talk(client, world=f"talk-{number}")
            ended += held["end_reason"] != EndReason.MODEL_FAILURE
            remembered += held["phase"] == Phase.CLOSED
            kept += sum(_is_fault(turn["text"]) for turn in held["turns"])
            authored += sum(turn["model"] == "author" for turn in held["turns"])
    return {
        "talks": talks,
        "ended_well_share": ended / talks,
        "remembered_at_once_share": remembered / talks,
        "nonsense_kept": kept,
        "authored_turns": authored,
    }


def _is_fault(text: str) -> bool:
    planted = any(words in text for words in (*FOREIGN, *NONSENSE, *MARKS))
    return planted or len(text) > LONGEST_WORDS


def _broken_off(talks: int) -> float:
    """Share of talks with a goal that end before somebody has taken its leave and been answered."""
    broken = 0
    for number in range(talks):
        at, reaches = GOALS[number % len(GOALS)]
        model = Scripted(at, reaches=reaches)
        with _service(model) as client:
            talk(client, world=f"goal-{number}")
        broken += True not in model.leaves[:-1]
    return broken / talks


def _first_word() -> dict[str, float]:
    """Pieces of JSON before the first word that is spoken: each run of letters, or of marks, is one (a tokenizer may
    make two of a longer one).
    """
    fields = [*CharacterTurn.model_json_schema()["properties"]]
    before = dict.fromkeys(fields[: fields.index("utterance")], "neutral") | {"utterance": "@"}
    text = json.dumps(before, separators=(",", ":")).partition("@")[0]
    return {"tokens_before_first_word": len(re.findall(r"\w+|[^\w\s]+", text))}


def _persona_reached(most: int | None) -> float:
    """Share of direct questions to three people of foreign files whose answer stands in the prompt."""
    case = json.loads((CASES / "persona.json").read_text(encoding="utf-8"))
    model = evidence.Noting()
    with tempfile.TemporaryDirectory() as directory:
        content = Path(directory) / "content"
        init_content(content)
        for one in case["people"]:
            _take_in(one["form"], CASES / one["file"], content)
        settings = settings_for(Path(directory), content)
        with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, model)))) as client:
            ids = {one["name"]: one["id"] for one in client.get("/characters", params={"limit": 100}).json()}
            client.put("/people/ken", json={"kind": "player", "name": "Ken"}).raise_for_status()
            told = [
                _asked(client, model, ids[one["name"]], question)
                for one in case["people"]
                for question in one["questions"][:most]
            ]
    return sum(told) / len(told)


def _take_in(form: str, file: Path, content: Path) -> None:
    if form == "kataribe":
        text = file.read_text(encoding="utf-8").replace("harbour_wall", "pier_end")
        (content / "characters" / file.name).write_text(text, encoding="utf-8")
        return
    done = CliRunner().invoke(cli, ["import", form, str(file), "--content", str(content)])
    assert done.exit_code == 0, done.output


def _asked(client: TestClient, model: evidence.Noting, person_id: str, question: Mapping[str, Any]) -> bool:
    model.says = "I see."
    here = client.get(f"/people/{person_id}").json()["position"]["node_id"]
    client.put("/people/ken", json={"kind": "player", "name": "Ken", "node_id": here})
    start = {"mode": "player", "player_id": "ken", "partner_id": person_id}
    begun = client.post("/conversations/start", json=start).raise_for_status().json()["id"]
    client.post(f"/conversations/{begun}/say?wait=true", json={"text": question["said"]}).raise_for_status()
    told = "\n".join(one.content for one in model.asked[-1]).casefold()
    client.post(f"/conversations/{begun}/end").raise_for_status()
    return any(one.casefold() in told for one in question["needs"])


@contextmanager
def _service(model: ChatModel) -> Iterator[TestClient]:
    with tempfile.TemporaryDirectory() as directory:
        content = write_village(Path(directory) / "content")
        settings = settings_for(Path(directory), content, llm={"away_seconds": WAITS})
        with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, model)))) as client:
            yield client
