"""README's calls still answer as on record: the same statuses, every key, the same types."""

from pathlib import Path

import pytest

from service.locales import Language
from tests.freeze.calls import answered, promised
from tests.freeze.record import on_record
from tests.freeze.shape import lost, shape_of


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_promised_calls_answer_as_on_record(language: Language, tmp_path: Path) -> None:
    recorded = on_record("calls")
    now = answered(language, tmp_path)
    assert list(now) == list(recorded) == [call.name for call in promised(language)]
    assert {name: answer["status"] for name, answer in now.items()} == dict.fromkeys(recorded, 200)
    losses = [told for name in recorded for told in lost(recorded[name]["answer"], now[name]["answer"], name)]
    assert not losses


def test_a_key_may_come_but_none_may_go_and_no_type_may_change() -> None:
    recorded = shape_of({"id": "a", "turns": [{"turn": 0, "at": None}, {"turn": 1, "at": "07:00"}], "end": None})
    assert (
        lost(recorded, shape_of({"id": "b", "turns": [{"turn": 2, "at": None}], "end": {"reason": "x"}, "new": 1}))
        == []
    )
    now = shape_of({"turns": [{"turn": "0", "at": None}, {"turn": "1", "said": ""}], "end": None})
    assert lost(recorded, now) == [".id is missing", ".turns.[].turn was integer, now it is string"]
