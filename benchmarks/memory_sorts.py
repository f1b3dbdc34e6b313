"""Measures memories of one sort each: jokes and plans, what is on a mind, attacks, and what changes its value.

The cases (memory_cases/) were written by who had not seen the service. Closings are scripted from them: what is
measured is what the service makes of an answer, careless or obeying ones too.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.memory_arcs import CASES, GUEST, Count
from benchmarks.memory_filler import filler
from benchmarks.memory_labels import Told
from benchmarks.memory_reading import Stand, is_in, stands_in
from benchmarks.memory_stage import Stage, stage
from service.locales import Language, languages
from service.memory.closing.verify import Finding
from service.memory.lexical import normal
from service.memory.telling import plain

START = "2026-04-01T00:00"
TRUSTED = 60
"""The affinity from which a secret may be told: more than one talk can give."""

Case = Mapping[str, Any]


def cases(name: str, language: Language, most: int | None = None) -> list[Case]:
    """Those that are held in a world of that language; a third language is spoken in an English one."""
    read = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return [one for one in read if ("ja" if one["language"] == "ja" else "en") == language][:most]


async def marks(most: int | None = None) -> dict[str, float]:
    """Of jokes, plans, guesses and hearsay that are rightly labelled, the share that stands bare: without its mark, or
    without who told it; and of hearsay, with whom the teller has it from.
    """
    bare, shown, source = Count(), Count(), Count()
    for language in languages()[:most]:
        async with stage(language=language, start=START) as here:
            for case in cases("marks", language, most):
                labels = [
                    {
                        "owner": owner,
                        "about": case["about"],
                        "statement": text,
                        "turns": case["statement_turns"],
                        "teller": case["teller"],
                        "mode": case["mode"],
                        "from": case["from"],
                        "importance": 7,
                    }
                    for owner in _owners(case)
                    for text in (case["statement"], case["bare_would_be"])
                ]
                told = await _told_after(here, case, Told(paragraph=_small(case), memories=labels))
                for label in labels:
                    within = [one["statement"] for one in labels if one["statement"] != label["statement"]]
                    said = [*_texts(case), *within]
                    found = stands_in(told[label["owner"]], label["statement"], language, said)
                    shown.add(bool(found))
                    bare.add(any(_is_bare(one, case) for one in found))
                    if found and case["from"]:
                        source.add(any(one.has_source for one in found))
    return {
        "marks_bare_share": bare.share,
        "marks_shown_share": shown.share,
        "hearsay_with_source_share": source.share,
    }


def _is_bare(one: Stand, case: Case) -> bool:
    return one.is_bare if case["mode"] == "stated" else not one.is_marked


async def mid_term(most: int | None = None) -> dict[str, float]:
    """Traps that stay on somebody's mind though a verifier that is right says so, and with none; and the real ones."""
    figures: dict[str, float] = {}
    for name, verify in (("verified", True), ("unverified", False)):
        traps, standing, real = Count(), Count(), Count()
        for language in languages()[:most]:
            async with stage(language=language, start=START, verify=verify) as here:
                for number, case in enumerate(cases("midterm", language, most)):
                    here.script.judge = partial(_finding, case, _WRONG[number % 2])
                    found = await _on_mind(here, case)
                    if case["kind"] == "trap":
                        traps.add(bool(found))
                        standing.add(any(one.stands for one in found))
                    else:
                        real.add(any(one.stands for one in found))
        figures |= {
            f"midterm_traps_kept_{name}": traps.held,
            f"midterm_traps_stand_{name}": standing.held,
            f"midterm_real_share_{name}": real.share,
            "midterm_traps": traps.of,
        }
    return figures


_WRONG: Sequence[Finding] = ("contradicted", "not_said")


def _finding(case: Case, wrong: Finding, text: str) -> Finding:
    return wrong if normal(text) == normal(case.get("careless", "")) else "supported"


async def _on_mind(here: Stage, case: Case) -> list[Stand]:
    """How what a closing says to be on the minds of those of the case stands in their next prompts."""
    statement = case.get("careless") or case["good"]
    usual = {"statement": statement, "turns": [case["turn"]], "mode": "planned", "importance": 7}
    lasts = case.get("level", "high")
    labels = [{**usual, "owner": owner, "about": owner, "lasts": lasts} for owner in _owners(case)]
    told = await _told_after(here, case, Told(paragraph=_small(case), memories=labels))
    return [one for text in told.values() for one in stands_in(text, statement, here.language, _texts(case))]


async def injections(most: int | None = None) -> dict[str, float]:
    """With a model that obeys and finds all of it supported: secrets that a later prompt tells, what it wanted that
    stands bare there as a memory, or as what was talked of.
    """
    secrets = memories = paragraphs = 0
    for language in languages()[:most]:
        async with stage(language=language, start=START) as here:
            for case in cases("injections", language, most):
                obeys = case["obeying"]
                (npc,) = _owners(case)
                labels = [
                    {**one, "owner": npc, "statement": one["text"], "importance": 10, "about": one["about"]}
                    for one in obeys["memories"]
                ]
                told = await _told_after(
                    here,
                    case,
                    Told(paragraph="\n".join(obeys["paragraph"]), memories=labels, affinity=obeys["affinity"]),
                    secret=case["secret"],
                )
                text, said = (
                    told[npc],
                    [*_texts(case), *map(plain, _texts(case))],
                )  # as it was sent, and as prompts show it
                secrets += is_in(text, case["secret"])
                paragraph = [one for line in obeys["paragraph"] for one in stands_in(text, line, language, said)]
                said += obeys["paragraph"]
                remembered = [one for label in labels for one in stands_in(text, label["statement"], language, said)]
                memories += any(one.is_bare for one in remembered)
                paragraphs += any(one.is_bare for one in paragraph)
    return {
        "injection_secrets_told": secrets,
        "injection_bare_memories": memories,
        "injection_bare_paragraphs": paragraphs,
    }


async def state(most: int | None = None) -> dict[str, float]:
    """Of things that were told of five times, each time otherwise, those of which the prompt that answers tells the
    newest first, and the older ones marked, or not at all.
    """
    right = Count()
    for language in languages()[:most]:
        async with stage(language=language, start=START) as here:
            for number, case in enumerate(cases("state", language, most)):
                right.add(await _is_newest_first(here, f"state{number}", case))
    return {"state_right": right.held, "state_objects": right.of}


async def _is_newest_first(here: Stage, world: str, case: Case) -> bool:
    await here.people(world, case["people"])
    ids = {one["name"]: one["id"] for one in case["people"]}
    owner, player = ids[case["owner"]], case["turns"][0]["speaker"]
    for number, told in enumerate(case["told"]):
        await here.until(world, f"2026-04-0{number + 2}T12:00")
        if told["by"] is None:
            about = {"subject": case["object"], "attribute": case["attribute"], "value": told["value"]}
            await here.call(
                "POST", world, "/world/observations", {"text": told["text"], "seen_by": [owner], "about": about}
            )
            continue
        teller = ids[told["by"]]
        label = {
            "owner": owner,
            "about": case["object"],
            "statement": told["text"],
            "turns": [0],
            "teller": teller,
            "slot": case["attribute"],
            "importance": 5,
        }
        small = filler(case["language"], number)
        await here.talk(
            world,
            [(teller, told["text"]), (owner, small.lines[1])],
            Told(paragraph=small.summary, memories=[label]),
        )
    await here.until(world, "2026-04-07T12:00")
    (prompt,) = await here.reads(world, owner, player, [case["question"]], _small(case))
    return _newest_leads("\n".join(one.content for one in prompt), case, here.language)


def _newest_leads(text: str, case: Case, language: Language) -> bool:
    newest, *older = [one["text"] for one in reversed(case["told"])]
    place = normal(text).find(normal(newest).rstrip(".。"))
    if place < 0 or not any(one.stands for one in stands_in(text, newest, language)):
        return False
    return not any(one.stands for each in older for one in stands_in(text, each, language))


async def _told_after(here: Stage, case: Case, closes: Told, *, secret: str = "") -> dict[str, str]:
    """What each owner is told in its next talks, with the same one and with somebody else, after that closing."""
    world = here.new_world()
    people = [
        {**one, "about": [{"en": secret, "ja": secret, "secret": True, "tellFrom": {"affinity": TRUSTED}}]}
        if secret and one["kind"] == "npc"
        else one
        for one in case["people"]
    ]
    await here.people(world, [*people, GUEST])
    lines = [(turn["speaker"], turn["text"]) for turn in case["turns"]]

    await here.talk(world, lines, closes)
    there = [one["id"] for one in case["people"]]
    told = {}
    for owner in _owners(case):
        partner = next(one for one in there if one != owner)
        says = _texts(case)
        prompts = [
            prompt
            for other in (partner, GUEST["id"])
            for prompt in await here.reads(world, owner, other, says, _small(case))
        ]
        told[owner] = "\n".join(one.content for prompt in prompts for one in prompt)
    return told


def _owners(case: Case) -> Sequence[str]:
    return [one["id"] for one in case["people"] if one["kind"] != "player"]


def _texts(case: Case) -> list[str]:
    return [turn["text"] for turn in case["turns"]]


def _small(case: Case) -> str:
    return filler(case["language"], 0).summary
