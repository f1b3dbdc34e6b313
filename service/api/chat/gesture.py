"""Owns what a chat client's request means: front ends send the whole history, and the gesture must be read from it.

Pure. Only model, messages and sampling come from real clients: no user, no session, no name of the gesture.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.api.chat.schemas import ChatMessage

INSTRUCTIONS = frozenset({"system", "developer"})
_CONTINUE = re.compile(
    r"\W*(please\s+)?(continue|keep\s+going|go\s+on|carry\s+on)\b|[^。.\n]*続[けきい]", re.IGNORECASE
)
_TASK = re.compile(r"\s*###\s*Task:")
"""How Open WebUI begins what it asks for itself (a title, tags, what to say next) in the place of its user."""


class Gesture(StrEnum):
    """What a person did in front of the chat client."""

    OPEN = "open"
    """Began a chat: the open conversation ends, and these words open another."""
    SAY = "say"
    """Said something more."""
    ANSWER_AGAIN = "answer_again"
    """Regenerated or swiped: the last answer is taken back, and the same words are answered anew."""
    CONTINUE = "continue"
    """Asked for more of the last answer."""
    ASIDE = "aside"
    """Asked for something that is no part of the talk (impersonate, a summary, a title): nothing changes by it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The open conversation: the fingerprint of the request whose words were said last, and whether they are
    answered.
    """

    last_request: str | None
    is_answered: bool


def fingerprint(messages: Sequence[ChatMessage]) -> str:
    """What tells a request from the one before: all that was said. Two with the same are one gesture made again,
    whatever the client changes in its instructions and sampling meanwhile.
    """
    said = [(message.role, message.text) for message in messages if message.role not in INSTRUCTIONS]
    return "chat-" + hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def is_said(last: ChatMessage) -> bool:
    """Whether the last message of a request is something that its user says to the person."""
    return last.role == "user" and not _TASK.match(last.text)


def gesture_of(messages: Sequence[ChatMessage], standing: Standing | None) -> Gesture:
    """What the request means while that conversation is open (None: none is).

    A history that has more than one message of its user, while no conversation is open, opens one with the last. To
    continue what was never said is no gesture of the talk either.
    """
    last = messages[-1]
    if last.role == "assistant" or (last.role in INSTRUCTIONS and _CONTINUE.match(last.text)):
        return Gesture.CONTINUE if standing is not None and standing.is_answered else Gesture.ASIDE
    if not is_said(last):
        return Gesture.ASIDE
    if standing is None:
        return Gesture.OPEN
    if standing.last_request == fingerprint(messages):
        return Gesture.ANSWER_AGAIN
    return Gesture.OPEN if sum(message.role == "user" for message in messages) == 1 else Gesture.SAY
