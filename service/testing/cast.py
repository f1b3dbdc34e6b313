"""Owns the pass over a whole cast: a model is asked whether all that its authors wrote of one person can be true."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping

from service.content.load import Cast
from service.content.profile import CharacterProfile, NpcProfile
from service.llm.chat import ChatModel
from service.locales import Language, sentence
from service.memory.lexical import is_named
from service.quality.checks import Fault
from service.testing.judge import JudgeContext
from service.testing.play import Run, judged


async def judge_cast(model: ChatModel, cast: Cast, language: Language, limit: asyncio.Semaphore) -> Run:
    """Ask once for each person of whom two sentences stand. Secrets are left out: they may be kept by a lie."""
    run = Run(talk=[], failures=[])

    async def ask(person_id: str, texts: list[str]) -> None:
        name = cast.person(person_id).name
        claim = sentence(language, "testing.cast_claim", name=name)
        context = JudgeContext(language=language, name=name, written=tuple(texts), claim=claim)
        async with limit:
            verdict = await judged(run, model, context, f"cast/{person_id}")
        if verdict is not None and not verdict.holds:
            run.failures.append(Fault(check="cast", quote=verdict.quote, about=f"{name}: {verdict.reason}"))

    await asyncio.gather(*(ask(*one) for one in _written(cast).items() if len(one[1]) > 1))
    return run


def _written(cast: Cast) -> Mapping[str, list[str]]:
    """What is written of each person, with the file: what stands in its own, and what names it in another's."""
    people: dict[str, CharacterProfile | NpcProfile] = {**cast.npcs, **cast.characters}
    found = defaultdict[str, list[str]](list)
    for person in people.values():
        file = f"{'npcs' if person.kind == 'npc' else 'characters'}/{person.id}.yaml"
        for text in person.settled:
            for about_id in {person.id, *(one.id for one in people.values() if is_named(one.name, text))}:
                found[about_id].append(f"{text} ({file})")
    return found
