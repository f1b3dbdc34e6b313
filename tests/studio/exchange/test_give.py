"""Owns the tests of people of ours as other programs read them: what both know comes back the same."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.content.load import Content, load_content
from service.errors import NotFound
from studio.exchange.card import read_card
from studio.exchange.give import Format, WrittenPerson, give
from studio.exchange.tinytroupe import read_tinytroupe
from tests.content.village import Village

ODILE: dict[str, Any] = {
    "id": "odile",
    "name": {"en": "Odile", "ja": "オディール"},
    "personality": {"en": "Patient.", "ja": "気が長い。"},
    "tendencies": ["Taps the barometer."],
    "age": 61,
    "gender": "Female",
    "residence": "Ostend",
    "occupation": {"title": "Pilot", "organization": "Harbour"},
    "bigFive": {"openness": "high"},
    "preferences": {"likes": ["Strong tea"]},
    "beliefs": ["A ship is only as good as its watch."],
    "skills": ["Reads the sea by its sound."],
    "behaviors": ["morning: Wakes at four."],
    "relationships": [{"person": "baker", "description": "Keeps a loaf for her."}],
    "experiences": [{"event": "Lost a ship.", "importance": 9}],
    "goals": [{"goal": "To see the north light.", "importance": "medium"}],
    "facts": ["lives on a barge", {"en": "cannot swim", "secret": True, "tellFrom": {"affinity": 60}}],
    "lines": ["Mind the step.", "酒場「ちどり」で飲む。"],
    "home": "lane",
}
LORE = {
    "entries": [
        {"id": "bell", "text": "Bell: It rings in fog.", "knownBy": {"people": ["odile"]}, "tell": "always"},
        {"id": "ship", "text": "The Anna sank in 1950.", "knownBy": {"people": ["odile"]}},
        {"id": "all", "text": "Everybody knows the mill."},
    ]
}


@pytest.fixture
def content(tmp_path: Path) -> Content:
    village = Village().write(tmp_path)
    (village / "lore").mkdir()
    for file, values in (("characters/odile.yaml", ODILE), ("lore/odile.yaml", LORE)):
        (village / file).write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    return load_content(village)


def notes(given: WrittenPerson) -> set[str]:
    return {f"{note.file}: {note.key_path}" for note in given.report}


def test_an_agent_comes_back_with_what_both_know(content: Content) -> None:
    given = give(content, "odile", Format.TINYTROUPE, "en")
    back = read_tinytroupe("odile.json", json.dumps(given.values).encode())
    back.relate({"hanna": "baker"})
    values = back.whole()
    same = ("personality", "tendencies", "age", "gender", "residence", "occupation", "bigFive", "preferences")
    for name in (*same, "beliefs", "skills", "behaviors", "relationships"):
        assert values[name] == (ODILE[name] if name != "personality" else "Patient.")
    assert [one["goal"] for one in values["goals"]] == ["To see the north light."]
    assert [one["event"] for one in values["experiences"]] == ["lives on a barge", "Lost a ship."]
    told = ("facts[1]", "lines", "home")
    assert notes(given) == {f"characters/odile.yaml: {key}" for key in told}


@pytest.mark.parametrize("form", [Format.CARD_V2, Format.CARD_V3])
def test_a_card_comes_back_with_what_both_know(content: Content, form: Format) -> None:
    given = give(content, "odile", form, "en")
    assert given.values["spec"] == f"chara_card_v{form[-1]}"
    back = read_card("odile.json", json.dumps(given.values).encode())
    values = back.whole()
    assert (values["name"], values["personality"], values["lines"]) == ("Odile", "Patient.", ODILE["lines"])
    assert values["facts"][0] == "lives on a barge"
    assert any("Strong tea" in fact for fact in values["facts"])
    assert back.lore == [
        {"text": "Bell: It rings in fog.", "tell": "always"},
        {"text": "Odile: The Anna sank in 1950.", "tell": "recalled"},
    ]
    assert back.report == []
    assert notes(given) == {"characters/odile.yaml: facts[1]", "characters/odile.yaml: home"}


def test_a_secret_leaves_in_no_form_and_the_language_is_chosen(content: Content) -> None:
    for form in Format:
        given = give(content, "odile", form, "ja")
        told = json.dumps(given.values, ensure_ascii=False)
        assert "cannot swim" not in told
        assert "オディール" in told
    with pytest.raises(NotFound):
        give(content, "nobody", Format.CARD_V2, "en")
