"""Owns the tests of TinyTroupe's agents: what of one becomes ours, and what is told of the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.content.load import load_content
from studio.exchange.draft import Draft, ImportRefused
from studio.exchange.place import Wish, take_in
from studio.exchange.tinytroupe import read_tinytroupe
from tests.content.village import Village

AGENT: dict[str, Any] = {
    "type": "TinyPerson",
    "persona": {
        "name": "Odile Ferrant",
        "age": 61,
        "gender": "Female",
        "nationality": "Belgian",
        "residence": "Ostend",
        "education": "Nautical school of Antwerp.",
        "long_term_goals": ["To see the north light once more."],
        "occupation": {"title": "Harbour pilot", "organization": "N/A", "description": "You bring ships in by night."},
        "style": "Short sentences, and long pauses.",
        "personality": {
            "traits": ["You are patient.", "You dislike being hurried."],
            "big_five": {
                "openness": "Very high. Reads all she finds.",
                "neuroticism": "Low.",
                "agreeableness": "Mixed",
            },
        },
        "preferences": {"interests": ["Tides"], "likes": ["Strong tea"], "dislikes": ["Fog horns"]},
        "skills": ["You read the sea by its sound."],
        "beliefs": ["A ship is only as good as its watch."],
        "behaviors": {"general": ["Taps the barometer."], "routines": {"morning": ["Wakes at four."]}},
        "health": "A stiff knee.",
        "relationships": [
            {"name": "Hanna", "description": "The baker who keeps a loaf for you."},
            {"name": "Jef", "description": "Your brother, who left for Hull."},
        ],
        "other_facts": ["You grew up on a barge."],
        "favourite_song": "None of your business",
    },
    "episodic_memory": {"memory": []},
}


def read(persona: dict[str, Any] | None = None, **more: Any) -> Draft:
    values = {**AGENT, "persona": {**AGENT["persona"], **(persona or {})}, **more}
    return read_tinytroupe("Odile.agent.json", json.dumps(values).encode())


def test_an_agent_becomes_a_character_whose_prompt_knows_it(tmp_path: Path) -> None:
    village = Village().write(tmp_path)
    draft = read()
    take_in(village, [(draft, Wish())])
    cast = load_content(village).cast("en")
    odile = cast.character("odile_ferrant")
    assert odile.personality == "You are patient. You dislike being hurried."
    assert odile.tendencies == ("Short sentences, and long pauses.",)
    assert odile.facts == ("A stiff knee.",)
    assert {"Female", "Belgian"} <= set(odile.identity)
    told = {line.text for line in odile.persona}
    assert {"Tides", "Taps the barometer.", "morning: Wakes at four.", "You grew up on a barge."} <= told
    assert [(line.text, line.person) for line in odile.persona if line.person] == [
        ("The baker who keeps a loaf for you.", "baker")
    ]
    assert [one.text.of("en") for one in cast.lore] == ["Jef: Your brother, who left for Hull."]
    assert [goal.goal for goal in odile.goals] == ["To see the north light once more."]
    assert {note.key_path: note.message("en") for note in draft.report} == {
        "persona.personality.big_five": "carried over as low, medium or high, without the words behind it",
        "persona.personality.big_five.agreeableness": (
            "not carried over: expected a text that begins with low, medium or high"
        ),
        "": 'not carried over, for we have no key for it: "episodic_memory"',
        "persona": 'not carried over, for we have no key for it: "favourite_song"',
        "persona.relationships[1]": '"Jef" is nobody of this world: it is lore that comes to mind',
    }


def test_older_forms_of_an_agent_are_read() -> None:
    persona = {"occupation": "Pilot", "age": "61", "personality": {"traits": [{"trait": "You are slow."}]}}
    values = read(persona).whole()
    assert (values["occupation"], values["age"], values["personality"]) == ({"title": "Pilot"}, 61, "You are slow.")


def test_a_fragment_becomes_a_fragment(tmp_path: Path) -> None:
    persona = {
        "preferences": {"likes": ["Maps"]},
        "beliefs": ["Roads teach."],
        "behaviors": {"travel": ["Packs light."]},
    }
    village = Village().write(tmp_path)
    draft = read_tinytroupe(
        "Road_Lover.agent.fragment.json", json.dumps({"type": "Fragment", "persona": persona}).encode()
    )
    (file,) = take_in(village, [(draft, Wish())])
    assert file == village / "fragments" / "road_lover.yaml"
    assert draft.report == []
    sora = village / "characters" / "sora.yaml"
    sora.write_text(sora.read_text("utf-8") + "use: [road_lover]\n", encoding="utf-8")
    told = {line.text for line in load_content(village).cast("en").character("sora").persona}
    assert {"Maps", "Roads teach.", "travel: Packs light."} <= told


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"type": "TinyWorld", "persona": {}}, "type"),
        ({"type": "TinyPerson"}, "persona"),
        ({"type": "TinyPerson", "persona": {"name": "  "}}, "persona.name"),
        ({"type": "TinyPerson", "persona": {"name": "Odile", "skills": "many"}}, "persona.skills"),
        ([], ""),
    ],
)
def test_what_is_no_agent_is_refused_with_its_place(values: Any, where: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        read_tinytroupe("x.json", json.dumps(values).encode())
    assert [(one.file, one.key_path) for one in refused.value.problems] == [("x.json", where)]
