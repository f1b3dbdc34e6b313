"""Owns what can be wrong with the making of a data set."""

from collections.abc import Mapping

from service.content.load import ContentRefused
from service.errors import Conflict, KataribeError
from service.locales import Language, sentence


class PlanRefused(ContentRefused):
    """The file that says what is to be made has errors. Facts: as of ContentErrors."""

    slug = "plan-refused"


class OtherDataset(Conflict):
    """Facts: `file`."""


class DatasetInUse(Conflict):
    """Facts: `file`."""


class GenerationStopped(KataribeError):
    """A model cannot be had; what was made stays. Facts: `failure`, its sentence by language."""

    status = 503

    def sentence(self, language: Language) -> str:
        """See KataribeError; the failure is said in that language."""
        failure: Mapping[str, str] = self.facts["failure"]
        return sentence(language, f"errors.{self.slug}", failure=failure[language])


class Dropped(Exception):
    """An item is not good enough; `reason` is one of `generate.dropped` in the locales. It is made no second time."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
