"""Games talk with people through their clients: what they collect is what the service tells, across kill -9 and resume.

Luanti's server comes with `apt-get install minetest-server`, Godot's with `apt-get install godot3-server` (.ci/run).
"""

import json
from pathlib import Path

import pytest

from tests.clients.games.godot import Godot, GodotBeside
from tests.clients.games.luanti import DEMO, Luanti
from tests.clients.games.play import Played, lines, play, same_for_all

PAGES = Path(__file__).parents[3] / "docs" / "clients"


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    """Every client's run, by its name."""
    return play(tmp_path_factory.mktemp("games"), [Luanti(), Godot(), GodotBeside("luanti")])


@pytest.mark.long
@pytest.mark.server
def test_a_game_collects_every_committed_event_once_across_kill_and_resume(plays: dict[str, Played]) -> None:
    for played in plays.values():
        assert same_for_all(played.events) == same_for_all(played.told)
        assert [event["seq"] for event in played.events] == list(range(1, len(played.told) + 1))
        begun = [one["utterance_id"].partition(".")[2] for one in played.of("utterance.started")]
        taken_back = [one["utterance_id"].partition(".")[2] for one in played.of("utterance.discarded")]
        assert (begun[-3:], taken_back) == (["7.0", "7.1", "1.0"], ["7.0"])
        cut_short = [one["text"] for one in played.of("utterance.completed") if one["interrupted"]]
        assert cut_short == ["My grandmother did. She"]


@pytest.mark.server
def test_what_godot_hears_by_a_stream_luanti_hears_by_asking(plays: dict[str, Played]) -> None:
    assert plays["godot"].committed == plays["luanti"].committed
    beside = plays["beside"]  # in the same talk
    assert same_for_all(beside.events) == same_for_all(plays["luanti"].events)
    told = "".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in beside.told)
    assert (beside.directory / "events.jsonl").read_text(encoding="utf-8") == told


@pytest.mark.server
def test_a_game_does_what_it_is_asked_for_refuses_it_or_says_nothing(plays: dict[str, Played]) -> None:
    for played in plays.values():
        assert [one["action_id"] for one in played.of("action.requested")] == ["give_item", "open_oven", "ring_bell"]
        assert [(one["action_id"], one["message"]) for one in played.of("action.done")] == [
            ("give_item", "Ken has the bun.")
        ]
        assert [(one["action_id"], one["reason"]) for one in played.of("action.failed")] == [
            ("open_oven", "client"),
            ("ring_bell", "deadline"),
        ]


@pytest.mark.server
def test_a_witness_mentions_later_what_the_game_has_told(plays: dict[str, Played]) -> None:
    for played in plays.values():
        saw = "Ken fished a brass key out of the well."
        assert saw in played.memories
        assert played.of("utterance.completed")[-1]["text"] == saw


@pytest.mark.server
def test_players_of_luanti_talk_by_chat_in_the_demo(plays: dict[str, Played]) -> None:
    assert [one["text"] for one in lines(plays["luanti"].directory / "chat.jsonl")] == [
        "There is no character 'nobody' in this world.",
        "You may speak.",
        "<Hanna> Good day to you.",
    ]


@pytest.mark.parametrize("page", ["luanti.md", "luanti.ja.md"])
def test_the_page_shows_the_demo_as_it_is(page: str) -> None:
    assert f"```lua\n{(DEMO / 'init.lua').read_text(encoding='utf-8')}```" in (PAGES / page).read_text(encoding="utf-8")
