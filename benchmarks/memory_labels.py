"""Owns what a scripted model answers from hand-made labels: a closing of their statements, and verdicts that are right
with a chance.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from service.memory.closing.context import ClosingContext, answer_to
from service.memory.closing.verify import Finding
from service.memory.lexical import normal, tokens
from world.time import iso, parse_time

Label = Mapping[str, Any]
"""A truth, a lie or a promise (shared/voices/FORMAT.md)."""

MOST_MEMORIES = 16
"""Of one closing."""
MOST_TURNS = 4
"""That a memory cites."""
_STATUS = {"made": "made", "kept": "kept", "moved": "moved", "cancelled": "released"}
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|(?<=[。!?！？])")
_WRONG: Sequence[Finding] = ("contradicted", "not_said")


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a closing is to answer: the memories and promises it drafts, in their order, and the paragraph of all.
    `earlier` are statements that a draft may replace, by what the labels call them.
    """

    paragraph: str
    memories: Sequence[Label] = ()
    promises: Sequence[Label] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    affinity: int | None = None
    """How everybody likes the other now; None: as before."""

    def placed(self, places: Mapping[int, int]) -> "Told":
        """The same with the turns that labels cite where these were really spoken."""
        memories = [{**one, "turns": [places[turn] for turn in one["turns"]]} for one in self.memories]
        promises = [{**one, "turn": places[one["turn"]]} for one in self.promises]
        return replace(self, memories=memories, promises=promises)

    def answer(self, context: ClosingContext) -> dict[str, Any]:
        """The closing's answer to that context."""
        refs = {one.person_id: one.ref for one in context.participants}
        most = next(one.max_length for one in answer_to(context).model_fields["memories"].metadata)
        mine = [one for one in self.memories if one["owner"] in refs]
        first = sorted(mine, key=lambda one: -one.get("importance", 5))[:most]
        drafts = [self._memory(one, context, refs) for one in first]
        return {
            "people": {one.ref: self._entry(context, one.ref) for one in context.participants},
            "memories": drafts,
            "promises": [_promise(one, context, refs) for one in self.promises if one["by"] in refs][:6],
            "not_to_quote": [],
            "reached": [],
        }

    def _entry(self, context: ClosingContext, ref: str) -> dict[str, Any]:
        who = next(one for one in context.participants if one.ref == ref)
        entry: dict[str, Any] = {
            "paragraph": sentences_of(self.paragraph)[:4],
            "topics": [],
            "mood": "neutral",
        }
        others = context.others_of(who)
        if not context.is_group:
            liked = who.affinity if self.affinity is None else self.affinity
            return {**entry, "affinity": liked, "attitude": None}
        entry["towards"] = {other.ref: stands.affinity for other, stands in others}
        judged = [] if who.is_player else [other.ref for other, stands in others if context.is_judged(stands)]
        level = {"power": 0, "intimacy": 0, "task_oriented": 0}
        return {**entry, "attitude": dict.fromkeys(judged, level)} if judged else entry

    def _memory(self, label: Label, context: ClosingContext, refs: Mapping[str, str]) -> dict[str, Any]:
        turns = list(label["turns"])[:MOST_TURNS]
        draft = {
            "owner": refs[label["owner"]],
            "text": label["statement"],
            "turns": turns,
            "about": refs.get(label["about"], label["about"]),
            "teller": refs.get(label.get("teller") or _teller(label["owner"], turns, context), ""),
            "mode": label.get("mode") or ("planned" if label.get("kind") == "plan" else "stated"),
            "importance": label.get("importance", 5),
            "lasts": label.get("lasts", "long"),
            "replaces": self._replaced(label, context, refs),
        }
        if context.is_short:
            return draft
        source = label.get("from") or ""
        told_by = next((person for person, ref in refs.items() if ref == draft["teller"]), "")
        heard = "" if source in ("", told_by, label["owner"]) else refs.get(source, source)
        return {**draft, "heard_from": heard, "slot": label.get("slot", ""), "quote": "", "until": "", "between": ""}

    def _replaced(self, label: Label, context: ClosingContext, refs: Mapping[str, str]) -> str:
        """The ref under which the context shows what the label replaces; "": it does not."""
        wanted = normal(self.earlier.get(label.get("replaces") or "", "")).rstrip(".。")
        owner = next(one for one in context.participants if one.person_id == label["owner"])
        shown = (known.ref for known in owner.memories if wanted and wanted in normal(known.text))
        return next(shown, "")


def sentences_of(paragraph: str) -> list[str]:
    """The sentences of a paragraph, whose end a script marks."""
    return [one.strip() for one in _SENTENCE.split(paragraph) if one.strip()]


def verdict(statement: str, truths: Iterable[str], lies: Iterable[str], right: float, seed: int) -> Finding:
    """What a verifier finds that is right with that chance: always the same of the same statement. What is neither
    true nor a lie is small talk of the script, and supported.
    """
    rng = random.Random(f"{seed} {normal(statement)}")
    is_right, wrong = rng.random() < right, rng.choice(_WRONG)
    if normal(statement) in map(normal, lies):
        return wrong if is_right else "supported"
    return "supported" if is_right or normal(statement) not in map(normal, truths) else wrong


def _teller(owner: str, turns: Sequence[int], context: ClosingContext) -> str:
    """Who said it: the first of the cited speakers who is not the owner; where only the owner speaks, it."""
    spoken = {line.turn: line.speaker_id for line in context.lines}
    speakers = [spoken[turn] for turn in turns if turn in spoken]
    return next((one for one in speakers if one != owner), owner if owner in speakers else "")


def _promise(label: Label, context: ClosingContext, refs: Mapping[str, str]) -> dict[str, Any]:
    due = label.get("due")
    day, time = label.get("day", ""), label.get("hour") or label.get("part") or ""
    if due:
        day, _, hour = iso(parse_time(due)).partition("T")
        time = "" if hour == "00:00" else hour
    status = _STATUS.get(label["status"], label["status"])
    places = {name: place for place, name in context.places}
    return {
        "status": status,
        "by": refs[label["by"]],
        "to": refs.get(label["to"], ""),
        "what": label["what"],
        "place": places.get(label["place"] or "", label["place"] or ""),
        "day": day if status in ("made", "moved") else "",
        "time": time if status in ("made", "moved") else "",
        "turn": label["turn"],
        "ref": "" if status == "made" else _open(label, context),
    }


def _open(label: Label, context: ClosingContext) -> str:
    """The ref of the open promise that the label speaks of: of those of the same two the likest."""
    pair = (label["by"], label["to"])
    found = [one for one in context.promises if (one.by_id, one.to_id) == pair]
    words = set(tokens(label["what"]))
    return max(found, key=lambda one: len(words & set(tokens(one.line)))).ref if found else ""
