"""Owns what calls of a language model cost: counted where they are made, carried by answers and by errors alike."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What an answer cost. `estimated`: the server did not report tokens, so they were estimated from the text.
    `milliseconds`: how long the model took, in machine time.
    """

    calls: int = 0
    """how many calls of models it took"""
    failures: int = 0
    """calls that gave no answer to use"""
    prompt_tokens: int = 0
    """tokens that were sent to models"""
    completion_tokens: int = 0
    """tokens that models wrote"""
    cached_tokens: int = 0
    money: float = 0.0
    """what it cost, by the prices of the settings"""
    estimated: bool = False
    milliseconds: int = field(default=0, compare=False)

    @property
    def failed(self) -> "Usage":
        """The same, as the cost of one failure, if anybody was asked."""
        return replace(self, failures=min(self.calls, 1))

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            failures=self.failures + other.failures,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            money=self.money + other.money,
            estimated=self.estimated or other.estimated,
            milliseconds=self.milliseconds + other.milliseconds,
        )
