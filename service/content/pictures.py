"""Owns which bytes are a picture that the pages may show: of a kind that browsers draw, small, and without a script."""

import re
from collections.abc import Mapping
from xml.parsers.expat import ExpatError, ParserCreate

from service.content.fields import quote
from service.content.files import Unreadable

MOST_PICTURE_BYTES = 1_000_000
_KINDS = re.compile(
    rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpg>\xff\xd8\xff)|(?P<gif>GIF8[79]a)|(?P<webp>RIFF.{4}WEBP)|(?P<avif>.{4}ftypavi[fs])",
    re.DOTALL,
)
"""How the bytes of a picture begin."""
_RUNS = frozenset({"script", "foreignobject", "iframe", "object", "embed", "handler", "listener"})
"""Elements within an SVG that run something, or hold another document."""


def picture_suffix(raw: bytes) -> str:
    """How the file of the picture ends: ``.png``.

    Raises:
        Unreadable: it is none, is too large, or is an SVG that holds a script or loads something.
    """
    if len(raw) > MOST_PICTURE_BYTES:
        raise Unreadable("content.picture.too_large", count=len(raw) // 1000, most=MOST_PICTURE_BYTES // 1000)
    if found := _KINDS.match(raw):
        return f".{found.lastgroup}"
    parser = ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = _harmless
    parser.EntityDeclHandler = parser.ProcessingInstructionHandler = _refused
    try:
        parser.Parse(raw, True)
    except (ExpatError, ValueError, LookupError) as exc:
        raise Unreadable("content.picture.unknown") from exc
    return ".svg"


def _harmless(tag: str, attributes: Mapping[str, str]) -> None:
    """Raises: Unreadable: the element runs something, or loads something from elsewhere; or it is none of an SVG."""
    space, _, name = tag.rpartition(" ")
    if name.lower() in _RUNS:
        raise Unreadable("content.picture.script", found=quote(f"<{name}>"))
    if name == "html" or not (space or name == "svg"):
        raise Unreadable("content.picture.unknown")
    for full, value in attributes.items():
        key, plain = full.rpartition(" ")[2].lower(), "".join(value.split()).lower()
        if key.startswith("on") or "javascript:" in plain:
            raise Unreadable("content.picture.script", found=quote(f"{key}={plain}"))
        if key == "href" and not plain.startswith(("#", "data:image/")):
            raise Unreadable("content.picture.loads", found=quote(value))


def _refused(*_: object) -> None:
    raise Unreadable("content.picture.script", found=quote("<!ENTITY>, <?…?>"))
