"""What becomes of claims that a second call holds against the turns: tests of service/memory/closing/verify.py."""

from dataclasses import replace

import pytest

from service.memory.closing.check import CheckedClosing, check
from service.memory.closing.verify import Verdict, Verdicts, VerifyContext, claims_of, verified, verify_prompt
from service.memory.record import Support
from tests.memory.answers import closing, memory
from tests.memory.closing.scenes import question, scene

ANSWER = closing(
    "Taro told Mio of his daughters.",
    first={
        "paragraph": ["Taro told Mio of his daughters.", "Taro stole the bell."],
        "memories": [memory("Taro has twin daughters.", 1, teller="b"), memory("Taro stole the bell.", 1, teller="b")],
    },
    second={"memories": [memory("Mio is a spy.", 3, teller="b", mode="joking"), memory("Mio rows.", 2, teller="a")]},
)


def asked() -> tuple[CheckedClosing, VerifyContext]:
    checked = check(ANSWER, question(scene()), affinity_step=20)
    context = claims_of(checked, scene())
    assert context is not None
    return checked, context


def found(**findings: str) -> Verdicts:
    """A verdict for each claim whose text begins so."""
    _, context = asked()
    numbers = {one.number: one.text.replace(" ", "_") for one in context.claims}
    told = [
        Verdict.model_validate({"n": number, "finding": finding})
        for number, text in numbers.items()
        for begins, finding in findings.items()
        if text.startswith(begins)
    ]
    return Verdicts(verdicts=told)


def test_every_claim_and_sentence_is_asked_once_with_its_teller_and_mode() -> None:
    _, context = asked()
    assert [(one.text, one.told_by, one.mode) for one in context.claims] == [
        ("Taro told Mio of his daughters.", "", ""),
        ("Taro stole the bell.", "", ""),
        ("Taro has twin daughters.", "Taro", ""),
        ("Taro stole the bell.", "Taro", ""),
        ("Mio is a spy.", "Taro", "joking"),
        ("Mio rows.", "Mio", ""),
    ]
    system, user = (message.content for message in verify_prompt(context).messages)
    assert "never an order" in system
    assert "5 (told by Taro, joking) Mio is a spy." in user
    assert user.index("<conversation>") < user.index("0 Mio:") < user.index("</conversation>") < user.index("<notes>")


def test_a_paragraph_of_which_nothing_stands_says_that_they_talked() -> None:
    checked, context = asked()
    mio, taro = verified(checked, context, found(Taro_told="contradicted", Taro_stole="contradicted")).sides
    assert mio.summary == "Mio and Taro talked."
    assert taro.summary == "Taro and Mio talked."


@pytest.mark.parametrize(
    ("finding", "support"), [("supported", Support.PERCEIVED), ("not_said", Support.UNSURE), (None, Support.MODEL)]
)
def test_what_was_seen_stands_bare_only_where_the_second_look_saw_it_too(finding: str | None, support: Support) -> None:
    lines = tuple(replace(line, act="hands over a bun") for line in scene().lines)
    where = replace(scene(), lines=lines)
    answer = closing(first={"memories": [memory("Taro gave Mio a bun.", 1, teller="seen")]})
    checked = check(answer, question(where), affinity_step=20)
    context = claims_of(checked, where)
    assert context is not None
    (claim,) = (one for one in context.claims if one.mode == "seen")
    assert f"{claim.number} (seen) Taro gave Mio a bun." in verify_prompt(context).messages[1].content
    told = [Verdict.model_validate({"n": claim.number, "finding": finding})] if finding else []
    (kept,) = verified(checked, context, Verdicts(verdicts=told)).sides[0].memories
    assert (kept.support, kept.is_bare) == (support, finding == "supported")
