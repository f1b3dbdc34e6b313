"""Owns what a chat client asks for beside a talk: a summary, a title, its user's next words. Nothing comes of it."""

from dataclasses import dataclass

from pydantic import BaseModel, Field

from service.conversation.prompt import told_prompt
from service.llm.chat import Prompt, Role
from service.llm.prompt import PromptValues

LONGEST = 4000
"""Most characters of such a text."""
MOST_LINES, MOST_LETTERS = 20, 1000
"""So many of the last lines are shown, and so much of each; of what is asked for four times as much."""


class AsideText(BaseModel, extra="forbid"):
    """What is answered."""

    utterance: str = Field(min_length=1, max_length=LONGEST)


@dataclass(frozen=True, kw_only=True)
class AsideContext(PromptValues):
    """What somebody asks for who writes such a text: the talk as the client has it, each line with who said it, and
    what is `asked` for. It holds nothing that a person of the world knows or remembers.
    """

    npc_name: str
    player_name: str
    asked: str
    lines: tuple[tuple[str, str], ...] = ()


def aside_prompt(context: AsideContext, role: Role) -> Prompt[AsideText]:
    """Ask for the text. All that comes from the client is data."""
    return told_prompt("aside", role, context, AsideText)
