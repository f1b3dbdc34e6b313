"""Owns the terminal's view of what a service would run on, and of what a closing and its verifying are worth on the
models that are configured.
"""

from collections.abc import Sequence

from service.public.models import REHEARSAL, ModelNotConfigured, Models, OfflineModel, Settings, choose_models
from service.public.upkeep import ClosedTalk, JudgedClaim, check_up, examine_models
from service.public.words import Language, Listed, Phrase, sentence


async def show_checkup(settings: Settings, language: Language, *, models: Models | None = None) -> bool:
    """Tell each finding in a line; answers whether nothing is wrong. `models` stand in for those of the settings."""
    is_well = True
    async for one in check_up(settings, models):
        how, what = "wrong" if one.is_wrong else "well", sentence(language, f"doctor.{one.what}")
        what = f"{what} {one.role}" if one.role else what
        print(sentence(language, f"doctor.{how}", what=what, said=one.said(language)))
        is_well = is_well and not one.is_wrong
    return is_well


async def show_doctor(settings: Settings, language: Language, *, models: Models | None = None) -> None:
    """Tell it; `models` stand in for those the settings would choose.

    Raises:
        ModelError: no model is configured, or one cannot be asked.
    """
    if models is None and (settings.llm.provider == REHEARSAL or not settings.names_model):
        raise ModelNotConfigured
    chosen = models or choose_models(settings, OfflineModel(seed=settings.llm.seed))
    try:
        closed, judged = await examine_models(chosen)
    finally:
        await chosen.aclose()
    names = chosen.names()
    print(_verifying(judged, names["verify"], language))
    for kind in dict.fromkeys(one.claim.kind for one in judged):
        of_kind = [one for one in judged if one.claim.kind == kind]
        print(f"  {sentence(language, f'doctor.kind_{kind}')}: {_right(of_kind)}/{len(of_kind)}")
    print(sentence(language, "doctor.closing", model=names["closing"]))
    for one in closed:
        print(f"  {_closing(one, language)}")


def _right(judged: Sequence[JudgedClaim]) -> int:
    return sum(one.finding == one.claim.finding for one in judged)


def _verifying(judged: Sequence[JudgedClaim], model: str, language: Language) -> str:
    truths = [one for one in judged if one.claim.kind == "true"]
    lies = [one for one in judged if one.claim.kind != "true"]
    return sentence(
        language,
        "doctor.verifying",
        model=model,
        right=_right(judged),
        claims=len(judged),
        supported=_right(truths),
        truths=len(truths),
        caught=sum(one.finding in ("contradicted", "not_said") for one in lies),
        lies=len(lies),
    )


def _closing(closed: ClosedTalk, language: Language) -> str:
    if closed.failure is not None:
        return sentence(language, "doctor.failed", talk=closed.talk.language, reason=closed.failure.sentence(language))
    told = sentence(
        language,
        "doctor.cited",
        talk=closed.talk.language,
        cited=len(closed.cited),
        truths=len(closed.talk.truths),
        refused=closed.refused.total(),
    )
    reasons = [f"{Phrase(f'web.reason_{reason}').of(language)}: {count}" for reason, count in closed.refused.items()]
    return f"{told} ({Listed(reasons).of(language)})" if reasons else told
