"""Owns the phases of a conversation, what world time its turns take, who speaks in it, the reasons why one ends, and
what becomes of a promise, and of what was asked of the game.
"""

from enum import StrEnum


class Phase(StrEnum):
    """Where a conversation stands."""

    RUNNING = "running"
    CLOSING = "closing"
    CLOSED = "closed"
    CLOSING_FAILED = "closing_failed"


class ClockPolicy(StrEnum):
    """What world time a turn takes."""

    NONE = "none"
    """None: a client's conversation. Whatever happens in it happens when the world's clock shows it."""
    MINUTE = "minute"
    """A minute: a talk of the living world, which may be ahead of the world's clock."""


class Speaker(StrEnum):
    """Who finds somebody's words."""

    MODEL = "model"
    HUMAN = "human"


class TurnForm(StrEnum):
    """What a turn is made of."""

    TALK = "talk"
    """Words."""
    SCENE = "scene"
    """What its speaker thinks, does and says; each may be missing, but not all. Others perceive no thought."""


class TurnPolicy(StrEnum):
    """Who has the next turn. Of two it is always the other one."""

    IN_ORDER = "in_order"
    """In the order of the seats."""
    ADDRESSED = "addressed"
    """Whom the last words were said to; else in order."""
    URGENCY = "urgency"
    """Who wanted most to go on, when it spoke last; else in order."""
    MODERATOR = "moderator"
    """Whom a model chooses, by a call of its own."""


class Modulator(StrEnum):
    """What decides who perceives a turn."""

    ALL = "all"
    """Everybody there perceives all of it."""
    PLACE = "place"
    """Who stands near enough, by how loud it is."""
    MODEL = "model"
    """A model, by what it is to each, by a call of its own."""


class Loudness(StrEnum):
    """How loud a turn's words are."""

    NORMAL = "normal"
    """Who is at the same spot hears them."""
    LOUD = "loud"
    """Everybody in the scene hears them."""
    WHISPER = "whisper"
    """Those at the same spot to whom they are said hear them."""
    ASIDE = "aside"
    """Nobody hears them."""


class ProposalState(StrEnum):
    """What became of something that is to be added to what is a person's for long."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REFUSED = "refused"


class EndReason(StrEnum):
    """Why a conversation ended."""

    GOAL_ACHIEVED = "goal_achieved"
    TURN_LIMIT = "turn_limit"
    WANTS_TO_END = "wants_to_end"
    STALLED = "stalled"
    ENDED_BY_CLIENT = "ended_by_client"
    MODEL_FAILURE = "model_failure"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CONTENT_CHANGED = "content_changed"
    SILENCE = "silence"
    """The human whose turn it was said nothing for too long."""

    @property
    def leaves_a_turn_unsaid(self) -> bool:
        """Whether it ended where another turn was due."""
        return self not in _SAID_ALL


class CommitmentState(StrEnum):
    """What became of a promise."""

    OPEN = "open"
    KEPT = "kept"
    BROKEN = "broken"
    MOVED = "moved"
    """They agreed on another time: nothing follows from it, and another promise stands in its place."""
    RELEASED = "released"
    """It was taken back: nothing follows from it."""
    LAPSED = "lapsed"
    """Nobody said whether it was kept, or the other did not come: nothing follows from it."""


AUTHOR = "author"
"""Stands where a turn names the model that made it, whose words its author had written."""


class Audience(StrEnum):
    """Who is told of an event."""

    WORLD = "world"
    """Whoever asks what happened in the world."""
    PARTICIPANTS = "participants"
    """Who follows the conversations of a human."""
    AUTHOR = "author"
    """Whoever wants to do again what came to the world from outside."""


class CallState(StrEnum):
    """What became of something that was asked of the game."""

    REQUESTED = "requested"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"
    """The game said nothing in time."""


_SAID_ALL = frozenset({EndReason.GOAL_ACHIEVED, EndReason.TURN_LIMIT, EndReason.WANTS_TO_END})


class OpenedFor(StrEnum):
    """Why somebody speaks to a player first; what comes first here weighs most."""

    PROMISE = "promise"
    """What one of the two promised the other is due."""
    URGENT = "urgent"
    """It has seen something that cannot wait."""
    AFFINITY = "affinity"
    """It is fond of the player, and has missed it."""
