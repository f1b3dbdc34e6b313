"""Owns which bytes are a picture that the pages may show: of a kind that browsers draw, small, and without a script."""

import re
from xml.etree import ElementTree

from service.content.fields import quote
from service.content.files import Unreadable

MOST_PICTURE_BYTES = 1_000_000
_KINDS = re.compile(
    rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpg>\xff\xd8\xff)|(?P<gif>GIF8[79]a)|(?P<webp>RIFF.{4}WEBP)|(?P<avif>.{4}ftypavi[fs])",
    re.DOTALL,
)
"""How the bytes of a picture begin."""
_SVG = "{http://www.w3.org/2000/svg}"
_HIDES = re.compile(rb"<!ENTITY|<\?(?!xml\s)")
"""What of XML no picture needs: other words for what is written, and a sheet that is loaded."""
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
    try:
        whole = ElementTree.fromstring(raw)  # noqa: S314 - expat bounds what entities grow to, and they are refused
    except (ElementTree.ParseError, ValueError, LookupError) as exc:
        raise Unreadable("content.picture.unknown") from exc
    if whole.tag != f"{_SVG}svg":
        raise Unreadable("content.picture.unknown")
    if _HIDES.search(raw) or any(one.tag.rpartition("}")[2].lower() in _RUNS for one in whole.iter()):
        raise Unreadable("content.picture.script")
    for name, value in (pair for one in whole.iter() for pair in one.items()):
        key, plain = name.rpartition("}")[2].lower(), "".join(value.split()).lower()
        if key.startswith("on") or "javascript:" in plain:
            raise Unreadable("content.picture.script")
        if key == "href" and not plain.startswith(("#", "data:image/")):
            raise Unreadable("content.picture.loads", found=quote(value))
    return ".svg"
