"""Owns a small valid content directory for tests, as values that a test may spoil before they are written."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Entry = dict[str, Any]

_MAPS: Entry = {
    "name": {"en": "Millbrook", "ja": "水車村"},
    "language": "ja",
    "startTime": "2026-04-01T07:00",
    "maps": [
        {
            "id": "village",
            "name": {"en": "Village", "ja": "村"},
            "nodes": [
                {"id": "square", "x": 0, "y": 0, "name": {"en": "Square", "ja": "広場"}},
                {"id": "lane", "x": 1.5, "y": 0},
                {"id": "mill", "x": 2, "y": 0},
                {"id": "door", "x": 0, "y": 1},
                {"id": "counter", "x": 0, "y": 2},
                {"id": "yard", "x": 1, "y": 1},
            ],
            "edges": [
                {"from": "square", "to": "lane", "minutes": 2},
                {"from": "lane", "to": "mill", "minutes": 3},
                {"from": "square", "to": "door", "minutes": 1},
                {"from": "door", "to": "counter", "minutes": 1},
                {"from": "door", "to": "yard", "minutes": 1},
            ],
            "exits": [{"from": "mill", "to": "glade", "minutes": 10}],
            "facilities": [
                {
                    "id": "bakery",
                    "name": {"en": "Bakery", "ja": "パン屋"},
                    "nodes": ["door", "yard", "door"],
                    "tags": ["shop", "food"],
                    "hours": ["06:00-12:00", "18:00-02:00"],
                },
                {"id": "mill-house", "name": {"en": "Mill", "ja": "水車小屋"}, "nodes": ["mill"]},
            ],
            "npcs": [{"npcId": "baker", "spawnNodeId": "counter"}],
        },
        {
            "id": "forest",
            "name": {"en": "Forest", "ja": "森"},
            "nodes": [{"id": "glade", "x": 0, "y": 0}, {"id": "hut", "x": 1, "y": 0}, {"id": "pond", "x": 0, "y": 1}],
            "edges": [
                {"from": "glade", "to": "hut", "minutes": 4},
                {"from": "glade", "to": "pond", "minutes": 4},
            ],
            "exits": [],
            "facilities": [],
            "npcs": [{"npcId": "hermit", "spawnNodeId": "hut"}],
        },
    ],
}

ACTIONS: Entry = {
    "needs": [
        {"id": "energy", "name": {"en": "Energy", "ja": "体力"}, "start": 90, "critical": 15, "driftPerHour": -4.5},
        {"id": "money", "name": "金", "lowest": -10, "highest": 500, "start": 20},
    ],
    "talk": {"effectsPerHour": {"energy": -1}},
    "actions": [
        {
            "id": "sleep",
            "name": {"en": "Sleep", "ja": "眠る"},
            "where": "home",
            "minutes": 480,
            "hours": ["20:00-04:00"],
            "effects": {"energy": 110},
            "interruptible": False,
            "endsDay": True,
        },
        {
            "id": "bake",
            "name": {"en": "Bake", "ja": "パンを焼く"},
            "tags": ["food", "kitchen"],
            "minutes": 30,
            "seats": 2,
            "requires": {"energy": {"atLeast": 10, "atMost": 100}, "money": {"atLeast": 0}},
            "cost": {"money": 2},
            "effects": {"energy": -5},
        },
        {"id": "rest", "name": {"en": "Rest", "ja": "休む"}, "where": "anywhere", "minutes": 20},
    ],
}
"""Actions for the village: those who want them put a copy into `Village.actions`."""

GIVE: Entry = {
    "id": "give_item",
    "description": {"en": "hand over something you carry", "ja": "持っているものを渡す"},
    "arguments": {
        "type": "object",
        "properties": {
            "item": {"type": "string", "enum": ["rye bread", "bun"], "description": {"en": "what", "ja": "何を"}},
            "count": {"type": "integer", "minimum": 1, "maximum": 5},
        },
        "required": ["item"],
    },
    "who": ["npc"],
    "cooldownMinutes": 10,
}
"""Something people ask of the game: those who want it put it into `Village.game_actions`."""

_NPCS: dict[str, Entry] = {
    "npcs/baker.yaml": {
        "id": "baker",
        "name": {"en": "Hanna", "ja": "ハンナ"},
        "personality": {"en": "Warm and loud.", "ja": "明るく声が大きい。"},
        "tendencies": [{"en": "Hums.", "ja": "鼻歌を歌う。"}],
        "customPrompt": {"en": "Never gives credit.", "ja": "つけは断る。"},
        "facts": [{"en": "The oven was built in 1950.", "ja": "窯は1950年に作られた。"}],
        "lines": [{"en": "Fresh rye!", "ja": "焼きたてだよ!"}],
        "mood": "happy",
    },
    "npcs/hermit.yml": {
        "id": "hermit",
        "name": {"ja": "隠者"},
        "personality": "Quiet.",
    },
}

_CHARACTERS: dict[str, Entry] = {
    "characters/sora.yaml": {
        "id": "sora",
        "name": {"en": "Sora", "ja": "ソラ"},
        "personality": {"en": "Curious.", "ja": "好奇心が強い。"},
        "goals": [{"goal": {"en": "Bake bread.", "ja": "パンを焼く。"}, "importance": "high"}],
        "routine": [
            {"starts": "07:00", "activity": {"en": "wakes", "ja": "起きる"}},
            {"starts": "18:30", "activity": {"en": "helps", "ja": "手伝う"}, "facility": "bakery"},
        ],
        "home": "yard",
    },
}


@dataclass
class Village:
    """Content files as values: `maps` for maps.json, `people` by file name, `actions` for actions.json (None: there is
    none). `raw` files are written as they are.
    """

    maps: Entry = field(default_factory=lambda: copy.deepcopy(_MAPS))
    people: dict[str, Entry] = field(default_factory=lambda: copy.deepcopy({**_NPCS, **_CHARACTERS}))
    actions: Entry | None = None
    raw: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def with_actions(cls) -> "Village":
        """With an actions.json of its own, and a character that plans what is in it."""
        village = cls(actions=copy.deepcopy(ACTIONS))
        village.sora.update(needs={"energy": 70, "money": -3.5}, decision="routine")
        village.sora["routine"][0]["action"] = "rest"
        village.sora["routine"][1]["action"] = "bake"
        village.sora["routine"].append({"starts": "22:00", "activity": "眠る", "action": "sleep"})
        return village

    @property
    def needs(self) -> list[Entry]:
        assert self.actions is not None
        entries: list[Entry] = self.actions["needs"]
        return entries

    @property
    def action_entries(self) -> list[Entry]:
        assert self.actions is not None
        entries: list[Entry] = self.actions["actions"]
        return entries

    @property
    def game_actions(self) -> list[Entry]:
        """Those of its actions.json, which has one from now on."""
        assert self.actions is not None
        entries: list[Entry] = self.actions.setdefault("gameActions", [copy.deepcopy(GIVE)])
        return entries

    @property
    def village(self) -> Entry:
        area: Entry = self.maps["maps"][0]
        return area

    @property
    def forest(self) -> Entry:
        area: Entry = self.maps["maps"][1]
        return area

    @property
    def baker(self) -> Entry:
        return self.people["npcs/baker.yaml"]

    @property
    def sora(self) -> Entry:
        return self.people["characters/sora.yaml"]

    def write(self, directory: Path) -> Path:
        """Write all files below the directory, and return it."""
        for folder in ("npcs", "characters"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        (directory / "maps.json").write_text(json.dumps(self.maps), encoding="utf-8")
        if self.actions is not None:
            (directory / "actions.json").write_text(json.dumps(self.actions), encoding="utf-8")
        for name, person in self.people.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(yaml.safe_dump(person, allow_unicode=True), encoding="utf-8")
        for name, content in self.raw.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_bytes(content)
        return directory


def in_pairs(count: int) -> Village:
    """``a0000`` and ``b0000``, ``a0001`` and ``b0001`` … all stand at the bakery's door, beside each other and the
    baker.
    """
    village = Village()
    for person_id in (f"{side}{number:04}" for number in range(count) for side in "ab"):
        profile = {**village.sora, "id": person_id, "name": person_id, "home": "door"}
        village.people[f"characters/{person_id}.yaml"] = profile
    return village


def enclose_the_mill(village: Village) -> None:
    """An NPC on the lane: the mill and the forest behind it are cut off from the square."""
    village.village["npcs"].append({"npcId": "guard", "spawnNodeId": "lane"})
    village.people["npcs/guard.yaml"] = {"id": "guard", "name": "Guard", "personality": "Stern."}
