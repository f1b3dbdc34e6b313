"""Owns how tests follow conversations with humans: over each of the three transports, as a game would."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
from websockets.sync.client import connect

from tests.servers import NO_AUTHORITIES

Event = dict[str, Any]
"""An event as it travels; `position` is where the transport says so."""

Follow = Callable[[str, str, str], Iterator[Event]]
"""Events of `path` at `url` after that position, until the service has nothing more to tell."""


def by_stream(url: str, path: str, after: str = "0") -> Iterator[Event]:
    """Server-sent events."""
    with (
        httpx.Client(base_url=url, timeout=60, trust_env=False, verify=NO_AUTHORITIES) as client,
        client.stream("GET", f"{path}/stream", headers={"Last-Event-ID": after}) as answer,
    ):
        if answer.status_code == 204:
            return
        assert answer.status_code == 200, answer.read()
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(":")
            if line and name:
                fields[name] = value.removeprefix(" ")
            elif not line and "data" in fields:
                event = json.loads(fields["data"])
                assert event["kind"] == fields["event"]
                yield {**event, "position": fields["id"]}
                fields = {}


def by_socket(url: str, path: str, after: str = "0") -> Iterator[Event]:
    """A WebSocket."""
    with connect(f"{url.replace('http', 'ws', 1)}{path}/ws?after={after}", proxy=None) as socket:
        for message in socket:
            yield json.loads(message)


def by_asking(url: str, path: str, after: str = "0", wait: float = 5) -> Iterator[Event]:
    """Long-polling."""
    with httpx.Client(base_url=url, timeout=60, trust_env=False, verify=NO_AUTHORITIES) as client:
        over = False
        while not over:
            answer = client.get(f"{path}/updates", params={"after": after, "wait": wait})
            assert answer.status_code == 200, answer.text
            told = answer.json()
            after, over = told["next"], told["over"]
            for place, event in enumerate(told["items"], 1):
                yield {**event, "position": after} if place == len(told["items"]) else event


WAYS: dict[str, Follow] = {"stream": by_stream, "socket": by_socket, "asking": by_asking}


class Follower:
    """Follows in a thread; `events` are what it was told so far. It leaves when `until` says so of an event."""

    def __init__(self, events: Iterator[Event], until: Callable[[Event], bool] = lambda _: False) -> None:
        self.events: list[Event] = []
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._follow, args=(events, until), daemon=True)
        self._thread.start()

    def wait_for(self, done: Callable[[list[Event]], Any], seconds: float = 20) -> list[Event]:
        """What it was told, as soon as that is as wanted."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._error or done(self.events), seconds), self.events
        if self._error is not None:
            raise self._error
        return self.events

    def join(self, seconds: float = 30) -> list[Event]:
        """All it was told, when the service has nothing more to tell."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), self.events
        if self._error is not None:
            raise self._error
        return self.events

    def _follow(self, events: Iterator[Event], until: Callable[[Event], bool]) -> None:
        try:
            with closing(events):  # type: ignore[type-var]  # a generator
                for event in events:
                    with self._changed:
                        self.events.append(event)
                        self._changed.notify_all()
                    if until(event):
                        return
        except BaseException as error:  # noqa: BLE001 - it is raised by whoever waits
            with self._changed:
                self._error = error
                self._changed.notify_all()


def kinds(events: list[Event], *, passing: bool = False) -> list[str]:
    """What happened, in words; what passes only where it is asked for."""
    return [event["kind"] for event in events if passing or event["seq"] is not None]


def of(events: list[Event], kind: str) -> list[Event]:
    """What the events of that kind tell."""
    return [event["data"] for event in events if event["kind"] == kind]
