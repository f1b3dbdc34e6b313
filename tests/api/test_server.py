"""Owns the tests of the server as a process: what clients and the log are told when it stops."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.api.play import TALK, listen, problem
from tests.end_to_end.process import Service

SLOW = {"KATARIBE_LLM__PROVIDER": "rehearsal", "KATARIBE_LLM__REHEARSAL_PACE_SECONDS": "5"}


def test_a_server_that_stops_ends_open_streams_in_silence(tmp_path: Path, millbrook: Path) -> None:
    with Service(tmp_path, millbrook, SLOW) as service, ThreadPoolExecutor(4) as pool:
        running = service.client.post("/conversations/start", json=TALK).json()["id"]
        open_streams = threading.Barrier(5)

        def follow() -> None:
            for number, _ in enumerate(listen(service.client, running)):
                if number == 0:
                    open_streams.wait(20)

        followers = [pool.submit(follow) for _ in range(4)]
        open_streams.wait(20)
        service.terminate()
        for follower in followers:
            follower.result()  # each stream was ended as streams are, not cut off
    assert service.process.exitcode == 0
    assert "Traceback" not in service.log
    assert "ERROR" not in service.log


@pytest.mark.parametrize(("language", "told"), [("en", "is stopping"), ("ja", "停止中")])
def test_a_request_that_still_waits_when_the_server_stops_is_told_so(
    tmp_path: Path, millbrook: Path, language: str, told: str
) -> None:
    with Service(tmp_path, millbrook, SLOW) as service, ThreadPoolExecutor(1) as pool:
        accept = {"Accept-Language": language}
        waiting = pool.submit(service.client.post, "/conversations/start?wait=true", json=TALK, headers=accept)
        while not service.client.get("/conversations").json()["items"]:
            assert not waiting.done(), waiting.result().text
        service.terminate()
        assert told in problem(waiting.result(), 503, "stopping")["detail"]
    assert service.process.exitcode == 0
    assert "Traceback" not in service.log
