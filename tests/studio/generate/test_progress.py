"""Holds the progress of a data set: rate, cost so far and time left, in lines where nothing can be drawn."""

from collections import Counter

import pytest

from service.usage import Usage
from studio.generate.making import Meter, Progress
from studio.terminal.show import Show


def test_rate_cost_and_time_left_are_of_this_run(capsys: pytest.CaptureFixture[str]) -> None:
    now, meter = [100.0], Meter()
    progress = Progress(Show(), "en", meter, done=40, clock=lambda: now[0])
    progress.expect(60)
    assert "left unknown" in progress.line()
    with meter.item() as spent:
        meter.count("speaker", Usage(calls=1, prompt_tokens=500_000, money=1.0))
    assert spent == {"speaker": Counter(calls=1, prompt_tokens=500_000, money=1)}
    for _ in range(20):
        progress.advance()
    now[0] += 9
    progress.look()
    assert capsys.readouterr().out == ""
    now[0] += 71
    progress.look()
    told = capsys.readouterr().out
    assert told.startswith("60 of 100  60%  15.0 a minute  calls 1  tokens 500,000  left 0:02:40")
    assert told.endswith("cost 1.00\n")
