"""Owns what can be wrong with an export or an import."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from service.content.problem import Key, found, key_path
from service.errors import Conflict, Invalid, NotFound
from world.ids import SLUG_MAX
from world.time import Language


class NoSuchWorld(NotFound):
    """Facts: `id`, `place`."""

    slug = "no-such-world"


class BadWorldName(Invalid):
    """Facts: `value`."""

    slug = "bad-world-name"


class NoSuchTime(Invalid):
    """Facts: `option`, `value`."""

    slug = "no-such-time"


class NothingThen(Invalid):
    """Facts: `since`, `until`, `begun`, `now`."""

    slug = "nothing-then"


class WorldHasLived(Conflict):
    """Facts: `world_id`."""

    slug = "world-has-lived"


class FileUnusable(Invalid):
    """Facts: `file`, `reason`."""

    slug = "file-unusable"


class BadLine(Invalid):
    """Facts: `file`, `line` (from 1), `reason` (English), `reason_ja`. Nothing of the file was kept."""

    slug = "bad-line"

    def __init__(self, file: Path, line: int, reason: Mapping[Language, str]) -> None:
        super().__init__(file=str(file), line=line, reason=reason["en"], reason_ja=reason["ja"])


class Unreadable(ValueError):
    """A line that says something it cannot mean: `reason` in both languages. Whoever knows the line makes it a BadLine."""

    def __init__(self, en: str, ja: str) -> None:
        super().__init__(en)
        self.reason: Mapping[Language, str] = {"en": en, "ja": ja}


_EXPECTED: Mapping[str, tuple[str, str]] = {
    "string_type": ("text", "文字列"),
    "int_type": ("a whole number", "整数"),
    "bool_type": ("true or false", "true か false"),
    "dict_type": ("an object", "オブジェクト"),
    "model_type": ("an object", "オブジェクト"),
    "list_type": ("a list", "リスト"),
    "tuple_type": ("a list", "リスト"),
    "world_time": ("a world time like 2026-04-01T07:30", "2026-04-01T07:30 のような世界の時刻"),
    "plain_text": ("text that can be written down", "書き表せる文字列"),
    "slug": (
        f"an id of letters a-z, A-Z and digits, with single - or _ between them, at most {SLUG_MAX}",
        f"英字と数字の間に - か _ を1つずつ入れた、{SLUG_MAX} 文字以内のid",
    ),
    "conversation_id": ("an id of 1 to 48 letters a-z and digits", "英小文字と数字 1 〜 48 文字のid"),
}


def reason_of(error: ValidationError) -> Mapping[Language, str]:
    """The first thing that is wrong, in both languages."""
    first = error.errors()[0]
    where = key_path(tuple(first["loc"]))
    at = f"{where}: " if where else ""
    if first["type"] == "missing":
        return {"en": f"{where} is missing", "ja": f"{where} がありません"}
    if first["type"] == "extra_forbidden":
        return {"en": f"{where} is not known here", "ja": f"{where} というキーは使えません"}
    if first["type"] in _EXPECTED:
        return _mismatch(first["type"], where, first["input"])
    return {"en": f"{at}{first['msg']}", "ja": f"{at}{found(first['input'], 'ja')} は使えません"}


def no_id(key: Key, value: str) -> Unreadable:
    """What was written as an id at that key is none."""
    reason = _mismatch("slug", key_path(key), value)
    return Unreadable(reason["en"], reason["ja"])


def _mismatch(kind: str, where: str, value: object) -> Mapping[Language, str]:
    en, ja = _EXPECTED[kind]
    at = f"{where}: " if where else ""
    return {
        "en": f"{at}found {found(value, 'en')}; expected {en}",
        "ja": f"{at}{found(value, 'ja')} が書かれています。{ja}を書いてください",
    }
