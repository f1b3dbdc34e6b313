"""Owns what a turn asserts: its sentences and clauses, which of them only ask, and which tell of the speaker. Pure."""

import re

from service.memory.claim import folded, is_assent

_SENTENCE = re.compile(r".+?(?:か、|[。.!?！？\n]+[」』”\"']*|$)", re.DOTALL)
_QUESTION = re.compile(
    r"[?？][」』”\"']*$|(?:です|ます|でしょう|ません|ました|でした|の|ん|だろう|た|る)か[。、」』]*$|(?:かい|かな|かね|だい)[。、」』]*$"
)
_ECHO = re.compile(r"(?:なるほど|へえ|ほう|そう(?:なん)?ですか)[^?？]*$")
"""Somebody takes in what was just said, with か and without a question mark."""
_OPEN = re.compile(
    r"^(?:and |so |but )?(?:who|whose|what|where|when|which|why|how)\b|何|なに|なん|どこ|どちら|どなた|誰|だれ|いつ|いく|なぜ|どう|どんな|どれ|はか?[?？]$"  # noqa: E501
)
_FIRST = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|our|ours|us)\b"
    r"|私|わたし|わたくし|あたし|わし|儂|俺|おれ|オレ|僕|ぼく|ボク|小生|拙者|うち(?=[のはもに])|我が|我々"
)
_SECOND = re.compile(
    r"\b(?:you|you're|you've|your|yours)\b|(?:あなた|あんた|君|きみ|お前|おまえ|貴様|そなた|おぬし)(?=[はがのもっ]|たち)"
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


def asserted(text: str) -> str:
    """What the turn states; what it only asks is left out."""
    return " ".join(s for s in sentences(text) if not is_question(s))


def of_itself(text: str, listener: frozenset[str], *, claimed: bool = False) -> str:
    """The sentences in which the speaker may tell of itself.

    Left out are questions and sentences about the listener (`listener` holds its names). Of what the listener has
    just `claimed`, only a sentence in the first person, or one that opens with a yes, is more than an echo.
    """
    kept = []
    for sentence in sentences(text):
        plain = folded(sentence)
        own = _FIRST.search(plain) is not None
        tells_of_listener = not own and (_SECOND.search(plain) is not None or _is_subject(plain, listener))
        echoes = claimed and not own and not is_assent(plain)
        if not is_question(sentence) and not tells_of_listener and not echoes:
            kept.append(sentence)
    return " ".join(kept)


def _is_subject(plain: str, names: frozenset[str]) -> bool:
    for name in map(folded, names):
        after = (
            r"(?:'s\b| (?:is|was|has|had|will|lives|likes|must|can)\b)"
            if name.isascii()
            else r"(?:さん|ちゃん|くん|君|様)?[はがの]"
        )
        if name and re.search(re.escape(name) + after, plain):
            return True
    return False
