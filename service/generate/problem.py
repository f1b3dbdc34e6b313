"""Owns what can be wrong with the making of a data set, or of people."""

from collections.abc import Mapping

from service.content.load import ContentRefused
from service.errors import Conflict, Invalid, KataribeError
from service.locales import Language, sentence


class PlanRefused(ContentRefused):
    """The file that says what is to be made has errors. Facts: as of ContentErrors."""


class OtherDataset(Conflict):
    """Facts: `file`."""


class DatasetInUse(Conflict):
    """Facts: `file`."""


class WishUnusable(Invalid):
    """A wish says nothing of a person, or too much. Facts: `reason`."""


class NobodyAsked(Invalid):
    """It is said nowhere how many people are to be made. Facts: `file`."""


class GenerationStopped(KataribeError, status=503):
    """A model cannot be had; what was made stays. Facts: `failure`, its sentence by language."""

    def sentence(self, language: Language) -> str:
        """See KataribeError; the failure is said in that language."""
        failure: Mapping[str, str] = self.facts["failure"]
        return sentence(language, f"errors.{self.slug}", failure=failure[language])


class Dropped(Exception):
    """An item is not good enough; `reason` is one of `generate.dropped` in the locales. It is made no second time."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
