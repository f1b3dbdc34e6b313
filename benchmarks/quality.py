"""Measures what checks of quality cost, and what they find.

A conversation and a day of the rehearsal with quality off, on for 5 % and on for all: calls and tokens. Twenty wrong
lines in each language (quality_cases/), half of them held back from who writes checks, each said once by a script that
then says something else: how many are said anew where the judge sees nothing, so by rule alone, and where it sees what
is wrong. And lines with nothing wrong (talk_cases/clean.*.yaml) that a rule would have had said anew.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from service.content.files import bundled_content
from service.content.load import Content, load_content
from service.content.profile import PlayerProfile
from service.conversation.acting import NpcTurn
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.human import Words, say
from service.conversation.prompt import PromptContext
from service.conversation.start import Start, start_with_player
from service.llm.chat import Answer, ChatModel, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.locales import languages
from service.memory.secrets import discretion
from service.offline.model import OfflineModel
from service.quality.checked import TurnChecks
from service.quality.checks import ASKED, CheckContext, Dimension, Exchange, GivenMarks, Standard, by_rule, lowest
from service.settings import QualitySettings, Settings
from service.store.quality import quality_rows
from service.store.tables import ConversationKey
from service.store.usage import usage_rows
from service.wiring import Wiring, thrown_away
from tests.conversation.talks import meet
from tests.runtime.lives import hamlet, house, rehearsal

CASES, CLEAN = Path(__file__).parent / "quality_cases", Path(__file__).parent / "talk_cases"
SHARES: Mapping[str, float] = {"off": 0, "5": 0.05, "all": 1}
DAY = 24 * 60
_GOOD = {
    "en": "Let me think about that for a moment, will you?",
    "ja": "ちょっと考えさせてもらえるかい。",
}
_WRONG: Mapping[str, Dimension] = {
    "persona": "persona",
    "contradiction": "consistency",
    "repetition": "suitability",
    "language": "fluency",
    "assistant": "fluency",
}


def run(minutes: int = DAY, talks: int = 20, wrong: int | None = None) -> dict[str, float]:
    """All figures: of so many conversations, of so many minutes of four people's lives, and of so many wrong lines of
    each half and language (None: of all).
    """
    content = load_content(bundled_content())
    figures: dict[str, float] = {}
    for name, share in SHARES.items():
        rules = QualitySettings(share=share)
        for kind, spent in (
            ("conversations", asyncio.run(_talked(content, rules, talks))),
            ("day", asyncio.run(_lived(content, rules, minutes))),
        ):
            figures |= {f"{kind}_{name}_{what}": count for what, count in spent.items()}
    for half in ("dev", "held"):
        for judge in ("blind", "seeing"):
            found = asyncio.run(_seeded(content, half, wrong, sees=judge == "seeing"))
            figures |= {f"seeded_{half}_{judge}_{what}": count for what, count in found.items()}
    clean = [mark for half in ("dev", "held") for mark in _clean(content, half)]
    return {**figures, "clean_lines": len(clean), "clean_said_anew": sum(score < 7 for score in clean)}


async def _talked(content: Content, rules: QualitySettings, talks: int) -> dict[str, int]:
    """Calls and tokens of conversations of Aoi with Taro, each in a world of its own."""
    total = {"calls": 0, "tokens": 0, "quality_calls": 0}
    with tempfile.TemporaryDirectory() as directory:
        async with house(content, Path(directory), rehearsal(), quality=rules if rules.is_on else None) as home:
            for number in range(talks):
                world_id = f"w{number}"
                conversation_id = await asyncio.to_thread(partial(meet, home.room, world_id=world_id))
                await Engine(home.room).converse(ConversationKey(world_id, conversation_id))
                total = {
                    what: count + spent
                    for (what, count), spent in zip(total.items(), _spent(home.room, world_id), strict=True)
                }
    return total


async def _lived(content: Content, rules: QualitySettings, minutes: int) -> dict[str, int]:
    """Calls and tokens of four people's lives."""
    with tempfile.TemporaryDirectory() as directory:
        model, checks = rehearsal(), rules if rules.is_on else None
        async with house(hamlet(content), Path(directory), model, quality=checks) as home:
            await home.live(minutes)
            return dict(zip(("calls", "tokens", "quality_calls"), _spent(home.room, "main"), strict=True))


def _spent(room: ConversationDependencies, world_id: str) -> tuple[int, int, int]:
    rows = room.database.read_now(lambda s: usage_rows(s, world_id))
    return (
        sum(row.calls for row in rows),
        sum(row.prompt_tokens + row.completion_tokens for row in rows),
        sum(row.calls for row in rows if row.role == "quality"),
    )


class _Seeded:
    """Says the lines of a case, and, asked anew, something else. As a judge it gives the highest marks, but a low one
    to the wrong line where it `sees`.
    """

    name = "scripted"

    def __init__(self, case: Mapping[str, Any], *, sees: bool) -> None:
        self._case, self._sees = case, sees
        self._offline = OfflineModel()

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """What is scripted; what else is asked the rehearsal answers."""
        given, case = prompt.given, self._case
        value: Any
        if isinstance(given, PromptContext):
            text = case["said"][len(given.lines)]
            value = NpcTurn(
                emotion="neutral",
                utterance=_GOOD[case["language"]] if given.feedback or given.nudge else text,
                wants_to_end=False,
            )
        elif isinstance(given, CheckContext):
            marks = {name: {"reason": "Fine.", "score": 9} for name in ASKED}
            if self._sees and given.line == case["said"][-1].strip():
                marks[_WRONG[case["kind"]]] = {"reason": "This is wrong.", "score": 2}
            value = GivenMarks.model_validate(marks)
        else:
            return await self._offline.complete(prompt, on_text)
        return Answer(value=value, model=self.name, usage=(await self._offline.complete(prompt)).usage)

    async def aclose(self) -> None:
        """Nothing to release."""


async def _seeded(content: Content, half: str, most: int | None, *, sees: bool) -> dict[str, int]:
    """Of how many wrong lines how many were not said, and the calls of their checks."""
    found = {"lines": 0, "said_anew": 0, "calls": 0}
    for language in languages():
        players = {"ken": PlayerProfile(id="ken", name="Ken")}
        casts = {code: replace(cast, players=players) for code, cast in content.casts.items()}
        settings = Settings(
            _env_file=None,
            embedding={"provider": "none"},
            llm={"provider": "rehearsal", "cassette": None},
            world={"language": language},
        )
        async with AsyncExitStack() as ending:
            apart = ending.enter_context(thrown_away(settings))
            wiring = Wiring(apart, content=replace(content, casts=casts))
            deps = (await ending.enter_async_context(wiring.running(lives=False))).conversation
            cases = [case for case in _read(CASES / f"lines.{half}.yaml") if case["language"] == language]
            for number, case in enumerate(cases[:most]):
                anew, calls = await _case(deps, case, f"c{number}", _Seeded(case, sees=sees))
                found = {
                    "lines": found["lines"] + 1,
                    "said_anew": found["said_anew"] + anew,
                    "calls": found["calls"] + calls,
                }
    return found


async def _case(
    deps: ConversationDependencies, case: Mapping[str, Any], world_id: str, model: ChatModel
) -> tuple[bool, int]:
    """Whether the last line was said anew, and the calls of its check."""
    models = Models(dict.fromkeys(ROLES, model))
    room = replace(deps, models=models, quality=TurnChecks(QualitySettings(share=1), models))
    wanted = Start(opener_id="ken", partner_id=case["npc"], max_turns=20, place_waived=True)
    row = await room.database.write(
        lambda s: start_with_player(s, room.worlds.open(s, world_id, lock=True), wanted, models.names())
    )
    engine = Engine(room)
    for line in case["said"][::2]:
        await room.database.write(lambda s, said=line: say(s, room.worlds, row.key, Words(text=said)))  # type: ignore[misc]
        await engine.converse(row.key)
    last = (await room.database.read(lambda s: quality_rows(s, world_id)))[-1]
    return last.line != case["said"][-1].strip(), last.calls


def _clean(content: Content, half: str) -> list[int]:
    """The lowest mark that a rule gives to each line that has nothing wrong."""
    scores = []
    for one in _read(CLEAN / f"clean.{half}.yaml"):
        cast, lines = content.cast(one["language"]), one["lines"]
        speaker = cast.actor(one["npc"])
        standard = Standard(
            speaker=speaker,
            language=one["language"],
            discretion=discretion(speaker, "player", 0),
        )
        said = [Exchange(*pair) for pair in zip(lines[::2], lines[1::2], strict=True)]
        scores += [lowest(by_rule(line, said[:number], standard)[0]) for number, line in enumerate(said)]
    return scores


def _read(file: Path) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = yaml.safe_load(file.read_text("utf-8"))
    return read
