"""Owns the scene that the document of scenes gives as its example, in both languages: a classroom after school."""

from pathlib import Path
from typing import Any

import yaml

from tests.content.village import Village

SCENE: dict[str, Any] = {
    "scene_id": "S001",
    "location": {"en": "A classroom at school", "ja": "学校の教室"},
    "time": {"en": "After school", "ja": "放課後"},
    "situation": {
        "en": "The evening sun falls in, and most pupils have gone home. A and B talk at the seats by the window.",
        "ja": "夕日が差し込み、生徒はほとんど帰宅している。窓際の席でAとBが話している。",
    },
    "participant_character_ids": ["chara-a", "chara-b"],
}
"""With the keys of the document."""

PEOPLE: dict[str, dict[str, Any]] = {
    name: {
        "id": f"chara-{name}",
        "name": {"en": name.upper(), "ja": f"キャラ{name.upper()}"},
        "personality": {"en": "A pupil.", "ja": "生徒。"},
        "home": "square",
    }
    for name in "abcdefghi"
}
"""The two who talk, and others who may come in."""


def classroom(directory: Path, *scenes: dict[str, Any]) -> Path:
    """The small village with the pupils, and these scenes (none: the document's), written below the directory."""
    village = Village()
    village.people |= {f"characters/{name}.yaml": person for name, person in PEOPLE.items()}
    village.write(directory)
    (directory / "scenes").mkdir()
    for number, scene in enumerate(scenes or (SCENE,), start=1):
        file = directory / "scenes" / f"S00{number}.yaml"
        file.write_text(yaml.safe_dump(scene, allow_unicode=True), encoding="utf-8")
    return directory
