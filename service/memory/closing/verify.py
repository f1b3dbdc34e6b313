"""Owns the third step of a closing: a second call holds what the first one wrote against the turns, and what becomes of
it then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from service.llm.chat import Prompt, PromptValues
from service.memory.closing.ask import TEMPLATES
from service.memory.closing.check import CheckedClosing, CheckedSide, Rejected
from service.memory.closing.context import SEEN, Bounded, ClosingContext
from service.memory.record import Kind, Memory, Mode, Support
from service.store.event_kinds import RejectionReason

Finding = Literal["supported", "contradicted", "not_said"]
MAX_TOKENS = 900


class Verdict(Bounded):
    """What is found of the claim with that number."""

    n: Annotated[int, Field(ge=1, le=99)]
    finding: Finding


class Verdicts(Bounded):
    """One for each claim."""

    verdicts: list[Verdict] = Field(max_length=60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A sentence to be held against the turns. `told_by` is the name of who is said to have told it, and then whom that
    one has it from; `mode` is how it is said to have been meant, or that it was `SEEN`. Of a sentence of a paragraph
    both are "".
    """

    number: int
    text: str
    told_by: str = ""
    mode: str = ""


@dataclass(frozen=True, kw_only=True)
class VerifyContext(PromptValues):
    """All that the second call may draw on."""

    closing: ClosingContext
    claims: tuple[Claim, ...]


def claims_of(checked: CheckedClosing, context: ClosingContext) -> VerifyContext | None:
    """What is to be verified; None: nothing is. Equal sentences of several people's paragraphs are asked once."""
    names = context.names
    told: dict[tuple[str, str, str], None] = {}
    for side in checked.sides:
        told |= dict.fromkeys((line, "", "") for line in side.paragraph)
        told |= {_key(one, names): None for one in side.memories if not one.is_bare}
    claims = (Claim(number=n, text=t, told_by=by, mode=mode) for n, (t, by, mode) in enumerate(told, 1))
    values = {"language": context.language, "own_prompts": context.own_prompts}
    return VerifyContext(closing=context.whole, claims=tuple(claims), **values) if told else None  # type: ignore[arg-type] # values


def verify_prompt(context: VerifyContext, thread: str = "") -> Prompt[Verdicts]:
    """The question as it is sent. `thread` says of which conversation."""
    return TEMPLATES.question("verify", "verify", context, Verdicts, max_tokens=MAX_TOKENS, thread=thread)


def verified(checked: CheckedClosing, context: VerifyContext, verdicts: Verdicts) -> CheckedClosing:
    """What is left: contradicted claims and sentences are kept out, supported ones are verified, and what was seen done
    perceived. One that was not found said is unsure; so it is no matter of the next days, and no goal reached. One that
    the answer passes over stays as it was.
    """
    names = context.closing.names
    by_number = {one.n: one.finding for one in verdicts.verdicts}
    found = {(one.text, one.told_by, one.mode): by_number.get(one.number) for one in context.claims}
    return replace(checked, sides=tuple(_side(side, found, names, context.closing) for side in checked.sides))


def _side(
    side: CheckedSide,
    found: Mapping[tuple[str, str, str], Finding | None],
    names: Mapping[str, str],
    context: ClosingContext,
) -> CheckedSide:
    kept: list[Memory] = []
    rejected = list(side.rejected)
    for one in side.memories:
        finding = None if one.is_bare else found.get(_key(one, names))
        if finding == "contradicted" or (finding == "not_said" and one.kind in (Kind.MID_TERM, Kind.INSIGHT)):
            reason = RejectionReason(finding)
            rejected.append(Rejected(statement=one.text, turn=one.turn, reason=reason, importance=one.importance))
        else:
            kept.append(replace(one, support=_support(one, finding)))
    lines = [(line, found.get((line, "", ""))) for line in side.paragraph]
    astray = [line for line, finding in lines if finding == "contradicted"]
    rejected += [Rejected(statement=line, turn=None, reason=RejectionReason.CONTRADICTED) for line in astray]
    paragraph = tuple(line for line in side.paragraph if line not in astray)
    stands = all(finding == "supported" for _, finding in lines if finding != "contradicted")
    support = Support.VERIFIED if stands else side.support
    return replace(
        side,
        memories=tuple(kept),
        paragraph=paragraph or (context.talked(side.participant),),
        rejected=tuple(rejected),
        support=support,
    )


def _support(one: Memory, finding: Finding | None) -> Support:
    if finding is None:
        return one.support
    stands = Support.PERCEIVED if one.kind is Kind.OBSERVED else Support.VERIFIED
    return stands if finding == "supported" else Support.UNSURE


def _key(one: Memory, names: Mapping[str, str]) -> tuple[str, str, str]:
    mode = SEEN if one.kind is Kind.OBSERVED else "" if one.mode is Mode.STATED else str(one.mode)
    return one.text, ", ".join(names.get(each, each) for each in (one.told_by, *one.via) if each), mode
