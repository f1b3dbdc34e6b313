"""Owns the sentences of a turn, and which of them ask. Pure."""

import re

from service.memory.claim import folded

_SENTENCE = re.compile(r".+?(?:か、|[。.!?！？\n]+[」』”\"']*|$)", re.DOTALL)
_QUESTION = re.compile(
    r"[?？][」』”\"']*$|(?:です|ます|でしょう|ません|ました|でした|の|ん|だろう|た|る)か[。、」』]*$|(?:かい|かな|かね|だい)[。、」』]*$"
)
_ECHO = re.compile(r"(?:なるほど|へえ|ほう|そう(?:なん)?ですか)[^?？]*$")
"""Somebody takes in what was just said, with か and without a question mark."""
_OPEN = re.compile(
    r"^(?:and |so |but )?(?:who|whose|what|where|when|which|why|how)\b|何|なに|なん|どこ|どちら|どなた|誰|だれ|いつ|いく|なぜ|どう|どんな|どれ|はか?[?？]$"  # noqa: E501
)


def sentences(text: str) -> list[str]:
    """The sentences of a turn; at least one, which may be empty."""
    return [s for s in (m.strip() for m in _SENTENCE.findall(text)) if s] or [""]


def is_question(sentence: str) -> bool:
    """Whether it asks: by its mark, or by か at the end of a Japanese sentence or clause that is no echo."""
    plain = sentence.strip()
    return _QUESTION.search(plain) is not None and _ECHO.match(plain) is None


def asks_openly(sentence: str) -> bool:
    """Whether it asks who, what, where ...: its answer completes it, where that to "is it so?" must say yes or no."""
    return is_question(sentence) and _OPEN.search(folded(sentence)) is not None
