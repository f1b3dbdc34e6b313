"""Measures memory from the model's answer to the next prompt, over HTTP, with a scripted model: set one of talks with
hand-made labels, whole, and cases of one sort each (memory_cases/, written by who had not seen the service).

What a model would judge is the script's: figures with a verifier that is right 9 times in 10 prove the wiring, not the
judgement. Closings that somebody wrote by hand are in `benchmarks.memory_by_hand`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.memory_arcs import Arc, Count, Kept, arcs, day_three, kept
from benchmarks.memory_promises import promises
from benchmarks.memory_sorts import injections, marks, mid_term, state

VERIFIERS: Mapping[str, float | None] = {"9_in_10": 0.9, "7_in_10": 0.7, "none": None}
"""How often each is right; None: nothing is verified."""
CONTEXTS = (3000, 1000)


def run(
    most: int | None = None,
    verifiers: Mapping[str, float | None] = VERIFIERS,
    contexts: Sequence[int] = CONTEXTS,
) -> dict[str, float]:
    """All figures; shares are of 1. `most`: so many arcs, talks and questions of one, and languages and cases of a sort
    in each.
    """
    return asyncio.run(_measure(arcs()[:most], most, verifiers, contexts))


async def _measure(
    chosen: Sequence[Arc],
    most: int | None,
    verifiers: Mapping[str, float | None],
    contexts: Sequence[int],
) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, right in verifiers.items():
        counts = Kept()
        for arc in chosen:
            await kept(replace(arc, talks=arc.talks[:most]), right, counts)
        figures |= {
            f"truths_kept_{name}": counts.truths.share,
            f"lies_stand_{name}": counts.lies.share,
            f"lies_bare_or_astray_{name}": counts.astray.share,
        }
    figures |= {"truths": counts.truths.of, "lies": counts.lies.of}
    for tokens in contexts:
        figures |= await _third_days(chosen, tokens, most)
    for measure in (marks, mid_term, promises, injections, state):
        figures |= await measure(most)
    return figures


async def _third_days(chosen: Sequence[Arc], tokens: int, most: int | None) -> dict[str, float]:
    must, must_not = Count(), Count()
    for arc in chosen:
        found = await day_three(replace(arc, probes=arc.probes[:most]), tokens)
        for count, one in zip((must, must_not), found, strict=True):
            count.held, count.of = count.held + one.held, count.of + one.of
    return {f"day3_truths_share_{tokens}": must.share, f"must_not_share_{tokens}": must_not.share}
