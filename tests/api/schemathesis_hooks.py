"""Owns what schemathesis does not know: how lines of JSON are written, and which requests tell nothing new."""

from typing import Any

import schemathesis
from schemathesis import Case, GenerationMode, HookContext
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import CoveragePhaseData

WORLD = ("world_id", "x-world-id")
GIVE_PAST = "/people/{person_id}/memory"


@schemathesis.serializer("application/x-ndjson")  # type: ignore[untyped-decorator, unused-ignore]
def as_text(_: schemathesis.SerializationContext, value: Any) -> bytes:
    """The text as bytes; what is none is sent as it is said."""
    return str(value).encode(errors="replace")


@schemathesis.hook  # type: ignore[untyped-decorator, unused-ignore]
def filter_case(_: HookContext, case: Case[Any]) -> bool:
    """Without what the phase `coverage` asks of every operation and only one answers: names of worlds that are none are
    refused by what all operations share (test_worlds.py sees that they do), so /world is asked. And a past is read
    once its person is found; that phase names nobody who is there.
    """
    data = case.meta.phase.data if case.meta else None
    if case.meta is None or not isinstance(data, CoveragePhaseData):
        return True
    path: str = case.operation.path
    if (data.parameter or "").lower() in WORLD and case.meta.generation.mode == GenerationMode.NEGATIVE:
        return path == "/world"
    return not (path == GIVE_PAST and data.parameter_location == ParameterLocation.BODY)
