"""Owns what a closing and its verifying are worth on the models that are configured, by four short talks whose claims
are labelled (doctor.yaml).
"""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import TypeAdapter

from service.errors import ANSWERED, ModelError
from service.llm.choose import Models
from service.locales import languages
from service.memory.closing.ask import ClosingQuestion, ask
from service.memory.closing.check import check
from service.memory.closing.context import Bounded, ClosingContext, Participant, SpokenLine, ref_of
from service.memory.closing.verify import Claim, Finding, VerifyContext, verify_prompt
from service.store.event_kinds import RejectionReason
from world.time import iso, parse_time

ClaimKind = Literal["true", "number", "swapped", "denial", "teller", "joke", "not_said"]

_HELD_AT = parse_time("2026-04-01T07:00")


class LabelledClaim(Bounded):
    """A claim, as a closing could have made it, and what is to be found of it."""

    text: str
    told_by: str
    mode: str = ""
    kind: ClaimKind

    @property
    def finding(self) -> Finding:
        """What a verifier that is right says of it."""
        right: dict[ClaimKind, Finding] = {"true": "supported", "not_said": "not_said"}
        return right.get(self.kind, "contradicted")


class LabelledTalk(Bounded):
    """A talk of two: the first speaks the even turns. `truths` are the turns that tell something worth keeping."""

    language: str
    people: tuple[str, str]
    lines: list[str]
    truths: list[int]
    claims: list[LabelledClaim]

    @property
    def question(self) -> ClosingQuestion:
        """The question of its closing: in the talk's own language where there are prompts, else in English."""
        ids = [f"person_{ref_of(seat)}" for seat in range(2)]
        context = ClosingContext(
            language=next((one for one in languages() if one == self.language), "en"),
            participants=tuple(
                Participant(ref=ref_of(seat), person_id=ids[seat], name=name, affinity=0, mood="neutral")
                for seat, name in enumerate(self.people)
            ),
            now=iso(_HELD_AT),
            goal="",
            goal_achieved=False,
            lines=tuple(
                SpokenLine(
                    turn=turn,
                    speaker_id=ids[turn % 2],
                    speaker_name=self.people[turn % 2],
                    text=text,
                    at=_HELD_AT,
                )
                for turn, text in enumerate(self.lines)
            ),
        )
        return ClosingQuestion(context=context, conversation_id="doctor", known_from=dict.fromkeys(ids, _HELD_AT))


@dataclass(frozen=True, kw_only=True)
class ClosedTalk:
    """What came of a talk's closing: which of the turns that it should cite it did, and how many memories its form kept
    out for each reason. `failure`: there was no answer to use.
    """

    talk: LabelledTalk
    cited: frozenset[int] = frozenset()
    refused: Counter[RejectionReason]
    failure: ModelError | None = None


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim, and what the verifier found of it; None: it passed the claim over, or its answer could not be used."""

    claim: LabelledClaim
    finding: Finding | None


@cache
def labelled_talks() -> list[LabelledTalk]:
    """The shipped talks."""
    told = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    return TypeAdapter(list[LabelledTalk]).validate_python(yaml.safe_load(told))


async def examine(models: Models) -> tuple[list[ClosedTalk], list[JudgedClaim]]:
    """Have the roles `closing` and `verify` answer for every talk, once each.

    Raises:
        ModelError: a model cannot be asked; an answer that cannot be used is counted instead.
    """
    talks = labelled_talks()
    closed = await asyncio.gather(*(_closed(models, talk) for talk in talks))
    judged = await asyncio.gather(*(_judged(models, talk) for talk in talks))
    return closed, [one for each in judged for one in each]


async def _closed(models: Models, talk: LabelledTalk) -> ClosedTalk:
    try:
        answer = await ask(models.for_role("closing"), talk.question.context)
    except ANSWERED as exc:  # of the model it says something; a server that cannot be reached does not
        return ClosedTalk(talk=talk, refused=Counter(), failure=exc)
    checked = check(answer.value, talk.question, affinity_step=0)
    turns = {turn for side in checked.sides for one in side.memories for turn in one.turns}
    refused = [*checked.rejected, *(one for side in checked.sides for one in side.rejected)]
    return ClosedTalk(talk=talk, cited=frozenset(talk.truths) & turns, refused=Counter(one.reason for one in refused))


async def _judged(models: Models, talk: LabelledTalk) -> list[JudgedClaim]:
    context = talk.question.context
    claims = tuple(
        Claim(number=number, text=one.text, told_by=one.told_by, mode=one.mode)
        for number, one in enumerate(talk.claims, 1)
    )
    asked = VerifyContext(language=context.language, closing=context, claims=claims)
    found: dict[int, Finding] = {}
    with suppress(*ANSWERED):  # else every claim of it is one that was not judged
        answer = await models.for_role("verify").complete(verify_prompt(asked))
        found = {one.n: one.finding for one in answer.value.verdicts}
    return [JudgedClaim(claim=one, finding=found.get(number)) for number, one in enumerate(talk.claims, 1)]
