"""Owns what a speaker without a model adds to its words: what it asks of the game, and lines for the player."""

import random
import re
from collections.abc import Mapping
from typing import Any

from service.conversation.context import PromptContext
from service.memory.lexical import likeness
from service.offline.phrases import phrases, quotable

_MEANT = 0.14
"""Likeness of what was heard to what an action is, from which it is meant."""


def act(context: PromptContext) -> dict[str, Any] | None:
    """The action that the other has just asked for, with its arguments out of the same words; None: none was."""
    heard = context.lines[-1].text if context.lines else ""
    wanted = max(context.can_do, key=lambda one: likeness(heard, one.description), default=None)
    if wanted is None or likeness(heard, wanted.description) < _MEANT:
        return None
    form = wanted.arguments.model_json_schema()
    told = {name: _argument(form["properties"][name], heard, context) for name in form.get("required", ())}
    return {"id": wanted.id, "args": told}


def suggest(context: PromptContext, said: str, rng: random.Random) -> list[str]:
    """What the partner could answer: a word of itself, where it was asked; questions, one about each announcement; and
    a goodbye.
    """
    words, heard = phrases(context.language), {line.text for line in context.lines}

    def any_of(key: str, **slots: str) -> str:
        you = words.only("address.polite", name=context.speaker.name.strip()[:40])
        found = words.wordings(f"polite.{key}", you=you, **slots)
        return rng.choice([text for text in found if text not in heard] or found)

    news = (words.only("goal.notice", notice=quotable(text)) for text in context.notices)
    answer = [any_of("nothing")] if words.asks(said) else []
    lines = [*answer, any_of("more"), *(any_of("ask_about", topic=topic) for topic in news), any_of("ask")]
    most = context.choices
    return [*lines[: max(1, most - 1)], words.joined([any_of("thanks"), any_of("bye")])][:most]


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
