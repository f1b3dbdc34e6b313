"""Owns how an authored fact is retold: by the person itself, to it, and about it, in English and in Japanese.

Facts are clauses without their subject (双子の娘が町の学校に通っている / has twin daughters at the village school),
words (既婚者 / married) or whole sentences. What cannot be turned safely is quoted, which always reads right.
"""

import re

from service.locales import Language

_KANA_VERB_END = re.compile(r"[うくぐすつぬぶむるいただ]$")
_NOUN_IN_KANA = re.compile(
    r"(?:きれい|嫌い|みたい|手伝い|使い|思い|商い|祝い|占い|願い|匂い|違い|付き合い|知り合い|くらい|ぐらい|おい|めい|あした|"
    r"うた|ひとつ|ふたつ|一つ|二つ|三つ|四つ|五つ|からす|さる|はる|つる|ひる|よる|ふゆ|なつ|たいへん|ほうとう)$"
)
_POLITE_END = re.compile(r"(?:です|ます|でした|ました|ません|ね|よ|さ|な|ぞ|わ)$")
_LATIN = re.compile(r"[A-Za-z]")
_JAPANESE = re.compile(r"[぀-ヿ㐀-鿿]")

_IRREGULAR = {
    "has": "have",
    "is": "am",
    "was": "was",
    "does": "do",
    "goes": "go",
    "isn't": "am not",
    "doesn't": "don't",
}
_STEMS = dict(zip("うくぐすつぬぶむ", "いきぎしちにびみ", strict=True))
_SECOND = {"am": "are", "was": "were", "am not": "are not"}
_THIRD_VERBS = frozenset(
    "bakes believes belongs brews builds buys calls can carries catches climbs collects comes cooks could cuts does "
    "dreams drinks drives eats enjoys feeds feels fishes fixes gets gives goes grows guards has hates helps hides hopes "
    "hums is keeps knits knows laughs leads learns likes listens lives longs looks loves makes means mends minds misses "
    "needs opens owes owns paints plans plays reads remembers rents repairs rises runs sails saves says sees sells sends "
    "sews shuts sings sleeps smokes speaks spends stands stays still studies suffers swims takes talks teaches tells tends "
    "thinks trades trains travels trusts visits votes waits wakes walks wants was wears wishes works worries writes".split()
)
_PAST = frozenset(
    "became began bought broke brought built came caught did drew fell fought found gave grew had heard held kept knew "
    "lost left learned learnt made met once ran rode said sang sat saw sold spent stood stole swam swore taught thought "
    "took told went won wore wrote cannot can could would must will won't may might used married".split()
)
_ADVERBS = frozenset("never always often still also secretly rarely usually sometimes once only really".split())
_OTHERS = re.compile(
    r"\b(?:he|she|him|they|them|himself|herself|wife|husband|daughters?|sons?|sister|brother|mother|father|who)\b.*\b(?:his|her)\b"
    r"|\b(?:he|she|him|himself|herself)\b"
)
_SECOND_VERB = re.compile(r"\b(?:and|but|or|then)\s+(?:\w+ly\s+|never\s+|always\s+)?([a-z']+)")


def told(fact: str, name: str, language: Language, *, polite: bool = False) -> str:
    """The fact as the person itself says it: 双子の娘がいるんだ。 / I have twin daughters."""
    core = _core(fact, name)
    if language == "ja" and _JAPANESE.search(core):
        return _explained(core, polite=polite)
    if language == "ja":
        return f"「{core}」、と{'よく言われます' if polite else 'よく言われるよ'}。"
    if not _LATIN.search(core) or _JAPANESE.search(core):
        return f'As they put it here: "{core}".'
    clause = person_clause(fact, name, "I")
    if clause:
        return f"{clause}."
    if _is_sentence(core):
        return core if core[-1] in ".!?" else f"{core}."
    if _leads_with_verb(core):
        return f'Ask anyone here, and they will tell you: "{name or "That one"} {core}."'
    return f"One thing about me: {core.rstrip('.!?')}."


def said(fact: str, name: str, language: Language) -> str:
    """What is to stand before と言った, or after "said that": a plain clause in Japanese, a sentence in English."""
    core = _core(fact, name)
    if language == "ja":
        return re.sub(r"である$", "だ", _plain(core)) if _JAPANESE.search(core) and "。" not in core else f"「{core}」"
    if _leads_with_verb(core):
        return f"{name} {core}"
    return core


def person_clause(fact: str, name: str, person: str) -> str:
    """The English fact with `person` ("I" or "you") as its subject, or "" when that cannot be done safely."""
    core = _core(fact, name)
    words = core.split()
    if not words or not _leads_with_verb(core) or _OTHERS.search(core):
        return ""
    if any(_third_person(verb) for verb in _SECOND_VERB.findall(core)) and not _turnable(core):
        return ""
    turned = _turn_verbs(words, person)
    own = "my" if person == "I" else "your"
    text = re.sub(r"\b(?:his|her|their)\b", own, " ".join(turned))
    return f"{person} {text}"


def wished(wish: str, language: Language) -> str:
    """A goal of one's own as its owner speaks of it: …を知る -> …を知りたい; find her brother -> find my brother.

    "" when it cannot be turned safely.
    """
    bare = re.sub(r"\s+", " ", wish).strip().rstrip("。.!")
    if language == "en":
        named_first = re.search(r"\b(?:his|her|their)\b", bare) and re.search(
            r".\b[A-Z][a-z]+\b.*\b(?:his|her|their)\b", bare
        )
        safe = (
            bare
            and not named_first
            and not re.search(r"\b(?:he|she|him|they|them)\b", bare)
            and not _JAPANESE.search(bare)
        )
        return re.sub(r"\b(?:his|her|their)\b", "my", bare[:1].lower() + bare[1:]) if safe else ""
    if bare.endswith("する"):
        return f"{bare[:-2]}したい"
    if bare.endswith("る"):
        one_row = re.search(
            r"(?:[えけせてねべめれげぜでいきしちにびみりぎじ]|[見出寝得経着似煮])る$", bare
        ) and not bare.endswith("いる")
        return f"{bare[:-1]}たい" if one_row else f"{bare[:-1]}りたい"
    stem = _STEMS.get(bare[-1:])
    return f"{bare[:-1]}{stem}たい" if stem and len(bare) > 2 else ""


def _core(fact: str, name: str) -> str:
    core = re.sub(r"\s+", " ", fact).strip().rstrip("。")
    if name:
        core = re.sub(rf"^{re.escape(name)}(?:さん)?[はが]、?", "", core) or core
        core = re.sub(rf"^{re.escape(name)} (?=[a-z])", "", core) or core
    if re.fullmatch(r"[A-Z]?[a-z' ,-]+[\w' ,;:-]*\.?", core) and _leads_with_verb(core[:1].lower() + core[1:]):
        core = core[:1].lower() + core[1:]
    return core.rstrip(".") if core[:1].islower() else core


def _explained(core: str, *, polite: bool) -> str:
    end = "んです。" if polite else "んだ。"
    if "。" in core or _POLITE_END.search(core):
        return core + ("" if core[-1] in "。！？!?" else "。")
    plain = _plain(core)
    if plain.endswith("である"):
        return f"{plain.removesuffix('である')}な{end}"
    if plain.endswith("だ") and not _past_in_da(plain):
        return f"{plain.removesuffix('だ')}な{end}"
    return plain + end


def _plain(core: str) -> str:
    """With a predicate at its end: a noun gets だ."""
    ends_in_verb = _KANA_VERB_END.search(core) and not _NOUN_IN_KANA.search(core)
    return core if ends_in_verb or _POLITE_END.search(core) else f"{core}だ"


def _past_in_da(plain: str) -> bool:
    return bool(
        re.search(
            r"(?:[死飲読住頼望進遊呼運学結選歩休楽包編産積盗組悩][いん]だ|[\u3041-\u3096]んだ|[継泳急稼注防脱騒嗅]いだ)$",
            plain,
        )
    )


def _is_sentence(core: str) -> bool:
    return core[:1].isupper() and len(core.split()) > 3


def _leads_with_verb(core: str) -> bool:
    words = core.split()
    words = words[_adverbs(words) :]
    return bool(words) and (
        words[0] in _THIRD_VERBS
        or words[0] in _PAST
        or (len(words) > 1 and words[0].endswith("ed") and words[1] in ("a", "an", "the", "his", "her", "to", "from"))
        or (
            len(words) > 1 and _third_person(words[0]) and words[1] in ("a", "an", "the", "his", "her", "that", "every")
        )
    )


def _adverbs(words: list[str]) -> int:
    """How many words stand before the verb."""
    if words[:2] == ["no", "longer"] and len(words) > 2:
        return 2
    count = 0
    while count < len(words) - 1 and words[count] in _ADVERBS:
        count += 1
    return count


def _third_person(word: str) -> bool:
    return word in _THIRD_VERBS or (
        word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")) and len(word) > 3
    )


def _turnable(core: str) -> bool:
    return all(verb in _THIRD_VERBS for verb in _SECOND_VERB.findall(core) if _third_person(verb))


def _turn_verbs(words: list[str], person: str) -> list[str]:
    turned = list(words)
    at = _adverbs(words)
    turned[at] = _base(words[at], person)
    for i in range(at + 1, len(words) - 1):
        if words[i] in ("and", "but", "or", "then"):
            j = i + 2 if words[i + 1] in _ADVERBS and i + 2 < len(words) else i + 1
            bare = words[j].rstrip(",")
            if bare in _THIRD_VERBS:
                turned[j] = _base(bare, person) + words[j][len(bare) :]
    return turned


def _base(verb: str, person: str) -> str:
    if verb in _PAST or verb in ("can", "could", "still"):
        return verb
    if verb in _IRREGULAR:
        first = _IRREGULAR[verb]
        return _SECOND.get(first, first) if person == "you" else first
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("ches", "shes", "sses", "xes", "zes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") else verb
