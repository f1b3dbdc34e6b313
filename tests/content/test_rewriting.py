"""Owns the tests of values that are changed in the text of a file: all that is not changed stays to the letter."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from service.content.files import Unreadable, bundled_content, values_of
from service.content.rewriting import rewritten

AOI = """# the fisher's daughter
id: aoi
name: {en: "Aoi", ja: "葵😀"}   # as her grandmother
nothing:
customPrompt:
  en: |-
    She speaks softly.
    She counts waves.

  # her voice
  ja: |
    小声で話す。
facts:
  - en: "mends nets"   # since spring
    ja: "網を繕う"
  # what nobody knows
  - en: "cannot swim"
    secret: true
    tellFrom: {affinity: 40}
  - plain words
goals:
- goal: leave
  importance: high
tags: [shore, 'net']   # two
mood: neutral
"""


def edited(change: Callable[[Any], object], text: str = AOI, suffix: str = ".yaml") -> str:
    values = copy.deepcopy(values_of(text, suffix))
    change(values)
    told = rewritten(text, suffix, (), values)
    assert values_of(told, suffix) == values
    return told


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that were taken out, and lines that came in."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_one_value_is_changed_and_nothing_else() -> None:
    told = edited(lambda v: v["name"].update(en='Aoi "the Wave"'))
    assert told == AOI.replace('en: "Aoi",', 'en: "Aoi \\"the Wave\\"",')
    told = edited(lambda v: v.update(mood="happy"))
    assert told == AOI.replace("mood: neutral", "mood: happy")


def test_texts_of_several_lines_are_written_as_blocks() -> None:
    told = edited(lambda v: v["customPrompt"].update(en="She sings.\nSoftly."))
    assert told == AOI.replace("    She speaks softly.\n    She counts waves.", "    She sings.\n    Softly.")
    told = edited(lambda v: v["facts"][0].update(en="mends nets\nand sails"))
    assert "  - en: |-\n      mends nets\n      and sails   # since spring" not in told
    assert "# what nobody knows" in told


def test_entries_come_and_go_with_their_own_lines_alone() -> None:
    told = edited(lambda v: v["facts"].append({"en": "New here: yes", "ja": "新しい"}))
    assert changed_lines(AOI, told) == ([], ['  - en: "New here: yes"', '    ja: "新しい"'])
    told = edited(lambda v: v["facts"].insert(0, "first"))
    assert told == AOI.replace("facts:\n", "facts:\n  - first\n")
    told = edited(lambda v: v["facts"].pop(0))
    assert changed_lines(AOI, told) == (['  - en: "mends nets"   # since spring', '    ja: "網を繕う"'], [])
    told = edited(lambda v: (v["tags"].pop(0), v["tags"].append("quay")))
    assert told == AOI.replace("[shore, 'net']", "['net', quay]")
    told = edited(lambda v: v["goals"].append({"goal": "stay", "importance": 3}))
    assert told == AOI.replace("  importance: high\n", "  importance: high\n- goal: stay\n  importance: 3\n")


def test_keys_come_and_go() -> None:
    told = edited(lambda v: v.update(skills=["knots"], portrait="pictures/aoi.svg"))
    assert told == AOI + "skills:\n  - knots\nportrait: pictures/aoi.svg\n"
    told = edited(lambda v: v.pop("customPrompt"))
    assert changed_lines(AOI, told)[1] == []
    told = edited(lambda v: v.update(nothing="something"))
    assert told == AOI.replace("nothing:", "nothing: something")
    told = edited(lambda v: v.update(facts=[]))
    assert "facts: []" in told
    told = edited(lambda v: v.update(name="Aoi"))
    assert told == AOI.replace('{en: "Aoi", ja: "葵😀"}', '"Aoi"')
    told = edited(lambda v: v.update(mood={"en": "calm", "ja": "凪"}))
    assert told == AOI.replace("mood: neutral\n", 'mood:\n  en: calm\n  ja: "凪"\n')


def test_line_breaks_of_windows_stay() -> None:
    text = AOI.replace("\n", "\r\n")
    told = edited(lambda v: v["facts"].append("new"), text)
    assert told.count("\r\n") == told.count("\n") == text.count("\n") + 1


def test_json_keeps_a_line_an_entry_and_tabs() -> None:
    text = '{\n\t"a": [\n\t\t{"id": "x", "n": 1.0, "e": "\\ud83d\\ude00"},\n\t\t{"id": "y"}\n\t],\n\t"b": {}\n}\n'
    told = edited(lambda v: v["a"].append({"id": "z", "at": "「」"}), text, ".json")
    assert told == text.replace('{"id": "y"}', '{"id": "y"},\n\t\t{"id": "z", "at": "「」"}')
    assert edited(lambda v: v["a"][0].update(n=1), text, ".json") == text
    assert edited(lambda v: v["a"].pop(), text, ".json") == text.replace(',\n\t\t{"id": "y"}', "")
    assert edited(lambda v: v.update(b={"c": [1, None, True]}), text, ".json") == text.replace(
        "{}", '{"c": [1, null, true]}'
    )


def test_what_cannot_be_changed_alone_is_refused() -> None:
    """A reference says the same in two places; a comment stands where the new value would."""
    for text, wanted in (
        ("a: &one {x: 1}\nb: *one\n", {"a": {"x": 2}, "b": {"x": 1}}),
        ("a: # why\n  en: x\n", {"a": "y"}),
        ("- a\n", {"a": "b"}),
    ):
        with pytest.raises(Unreadable) as refused:
            rewritten(text, ".yaml", (), wanted)
        assert refused.value.reason.of("en").startswith("this cannot be changed")


@pytest.mark.parametrize("file", ["npcs/npc_eisaku.yaml", "characters/aoi.yaml", "maps.json", "actions.json"])
def test_any_change_of_any_value_of_the_sample_is_written(file: str) -> None:
    """A hundred chance changes each: the file says what is wanted, and keeps nearly all of its lines."""
    rng = random.Random(30)
    path = bundled_content() / file
    text = path.read_text(encoding="utf-8")
    for _ in range(20):
        values = copy.deepcopy(values_of(text, path.suffix))
        _spoil(values, rng)
        told = rewritten(text, path.suffix, (), values)
        assert json.dumps(values_of(told, path.suffix), sort_keys=True) == json.dumps(values, sort_keys=True)
        gone, _ = changed_lines(text, told)
        assert len(gone) < max(60, len(text.splitlines()) // 3)


def _spoil(value: Any, rng: random.Random) -> None:
    """Change, add or take away something somewhere within."""
    for depth in range(99):
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = rng.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and (depth < 3 or rng.random() < 0.9):
            value = value[key]
            continue
        how = rng.choice(["text", "lines", "number", "gone", "new"])
        if how == "gone":
            del value[key]
        elif how == "new" and isinstance(value, dict):
            value["added"] = {"en": "It's: new #1", "ja": "新しい"}
        elif how == "new":
            value.insert(key, "no")
        else:
            value[key] = {"text": " yes: 'x' # \u2028{", "lines": "a\n  b\n\n# c", "number": 12.5}[how]
        return
