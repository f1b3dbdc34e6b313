"""The scene that the guide shows is the one of scenes/S001.yaml."""

import re
from pathlib import Path

import pytest
import yaml

from service.locales import Language

ROOT = Path(__file__).parents[2]
GUIDES: dict[Language, str] = {"en": "guide.md", "ja": "guide.ja.md"}


@pytest.mark.parametrize("language", GUIDES)
def test_the_guide_shows_the_scene_that_its_command_plays(language: Language) -> None:
    guide = (ROOT / "docs" / GUIDES[language]).read_text("utf-8")
    (shown,) = re.findall(r"```\n[^\n]*S001: (.*?)```", guide, re.DOTALL)
    head, situation, *turns = shown.splitlines()
    scene = yaml.safe_load((ROOT / "scenes" / "S001.yaml").read_text("utf-8"))
    assert head.endswith(scene["time"][language])
    assert situation == scene["situation"][language]
    assert any(scene["participants"][0]["goal"][language] in line for line in turns)
    (brother,) = [rule["do"] for rule in scene["interventions"] if rule["id"] == "brother"]
    assert turns[-1].endswith(brother["revelation"]["content"][language])
