"""Owns the tests of the lines that are suggested to a player: asked for with a turn, told, chosen once, and gone."""

from typing import Any

import pytest

from service.conversation.acting import LONGEST
from service.conversation.dependencies import ConversationDependencies
from service.conversation.human import Heard, choose, interrupt
from service.errors import NotFound, StaleChoice
from service.store.events import events_after, of_conversation
from service.store.phase import Audience, EndReason
from service.store.tables import TurnRow
from tests.conversation.talks import FAMILY, HELLO, THANKS, talk, turns
from tests.conversation.test_human import begin, carry_on, speak, with_players
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

LINES = ["How old are they?", "What does Harue do?"]


@pytest.fixture
def played(room: ConversationDependencies) -> ConversationDependencies:
    """A room in whose worlds Ken and Rei play."""
    return with_players(room, "ken", "rei")


def suggests(text: str = FAMILY, lines: Any = LINES, *, leaves: bool = False) -> dict[str, Any]:
    """Taro's answer, with what Ken could say to it."""
    return {"utterance": text, "emotion": "happy", "wants_to_end": leaves, "choices": lines}


def picks(
    room: ConversationDependencies, conversation_id: str, choice_id: str, message_id: str | None = None
) -> TurnRow:
    """Ken says one of the lines."""
    return room.database.write_now(lambda s: choose(s, room.worlds, main(conversation_id), choice_id, message_id))


def told(room: ConversationDependencies, conversation_id: str) -> list[tuple[str, Any]]:
    """What the game is told of the talk, from the store: kinds and data."""
    of = of_conversation(conversation_id)
    return [
        (one.kind, one.data)
        for one in room.database.read_now(lambda s: events_after(s, "main", 0, 99, *of, audience=Audience.PARTICIPANTS))
    ]


def test_what_was_said_in_own_words_ends_the_lines(played: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(suggests())
    conversation_id = begin(played, choices=2)
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    speak(played, conversation_id, THANKS)
    with pytest.raises(StaleChoice) as stale:
        picks(played, conversation_id, "1.0")
    assert LINES[0] in stale.value.sentence("en")
    assert LINES[0] in stale.value.sentence("ja")


def test_lines_to_what_was_not_heard_are_gone(played: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(suggests())
    conversation_id = begin(played, choices=2)
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    utterance_id = told(played, conversation_id)[-1][1]["utterance_id"]
    heard = Heard(utterance_id=utterance_id, chars=6)
    played.database.write_now(lambda s: interrupt(s, played.worlds, main(conversation_id), heard, None))
    with pytest.raises(NotFound):
        picks(played, conversation_id, "1.0")


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["  How old\nare they? ", "", 7, "How old are they?", "x" * (LONGEST + 1), *LINES, "one too many"], LINES),
        ("no list", None),
        (None, None),
    ],
)
def test_what_is_no_line_is_left_out(
    played: ConversationDependencies, script: ScriptedModel, lines: Any, kept: list[str] | None
) -> None:
    script.enqueue(suggests(lines=lines))
    conversation_id = begin(played, choices=2)
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    assert turns(played, conversation_id)[1].text == FAMILY
    assert turns(played, conversation_id)[1].choices == kept


def test_who_did_not_ask_is_suggested_nothing_and_who_leaves_suggests_nothing(
    played: ConversationDependencies, script: ScriptedModel
) -> None:
    plain = {key: value for key, value in suggests().items() if key != "choices"}
    script.enqueue(plain, suggests(leaves=True))
    conversation_id = begin(played)
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    assert "choices" not in script.history[0].messages[0].content
    assert "choices" not in script.history[0].answer.model_fields
    other = begin(played, choices=2, player_id="rei", waived=True)
    speak(played, other, HELLO)
    carry_on(played, other)
    assert "choices: 2 short lines" in script.history[1].messages[0].content
    assert talk(played, other).end_reason == EndReason.WANTS_TO_END
    assert "choices" not in [kind for one in (conversation_id, other) for kind, _ in told(played, one)]
