"""Owns where the content lies that travels with Kataribe."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled_content(package: Path = _PACKAGE) -> Path:
    """The content that travels with Kataribe: inside the installed `package`, else in the checkout around it."""
    bundled = package / "_bundled"
    return bundled if bundled.is_dir() else package.parent
