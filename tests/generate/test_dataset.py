"""Holds the file of a data set to its promise: each item once and whole, whatever stopped."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from service.errors import FileUnusable
from service.generate.dataset import Dataset, DatasetInUse, OtherDataset

RUN = "0123456789ab"
META: dict[str, Any] = {"spent": {}, "models": {}}


def text_of(line: dict[str, Any]) -> str:
    return str(line["text"])


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_a_line_that_was_not_written_whole_is_made_again(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    with closing(Dataset(file, RUN)) as dataset:
        for number in (0, 1):
            dataset.keep(number, {"text": f"{number}" * 100_000, "meta": META})
        dataset.drop(2, "repeats", META)
    whole = file.read_bytes()
    for torn in (whole[:-1], whole[:-90_000], whole[:100_030], whole[:10]):
        file.write_bytes(torn)
        with closing(Dataset(file, RUN)) as dataset:
            assert [dataset.has(number) for number in range(4)] == [len(torn) > 100_100, False, True, False]
            assert file.read_bytes() == whole[: file.stat().st_size]


def test_lines_end_in_order_and_near_duplicates_are_dropped_and_stay_so(tmp_path: Path) -> None:
    file, story = (
        tmp_path / "out.jsonl",
        "The bell rang under the water, and nobody in the village had heard it for years",
    )
    texts = [story, "A letter came with the ferry this morning.", f"{story}!", f"{story} and years.", "Bread is dear."]
    wanted = None
    for order in ((4, 2, 0, 3, 1), (0, 1, 2, 3, 4)):
        file.unlink(missing_ok=True)
        file.with_suffix(".dropped.jsonl").unlink(missing_ok=True)
        for number in order:
            with closing(Dataset(file, RUN)) as dataset:
                dataset.keep(number, {"text": texts[number], "meta": META})
        for _ in range(2):
            with closing(Dataset(file, RUN)) as dataset:
                dataset.settle(text_of)
                assert all(dataset.has(number) for number in range(5))
        found = file.read_bytes(), file.with_suffix(".dropped.jsonl").read_bytes()
        assert wanted in (None, found)
        wanted = found
    assert [line["text"] for line in lines(file)] == [texts[0], texts[1], texts[4]]
    assert [(line["reason"], line["like"]) for line in lines(file.with_suffix(".dropped.jsonl"))] == [
        ("near_duplicate", f"{RUN}-000000"),
        ("near_duplicate", f"{RUN}-000000"),
    ]


@pytest.mark.parametrize("there", ["my notes", '{"id":"ffffffffffff-000000"}\n', '{"id":1}\n{"id":'])
def test_a_file_that_holds_something_else_is_left_as_it_is(tmp_path: Path, there: str) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text(there, "utf-8")
    with pytest.raises(OtherDataset):
        Dataset(file, RUN)
    assert file.read_text("utf-8") == there
    assert list(tmp_path.iterdir()) == [file]


def test_one_process_makes_it_at_a_time(tmp_path: Path) -> None:
    with closing(Dataset(tmp_path / "out.jsonl", RUN)), pytest.raises(DatasetInUse):
        Dataset(tmp_path / "out.jsonl", RUN)
    Dataset(tmp_path / "out.jsonl", RUN).close()


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond that, as on a full disk."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_what_the_disk_has_no_room_for_is_taken_back_whole(tmp_path: Path) -> None:
    with closing(Dataset(tmp_path / "out.jsonl", RUN)) as dataset:
        dataset.keep(0, {"text": "a" * 500, "meta": META})
        with room_for(1000), pytest.raises(FileUnusable, match=r"out\.jsonl"):
            dataset.keep(1, {"text": "b" * 500, "meta": META})
        assert not dataset.has(1)
        dataset.keep(2, {"text": "c", "meta": META})
    assert [line["id"][-1] for line in lines(tmp_path / "out.jsonl")] == ["0", "2"]
