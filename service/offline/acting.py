"""Owns what somebody without a model asks of the game: what the other has just asked it to do, by the words of it."""

import re
from collections.abc import Mapping
from typing import Any

from service.conversation.context import PromptContext
from service.offline.lines import fit

_MEANT = 0.25
"""Fit of what was heard to what an action is, from which it is meant."""


def act(context: PromptContext) -> dict[str, Any] | None:
    """The action that was asked for, with its arguments out of the same words; None: none was."""
    heard = context.lines[-1].text if context.lines else ""
    wanted = max(context.can_do, key=lambda one: fit(heard, one.description), default=None)
    if wanted is None or fit(heard, wanted.description) < _MEANT:
        return None
    form = wanted.arguments.model_json_schema()
    told = {name: _argument(form["properties"][name], heard, context) for name in form.get("required", ())}
    return {"id": wanted.id, "args": told}


def _argument(form: Mapping[str, Any], heard: str, context: PromptContext) -> Any:
    choices = [str(form["const"])] if "const" in form else form.get("enum", context.items)
    if form["type"] == "string":
        named = [one for one in choices if one.casefold() in heard.casefold()]
        return (named or list(choices) or [heard])[0][: form.get("maxLength")]
    if form["type"] == "boolean":
        return True
    found = re.search(r"\d+", heard)
    number = int(found[0]) if found else max(1, form["minimum"])
    return max(form["minimum"], min(form["maximum"], number))
