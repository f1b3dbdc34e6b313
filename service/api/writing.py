"""Owns the endpoint by which a game asks for words in character that are no conversation."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from service.api.dependencies import KNOWN_QUERY, PLAIN, In, Serving, Slug, World, WorldTimeText
from service.api.schemas import CostOut
from service.conversation.writing import Form, Wanted, write
from service.people.worlds import WorldView

router = APIRouter(prefix="/people", tags=["people"], dependencies=[KNOWN_QUERY])


class WriteIn(
    In,
    examples={
        "a line in passing": {"kind": "bark", "about": "the weather"},
        "a letter": {"kind": "letter", "to": "aoi"},
        "a page of a diary": {"kind": "diary"},
    },
):
    """What is to be written."""

    kind: Form = Field(
        description="bark: a short line said in passing; letter: to somebody, signed; diary: of the writer's day"
    )
    about: Annotated[str, Field(max_length=300), PLAIN] = Field(
        default="", description="what about; left out: whatever is on the writer's mind", examples=["the festival"]
    )
    to: Slug | None = Field(default=None, description="id of the person whom a letter is for; only with a letter")


class WrittenOut(CostOut, of=WorldView, shows="language"):
    """What was written. Nothing of it is stored or remembered."""

    text: str = Field(description="the words, in the world's language")
    kind: Form = Field(description="as it was asked for")
    person_id: str = Field(description="id of the writer")
    to: str | None = Field(description="id of the person whom a letter is for; null: it is no letter")
    at: WorldTimeText = Field(description="the world time at which it was written")
    model: str = Field(description="which model made it: openai:gpt-4.1-mini, rehearsal")


@router.post("/{person_id}/write")
async def write_as_person(person_id: Slug, body: WriteIn, deps: Serving, world: World) -> WrittenOut:
    """Words in character that are no conversation, by one model call: what the writer does not know does not come into
    them, nor what it keeps secret from whom it writes to. Nothing is stored, and nobody remembers it.
    """
    wanted = Wanted(person_id=person_id, form=body.kind, to_id=body.to, about=body.about.strip())
    deps.require_models()
    answer = await write(deps.conversation, world, wanted)
    return WrittenOut.of(
        answer.usage,
        text=answer.value.text,
        kind=body.kind,
        person_id=person_id,
        to=body.to,
        language=world.language,
        at=world.now,
        model=answer.model,
    )
