"""Owns the tests of which gesture a request is, from its messages and what stands."""

from typing import Any

import pytest

from service.api.chat.schemas import ChatIn, Gesture, OpenChat, fingerprint, gesture_of
from tests.api.chat.shapes import CONTINUE, IMPERSONATE, SUMMARY, TITLE, assistant, tavern, user, webui

SAID = (user("Hello"), assistant("Good day."), user("How is the rye?"))
BEFORE = ChatIn.model_validate(tavern(*SAID)).messages
ANSWERED = OpenChat(last_request=fingerprint(BEFORE), is_answered=True)
UNANSWERED = OpenChat(last_request=fingerprint(BEFORE), is_answered=False)
MORE = (*SAID, assistant("Gone by nine."))


@pytest.mark.parametrize(
    ("request_body", "standing", "expected"),
    [
        (tavern(user("Hello")), None, Gesture.OPEN),
        (tavern(user("Hello")), ANSWERED, Gesture.OPEN),
        (webui(user("Hello")), ANSWERED, Gesture.OPEN),
        (tavern(*SAID), None, Gesture.OPEN),
        (tavern(*MORE, user("And the wheat?")), ANSWERED, Gesture.SAY),
        (tavern(*SAID), ANSWERED, Gesture.ANSWER_AGAIN),
        (tavern(*SAID, temperature=0.2, stream=True), ANSWERED, Gesture.ANSWER_AGAIN),
        (tavern(*SAID), UNANSWERED, Gesture.ANSWER_AGAIN),
        (tavern(*MORE, last=CONTINUE), ANSWERED, Gesture.CONTINUE),
        (tavern(*MORE, last="前の発言の続きを書いてください。"), ANSWERED, Gesture.CONTINUE),
        (webui(*MORE), ANSWERED, Gesture.CONTINUE),
        (tavern(*SAID, last=CONTINUE), UNANSWERED, Gesture.ASIDE),
        (tavern(last=CONTINUE), None, Gesture.ASIDE),
        (tavern(*MORE, last=IMPERSONATE), ANSWERED, Gesture.ASIDE),
        (tavern(*MORE, last=SUMMARY), ANSWERED, Gesture.ASIDE),
        (tavern(*MORE, last=SUMMARY), None, Gesture.ASIDE),
        (webui(user(TITLE)), ANSWERED, Gesture.ASIDE),
    ],
)
def test_a_request_is_the_gesture_that_its_user_made(
    request_body: dict[str, Any], standing: OpenChat | None, expected: Gesture
) -> None:
    assert gesture_of(ChatIn.model_validate(request_body).messages, standing) is expected


def test_what_is_said_in_parts_is_what_is_said_in_one() -> None:
    parts = [{"type": "text", "text": "How is"}, {"type": "text", "text": "the rye?"}]
    one, other = (
        ChatIn.model_validate(webui({"role": "user", "content": content})).messages
        for content in (parts, "How is\nthe rye?")
    )
    assert fingerprint(one) == fingerprint(other)
