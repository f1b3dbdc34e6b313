"""Owns the card of a data set: what is in it, what was left out and why, who made it, and what it cost."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from service.generate.dataset import Dataset, Line
from service.locales import Language, Listed, Phrase, sentence
from service.run.cost import Prices, Spent, counted, total
from service.settings import Settings

Card = dict[str, Any]


def card_of(
    dataset: Dataset,
    kind: str,
    asked: int,
    counts: Callable[[Line], Mapping[str, int]],
    *,
    settings: Settings,
    prices: Prices | None,
) -> Card:
    """The card, from what the two files hold: it is the same whether the run was stopped on the way or not."""
    kept, in_vain = Sum(), Sum()
    features, dropped = Counter[str](), Counter[str]()
    for line in dataset.kept():
        kept.add(line)
        features.update(counts(line))
    for line in dataset.dropped():
        in_vain.add(line)
        dropped[line["reason"]] += 1
    whole, lost = total(kept.spent) + total(in_vain.spent), total(in_vain.spent)
    models = {role: sorted(kept.models[role] | in_vain.models[role]) for role in {**kept.models, **in_vain.models}}
    purposes = sorted({**kept.spent, **in_vain.spent})
    return {
        "file": dataset.file.name,
        "kind": kind,
        "run": dataset.run,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "service": f"kataribe {version('kataribe')}",
        "seed": settings.llm.seed,
        "rehearsal": settings.llm.provider == "rehearsal",
        "models": dict(sorted(models.items())),
        "items": {"asked": asked, "kept": kept.items, "dropped": dict(dropped.most_common())},
        "counts": dict(features),
        "spent": {purpose: counted(kept.spent[purpose] + in_vain.spent[purpose]) for purpose in purposes},
        "total": counted(whole),
        "total_dropped": counted(lost),
        "money": None if prices is None else prices.of(whole),
        "settings": {  # those that decide what is said and kept
            "temperature": settings.llm.temperature,
            "max_turns": settings.max_turns,
            "embedding": settings.embedding.provider,
            "attitude": settings.memory.attitude,
            "recall_limit": settings.memory.recall_limit,
            "fade_after_days": settings.memory.fade_after_days,
        },
    }


def write_card(file: Path, card: Card, language: Language) -> Iterator[str]:
    """Write it beside the data set, as JSON and as a page; answers what the page says."""
    file.with_suffix(".card.json").write_text(f"{json.dumps(card, ensure_ascii=False, indent=2)}\n", "utf-8")
    page = list(_page(card, language))
    file.with_suffix(".card.md").write_text("\n".join([*page, ""]), "utf-8")
    yield from page


class Sum:
    """Of many items: what they cost, by what for, and who made them, by role."""

    def __init__(self) -> None:
        self.items = 0
        self.spent: defaultdict[str, Spent] = defaultdict(Counter)
        self.models: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, line: Line) -> None:
        self.items += 1
        for purpose, one in line["meta"]["spent"].items():
            self.spent[purpose].update(one)
        for role, name in line["meta"]["models"].items():
            self.models[role].add(name)


def _page(card: Card, language: Language) -> Iterator[str]:
    items, models = card["items"], {name for names in card["models"].values() for name in names}
    yield f"# {card['file']}"
    yield ""
    if card["rehearsal"]:
        yield sentence(language, "generate.card.rehearsal")
        yield ""
    facts: dict[str, object] = {
        "kind": card["kind"],
        "language": card["language"],
        "licence": card["licence"] or Phrase("generate.card.no_licence"),
        "made_at": card["made_at"],
        "service": card["service"],
        "models": Listed(sorted(models)),
        "seed": f"{card['seed']} ({card['run']})",
        "asked": items["asked"],
        "kept": items["kept"],
    }
    if card["money"] is not None:
        facts["money"] = card["money"]
    yield from _table(("fact", "value"), ((f"generate.card.{name}", value) for name, value in facts.items()), language)
    yield from _table(
        ("counted", "count"), ((f"generate.counts.{name}", n) for name, n in card["counts"].items()), language
    )
    yield from _table(
        ("dropped", "count"), ((f"generate.dropped.{name}", n) for name, n in items["dropped"].items()), language
    )
    names = ("purpose", "calls", "failures", "prompt_tokens", "completion_tokens")
    spent: list[tuple[str, *tuple[object, ...]]] = [
        (f"generate.purposes.{purpose}", *(one[name] for name in names[1:]))
        for purpose, one in {**card["spent"], "total": card["total"], "total_dropped": card["total_dropped"]}.items()
    ]
    yield from _table(names, spent, language)
    if card["total"]["estimated"]:
        yield sentence(language, "generate.card.estimated")


def _table(heads: Iterable[str], rows: Iterable[tuple[str, *tuple[object, ...]]], language: Language) -> Iterator[str]:
    """The first cell of a row is the key of its words. A table without rows is left out."""
    told = [(Phrase(first).of(language), *rest) for first, *rest in rows]
    if not told:
        return
    titles = [sentence(language, f"generate.card.{head}") for head in heads]
    for cells in (titles, ["---"] * len(titles), *told):
        said = (cell.of(language) if isinstance(cell, Phrase) else _cell(cell) for cell in cells)
        yield f"| {' | '.join(said)} |"
    yield ""


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
