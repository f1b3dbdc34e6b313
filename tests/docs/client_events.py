"""Owns docs/client-events.md, made from the events' own classes, and what docs/client-events.ja.md says of each kind.
`python -m tests.docs.client_events` writes both.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from service.store.client_event_kinds import CLIENT_PAYLOADS, PASSING, UtteranceCompleted
from service.store.event_kinds import Payload
from tests.docs import content
from tests.docs.events import Tongue, example_data, sections

FILE = Path(__file__).parents[2] / "docs" / "client-events.md"
IN_JAPANESE = FILE.with_suffix(".ja.md")
SENTENCES: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("client_events.ja.yaml").read_text("utf-8"))
"""What the Japanese page says for each sentence of the classes."""

JAPANESE = Tongue(
    words=replace(content.JAPANESE, kinds={**content.JAPANESE.kinds, "object": "オブジェクト"}),
    shared="共通のフィールド",
    as_shared="- {}: [共通](#共通のフィールド)",
    whole="種類 `{}` のイベントの全体。各フィールドの例は `openapi.json` にあります。",
    inside="オブジェクト({})",
    left_out="{}(省かれることがある)",
    told=SENTENCES.__getitem__,
)

_HEAD = """# Client events

[日本語](client-events.ja.md)

What a game is told of conversations in which a human speaks, while they happen. Three transports tell the same:

| | of one conversation | of all of one person, those to come included |
|---|---|---|
| server-sent events | `GET /conversations/{id}/stream` | `GET /people/{id}/stream` |
| WebSocket (a text message of JSON for each event) | `/conversations/{id}/ws` | `/people/{id}/ws` |
| asking again and again, for engines without streams | `GET /conversations/{id}/updates?after=0&wait=25` | \
`GET /people/{id}/updates?after=0&wait=25` |

The world is chosen by `X-World-Id` or `?world_id=`, the key is shown as everywhere (`Authorization: Bearer …`, or the
cookie of a browser that has logged in). A WebSocket of a page of another site is let in only where
`KATARIBE_CORS_ORIGINS` names that site; what is sent over it is not read.

Each event is an object:

| field | type | meaning |
|---|---|---|
| `seq` | integer or null | grows within a world, with gaps; null for `utterance.delta` and `utterance.sentence` |
| `at` | string | the world time, `YYYY-MM-DDTHH:MM` |
| `conversation_id` | string | in which conversation; empty: `world.restored` |
| `kind` | string | one of those below; it says what `data` is. It is the name of a server-sent event |
| `data` | object | the fields below |

**Going on.** What has a number is committed: it is told to everybody in the same order, once, also after a crash. Go on
with `after=` the last number you have. `utterance.delta` and `utterance.sentence` pass while the model speaks, and are
not stored. Who comes back in the middle of an utterance is told it again from its beginning, unless it gives `next` of
`…/updates`, or the `id` of a server-sent event (which a browser sends by itself): `57.120.3` is after event 57, 120
characters and 3 sentences. A number that was never told is refused (422 `never-told`), with the newest.

**A world that is restored.** After `POST /world/restore` everybody is told `world.restored`: read anew what you show,
and follow on. Numbers go on. The stream of a conversation that had not begun at that moment ends, and is 404 from then
on.

**Speaking.** `utterance.started` begins an attempt at a turn; what bears its `utterance_id` belongs to it.
`utterance.delta` is for showing: put its `text` at `char_start`. `utterance.sentence` is for speech: it comes as soon
as the sentence is certain, all of them before `utterance.completed`. What its speaker's hands or face do (`act`) and
what shows in it (`emotion`) the model says behind the words: you have both with `utterance.completed`. Positions count
Unicode code points. A client that is slow gets fewer and longer deltas; nothing waits for it; one that reads nothing
for 30 seconds is cut off, and goes on where it was when it comes back. Any replica of the service tells the same; if
one cannot hear the other, you are told the sentences when the utterance is completed. `utterance.discarded` takes an
attempt back: the service has crashed, the model's answer broke off, or stepped out of its role; what follows is another
attempt, with another id.

**Answering.** `POST /conversations/{id}/interrupt {utterance_id, heard_chars | heard_text}` when the player cuts in:
only what was heard stays in the transcript and is remembered. `POST /conversations/{id}/playback {utterance_id}` while
it is being played: the player's silence is counted from then.

**Being spoken to.** People beside a player may speak to it first: `conversation.started` then has a `reason`, and their
first words follow. Answer with `say`. A player who goes away (`PUT /people/{id}/position`), is `busy`, or says nothing
for long has not talked: nothing is remembered of it.

**Choosing.** Where the conversation began with `choices: 1..4`, each turn of a model brings so many lines that the
player could say next. `POST /conversations/{id}/choose {choice_id}` says one of them. Who comes back finds them in
`GET /conversations/{id}`, with the turn.

**Doing.** `action.requested` asks the game for something that a speaker does. Answer it once, before its deadline:
`POST /conversations/{id}/actions/{call_id}/result {ok, message}`. A conversation is remembered when all is answered or
too late. An utterance that is cut short while it is being spoken asks for nothing; one that is cut short while it is
played has asked already.

**Asking again and again.** `…/updates` answers `{"items": […], "next": "57.120.3", "over": false}`: with the next
event or sentence, or after `wait` seconds (0 to 60; 25 where none is said) with no items. Ask again with `after=` its
`next`; `over` says that nothing more will come.

**The end.** `/conversations/{id}/stream` and its twins end when the conversation is remembered, or its closing has
failed. Who comes back with the `Last-Event-ID` of that end is answered 204, at which a browser's `EventSource` stops.
Its own event of a lost connection is called `error` too, but has no `data`. A WebSocket is closed with 1000 when
nothing more will be told, and with 1012 when the service stops: come back with `after=`. What cannot be followed is
refused before it opens, as any other request.

Made from `service/store/client_event_kinds.py` by `python -m tests.docs.client_events`; a test fails where this page
says something else.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *sections(CLIENT_PAYLOADS, example(UtteranceCompleted))])


def page_in_japanese() -> str:
    """The Japanese page: what its author wrote before the kinds, and each of them."""
    head, _, _ = IN_JAPANESE.read_text("utf-8").partition(f"\n## {CLIENT_PAYLOADS[0].kind}\n")
    return "\n".join([head, *sections(CLIENT_PAYLOADS, example(UtteranceCompleted), JAPANESE)])


def example(payload: type[Payload]) -> dict[str, Any]:
    """An event as it travels, made of its fields' examples."""
    return {
        "seq": None if payload in PASSING else 57,
        "at": "2026-04-01T07:30",
        "conversation_id": "6f1c0a94d2b75c0e9a41b3d8e7f2",
        "kind": payload.kind,
        "data": example_data(payload),
    }


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
    IN_JAPANESE.write_text(page_in_japanese(), encoding="utf-8")
