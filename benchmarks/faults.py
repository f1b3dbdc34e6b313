"""Measures how talks end where every fifth answer of the model is a fault, of seven kinds in turn of chance. The words
are the rehearsal's, and as often as a service asks again, it is asked again, without the waits between.
"""

import random
import tempfile
from pathlib import Path

from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import (
    ModelBroken,
    ModelEmpty,
    ModelRateLimited,
    ModelRefused,
    ModelServerError,
    ModelTimeout,
    ModelTruncated,
)
from service.llm.chat import Answer, ModelWrapper, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.llm.wrappers import Retrying
from service.offline.model import OfflineModel
from service.settings import LlmSettings
from service.store.phase import EndReason, Phase
from tests.api.play import settings_for, talk, write_village

SHARE = 0.2
KINDS = (ModelRefused, ModelBroken, ModelEmpty, ModelTruncated, ModelTimeout, ModelRateLimited, ModelServerError)
FACTS = {"model": "m", "reason": "a fault", "max_tokens": 600, "seconds": 60, "status_code": 500}


class Faulty(ModelWrapper):
    """A ChatModel whose answers are now and then lost; which ones is drawn."""

    draw = random.Random()

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Raises: ModelError: one of the kinds, each as often."""
        if self.draw.random() < SHARE:
            raise self.draw.choice(KINDS)(**FACTS, retry_after_seconds=None)
        return await self._inner.complete(prompt, on_text)


def run(talks: int = 200, seed: int = 7) -> dict[str, float]:
    """Figures: talks that ended by themselves; that a fault ended, by its kind; that nobody remembers for one."""
    faulty, attempts = Faulty(OfflineModel()), LlmSettings().attempts
    faulty.draw = random.Random(seed)
    model = Retrying(faulty, attempts=attempts, backoff_seconds=0, max_retry_after_seconds=0, rng=random.Random())
    figures = dict.fromkeys(("ended", *(f"failed_{kind.slug}" for kind in KINDS), "not_remembered"), 0.0)
    with tempfile.TemporaryDirectory() as directory:
        settings = settings_for(Path(directory), write_village(Path(directory) / "content"))
        with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, model)))) as client:
            for number in range(talks):
                held = talk(client, world=f"talk-{number}")
                is_over = held["end_reason"] != EndReason.MODEL_FAILURE
                figures["ended" if is_over else f"failed_{held['failure']['type']}"] += 1
                figures["not_remembered"] += held["phase"] == Phase.CLOSING_FAILED
    return figures
