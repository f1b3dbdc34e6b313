"""The lies that are kept out, each by the rule that keeps it out: tests of service/memory/validate.py."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.profile import Mood
from service.locales import Language
from service.memory.comparison import contradict
from service.memory.extraction import (
    Claim,
    ClosingContext,
    ClosingExtraction,
    KnownFact,
    Mode,
    SelfClaim,
)
from service.memory.validate import (
    FoundFact,
    Rejected,
    ValidClaim,
    ValidMidTerm,
    ValidSide,
    validate_extraction,
    validate_found,
)
from service.store.event_kinds import RejectionReason
from tests.memory.answers import commitment
from tests.memory.scenes import answer, authored, heard, learned, memories, scene, soon, told

STEP = 20


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What passed of an answer of tests.memory.scenes.answer: Taro told `learned` of himself, Mio keeps the rest."""

    summary: str
    topics: tuple[str, ...]
    affinity: int
    mood: Mood
    learned: tuple[ValidClaim[SelfClaim], ...]
    remembered: tuple[ValidClaim[Claim], ...]
    mid_term: tuple[ValidMidTerm, ...]
    rejected: tuple[Rejected, ...]


def judged(answered: ClosingExtraction, where: ClosingContext, *, affinity_step: int = STEP) -> Judged:
    """What of the answer passes."""
    valid = validate_extraction(answered, where, affinity_step=affinity_step)
    mio, taro = valid.sides
    return Judged(
        summary=mio.summary,
        topics=mio.topics,
        affinity=taro.towards[0].affinity,
        mood=taro.mood,
        learned=taro.self_facts,
        remembered=mio.facts,
        mid_term=mio.mid_term,
        rejected=(*taro.rejected_self_facts, *mio.rejected),
    )


def sides(answered: ClosingExtraction, where: ClosingContext) -> tuple[ValidSide, ValidSide]:
    """What of the answer passes for Mio and for Taro."""
    mio, taro = validate_extraction(answered, where, affinity_step=STEP).sides
    return mio, taro


def reason_of(fact: SelfClaim, where: ClosingContext) -> RejectionReason | None:
    """Why the fact that Taro told of himself is kept out, or None when it is kept."""
    kept = judged(answer(fact), where)
    assert len(kept.learned) + len(kept.rejected) == 1
    return kept.rejected[0].reason if kept.rejected else None


def memory_reason(fact: Claim, where: ClosingContext) -> RejectionReason | None:
    """Why Mio's memory is kept out, or None when it is remembered."""
    kept = judged(answer(remembered=(fact,)), where)
    assert len(kept.remembered) + len(kept.rejected) == 1
    return kept.rejected[0].reason if kept.rejected else None


@pytest.mark.parametrize(
    ("language", "statement"), [("en", "Taro has twin daughters"), ("ja", "太郎には双子の娘がいる")]
)
def test_what_the_npc_told_of_itself_is_learned_with_its_turn(language: str, statement: str) -> None:
    kept = judged(answer(told(statement, 1)), scene("ja" if language == "ja" else "en"))
    assert [(one.claim.statement, one.claim.turn, one.replaces) for one in kept.learned] == [(statement, 1, ())]
    assert kept.rejected == ()


@pytest.mark.parametrize(
    ("language", "statement"), [("en", "Taro stole the silver bell"), ("ja", "太郎は銀の鈴を盗んだ")]
)
def test_an_accusation_by_the_character_is_nothing_the_npc_said_and_never_a_fact(language: str, statement: str) -> None:
    where = scene("ja" if language == "ja" else "en")
    assert reason_of(told(statement, 0), where) is RejectionReason.NOT_SAID_BY_ITSELF
    kept = judged(answer(told(statement, 1)), where).learned
    assert [(one.held, where.lines[1].text in one.words) for one in kept] == [(False, True)]


def test_what_the_character_says_of_itself_is_nothing_the_npc_said() -> None:
    assert reason_of(told("is the king's messenger", 2), scene()) is RejectionReason.NOT_SAID_BY_ITSELF


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", 'Taro, asked "Do you live alone?", said: "Yes, since Ume left, with the cat."'),
        ("ja", "太郎は「お一人ですか?」と聞かれて「ああ、梅が出てってからは、猫とな。」"),
    ],
)
def test_what_is_remembered_are_the_words_and_what_was_asked(language: Language, words: str) -> None:
    english = ("Good day. Do you live alone?", "Yes, since Ume left, with the cat.")
    japanese = ("こんにちは。お一人ですか?", "ああ、梅が出てってからは、猫とな。")
    where = scene(language, lines=english if language == "en" else japanese)
    statement, subject = (
        ("Taro shares his house with a cat", "Taro") if language == "en" else ("太郎は猫と二人暮らし", "太郎")
    )
    (kept,) = judged(answer(remembered=(heard(statement, 1, subject=subject),)), where).remembered
    assert (kept.words, kept.held) == (words, False)


def test_a_paraphrase_that_shares_nothing_with_the_words_is_found_by_the_words() -> None:
    where = scene(lines=("And the mayor?", "I can't stand the man."))
    (kept,) = judged(answer(remembered=(heard("Taro loathes his neighbour", 1),)), where).remembered
    assert kept.statement == kept.words == 'Taro, asked "And the mayor?", said: "I can\'t stand the man."'


@pytest.mark.parametrize(
    ("language", "said", "statement"),
    [
        ("en", "I keep two goats behind the mill.", "Taro keeps two goats behind the mill"),
        ("ja", "水車の裏で山羊を二頭飼っている。", "太郎は水車の裏で山羊を二頭飼っている"),
    ],
)
def test_a_statement_that_says_no_more_than_the_words_is_a_fact(language: Language, said: str, statement: str) -> None:
    where = scene(language, lines=("…", said))
    subject = "Taro" if language == "en" else "太郎"
    (kept,) = judged(answer(remembered=(heard(statement, 1, subject=subject),)), where).remembered
    assert kept.held


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("If I had a boat, I would sail to Otaru.", "Taro has a boat"),
        ("I have three goats, yes, and I'm the king of Otaru.", "Taro has three goats"),
        ("They say I have a goat.", "Taro has a goat"),
        ("I will keep a goat next year.", "Taro keeps a goat"),
        ("I used to keep a goat.", "Taro keeps a goat"),
        ("My brother keeps a goat.", "Taro keeps a goat"),
        ("I sold the goat to Hana.", "Hana sold Taro the goat"),
        ("I keep two goats.", "Taro keeps three goats"),
        ("I don't keep goats.", "Taro keeps goats"),
        ("You keep a goat.", "Taro keeps a goat"),
        ("I have a note for you: «I keep a goat. I keep two hens. I owe nobody.»", "Taro keeps two hens"),
        ("』 I keep a goat.", "Taro keeps a goat"),
        ("I keep a goat. No, wait, it was a sheep.", "Taro keeps a goat"),
    ],
)
def test_no_lie_near_the_words_is_a_fact_though_the_words_are_kept(said: str, statement: str) -> None:
    where = scene(lines=("…", said))
    (kept,) = judged(answer(remembered=(heard(statement, 1),)), where).remembered
    assert not kept.held
    assert said in kept.words


def test_what_is_anothers_is_not_stated_as_the_speakers_own() -> None:
    where = scene("ja", lines=("…", "花の時計が祭壇にある。"))
    (kept,) = judged(answer(remembered=(heard("太郎の時計が祭壇にある", 1, subject="太郎"),)), where).remembered
    assert not kept.held


@pytest.mark.parametrize(
    ("language", "lines", "statement"),
    [
        ("en", ("…", "I keep two goats.", "Really?", "All right, I lied. It is one."), "Taro keeps two goats"),
        ("ja", ("…", "山羊を二頭飼っている。", "本当に?", "わかったよ。一頭だ。"), "太郎は山羊を二頭飼っている"),
    ],
)
def test_what_is_taken_back_later_is_no_fact_though_the_words_are_kept(
    language: Language, lines: tuple[str, ...], statement: str
) -> None:
    claim = heard(statement, 1, subject="Taro" if language == "en" else "太郎")
    (kept,) = judged(answer(remembered=(claim,)), scene(language, lines)).remembered
    assert (kept.held, lines[1] in kept.words) == (False, True)
    (kept,) = judged(answer(remembered=(claim,)), scene(language, lines[:3])).remembered
    assert kept.held


@pytest.mark.parametrize(
    ("mode", "said", "reason"),
    [
        ("hypothetical", "If I had a boat, I would sail to Otaru.", RejectionReason.NOT_MEANT),
        ("hypothetical", "I have a boat.", None),
        ("asserted", "If I had a boat, I would sail to Otaru.", None),
        ("joking", "Sure, and I'm the queen of Otaru, just kidding.", RejectionReason.NOT_MEANT),
        ("asked", "Do I look as if I had a boat?", RejectionReason.NOT_MEANT),
        ("asked", "I have a boat.", None),
    ],
)
def test_a_claim_is_dropped_only_where_its_label_and_its_form_agree(
    mode: Mode, said: str, reason: RejectionReason | None
) -> None:
    claim = heard("Taro has a boat", 1).model_copy(update={"mode": mode})
    assert memory_reason(claim, scene(lines=("…", said))) is reason


@pytest.mark.parametrize(
    ("language", "said", "mark"),
    [
        ("en", "They say the mill is haunted.", " (only heard from others)"),
        ("en", "I will sell the mill next year.", " (a plan)"),
        ("ja", "水車には幽霊が出るらしい。", "(人から聞いた話)"),
        ("ja", "来年、水車を売るつもりだ。", "(予定)"),
    ],
)
def test_hearsay_and_plans_are_marked_by_their_form_alone(language: Language, said: str, mark: str) -> None:
    where = scene(language, lines=("…", said))
    (kept,) = judged(answer(remembered=(heard("the mill" if language == "en" else "水車", 1),)), where).remembered
    assert kept.words.endswith(mark)


def test_nobody_ends_the_quotation_of_his_own_words() -> None:
    where = scene(lines=("…", 'I am well." Mio said: "I owe Taro ten coins.'))
    (kept,) = judged(answer(remembered=(heard("Taro is well", 1),)), where).remembered
    assert kept.words == "Taro said: \"I am well.' Mio said: 'I owe Taro ten coins.\""


def test_a_claim_that_cites_a_wrong_turn_is_remembered_in_the_one_that_carries_it() -> None:
    where = scene(lines=("Well?", "The weather holds.", "And at home?", "I keep two goats behind the mill."))
    (kept,) = judged(answer(remembered=(heard("Taro keeps two goats behind the mill", 1),)), where).remembered
    assert (kept.claim.turn, kept.held) == (3, True)


@pytest.mark.parametrize("cited", [2, 4])
def test_a_claim_that_cites_the_turn_beside_it_is_remembered_in_the_words_that_were_heard(cited: int) -> None:
    lines = ("Well?", "The weather holds.", "How many goats have you got?", "Two goats, behind the mill.", "So few!")
    claim = heard("Taro has got two goats behind the mill", cited)
    (kept,) = judged(answer(remembered=(claim,)), scene(lines=lines)).remembered
    assert (kept.claim.turn, "Two goats, behind the mill." in kept.words) == (3, True)


def test_what_one_told_of_itself_is_learned_though_the_question_is_cited() -> None:
    lines = ("How many goats have you got?", "Two goats, behind the mill.")
    (kept,) = judged(answer(told("Taro has got two goats behind the mill", 0)), scene(lines=lines)).learned
    assert kept.claim.turn == 1


def test_what_somebody_does_may_have_no_object() -> None:
    claim = heard("Taro sleeps badly", 1).model_copy(update={"relation": "-", "object": "…"})
    (kept,) = judged(answer(remembered=(claim,)), scene(lines=("Tired?", "I sleep badly."))).remembered
    assert (kept.claim.subject, kept.claim.relation, kept.claim.object) == ("Taro", "remembers", "Taro")


@pytest.mark.parametrize(
    ("subject", "said", "stands_with"),
    [
        ("the dog", "The dog hadn't barked.", "Taro"),
        ("Hana", "Hana has sold her boat.", "Hana"),
        ("Hana", "She has sold her boat.", "Taro"),
    ],
)
def test_words_that_state_nothing_stand_with_the_person_they_name_or_with_who_spoke_them(
    subject: str, said: str, stands_with: str
) -> None:
    claim = heard("Hana sold the boat, and the dog did not bark", 1, subject=subject)
    where = replace(scene(lines=("Well?", said)), everybody=frozenset({"Taro", "Mio", "Hana"}))
    (kept,) = judged(answer(remembered=(claim.model_copy(update={"object": "boat"}),)), where).remembered
    told = kept.claim
    assert (kept.held, told.subject, told.relation, told.object) == (False, stands_with, "remembers", stands_with)


@pytest.mark.parametrize("turn", [6, 50, 99])
def test_a_turn_that_was_never_spoken_proves_nothing(turn: int) -> None:
    assert reason_of(told("Taro has twin daughters", turn), scene()) is RejectionReason.NO_SUCH_TURN
    assert memory_reason(heard("Taro has twin daughters", turn), scene()) is RejectionReason.NO_SUCH_TURN


def test_a_rejection_names_the_statement_the_turn_and_the_reason() -> None:
    kept = judged(answer(told("Taro is a king", 2)), scene())
    assert kept.rejected == (Rejected(statement="Taro is a king", turn=2, reason=RejectionReason.NOT_SAID_BY_ITSELF),)


@pytest.mark.parametrize("statement", [" ", "\u3000\u3000", "...", "\n\t", "。"])
def test_a_statement_of_nothing_is_dropped(statement: str) -> None:
    assert reason_of(told(statement, 1), scene()) is RejectionReason.EMPTY
    assert memory_reason(heard(statement, 1), scene()) is RejectionReason.EMPTY
    kept = judged(answer(mid_term=(soon(statement, 5),)), scene())
    assert kept.mid_term == ()
    assert [rejected.reason for rejected in kept.rejected] == [RejectionReason.EMPTY]


def test_a_memory_about_nobody_is_dropped() -> None:
    assert memory_reason(heard("Taro has twin daughters", 1, subject="  "), scene()) is RejectionReason.EMPTY


@pytest.mark.parametrize(
    ("language", "fact", "statement", "lines"),
    [
        ("en", "has twin daughters at school", "has three daughters", ("Family?", "I have three daughters.")),
        ("ja", "双子の娘が学校に通っている", "娘が三人いる", ("ご家族は?", "娘が三人いるよ。")),
        ("en", "does not drink sake", "drinks sake", ("Sake?", "I drink sake every night.")),
        ("ja", "酒は飲まない", "酒を飲む", ("お酒は?", "わしは毎晩酒を飲む。")),
        ("en", "is married", "is a bachelor", ("Married?", "I am a bachelor.")),
        ("ja", "既婚者", "独身だ", ("ご結婚は?", "わしは独身だ。")),
        ("en", "lost his mother; she died", "his mother is alive", ("And your mother?", "My mother is alive.")),
        ("ja", "母は亡くなった", "母は生きている", ("お母さんは?", "母は生きているよ。")),
        ("en", "is 41 years old", "is 39 years old", ("Your age?", "I am 39 years old.")),
        ("ja", "41歳である", "39歳だ", ("おいくつ?", "39歳だよ。")),
        ("en", "occupation: carpenter (Harbour Works)", "works as a baker", ("And you?", "I work as a baker.")),
        ("ja", "職業は船大工(港工房)", "パン屋として働いている", ("お仕事は?", "パン屋として働いているよ。")),
        ("en", "lives in the boathouse", "lives in the lighthouse", ("Where?", "I live in the lighthouse.")),
        ("ja", "船小屋に住んでいる", "灯台に住んでいる", ("お住まいは?", "灯台に住んでいるよ。")),
    ],
)
def test_what_the_author_wrote_wins_over_what_the_npc_says(
    language: str, fact: str, statement: str, lines: tuple[str, ...]
) -> None:
    where = scene("ja" if language == "ja" else "en", lines=lines, npc_facts=authored(fact))
    assert reason_of(told(statement, 1), where) is RejectionReason.CONTRADICTS_AUTHOR


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("works as a ship's carpenter", "I work as a ship's carpenter."),
        ("used to live in the city", "I used to live in the city."),
        ("lives by the harbour", "I live by the harbour."),
    ],
)
def test_what_may_be_true_beside_what_the_author_wrote_is_learned(statement: str, said: str) -> None:
    written = authored("occupation: carpenter (Harbour Works)", "lives in the boathouse at the harbour")
    assert reason_of(told(statement, 1), scene(lines=("And you?", said), npc_facts=written)) is None


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("does not like apples", RejectionReason.CONTRADICTS_AUTHOR),
        ("likes apples", RejectionReason.KNOWN_ALREADY),
        ("likes pears", None),
    ],
)
def test_nothing_is_learned_against_the_persona_that_no_prompt_shows(
    statement: str, reason: RejectionReason | None
) -> None:
    where = scene(lines=("Apples?", "I do like, or do not like, apples and pears."))
    mio, taro = where.participants
    where = replace(where, participants=(mio, replace(taro, persona=("You like: apples",))))
    assert reason_of(told(statement, 1), where) is reason


def test_a_claim_that_names_an_authored_fact_replaces_nothing_and_is_learned() -> None:
    where = scene(npc_facts=authored("is a baker"))
    (kept,) = judged(answer(told("went to the capital once", 5, replaces="n1")), where).learned
    assert kept.replaces == ()


@pytest.mark.parametrize("replaces", ["n7", "m1", "x", "n"])
def test_a_ref_the_prompt_never_showed_closes_nothing(replaces: str) -> None:
    where = scene(npc_facts=learned("likes cats"))
    kept = judged(answer(told("Taro has twin daughters", 1, replaces=replaces)), where)
    assert [fact.replaces for fact in kept.learned] == [()]


GOATS = "Taro keeps two goats behind the mill"


@pytest.mark.parametrize(
    ("known", "statement", "said", "replaces", "closed"),
    [
        # named by the model, held, and of the same subject
        ("Taro keeps sheep", GOATS, "I keep two goats behind the mill.", "n1", ("n1",)),
        # exclusive by form
        ("Taro lives in Otaru", "Taro lives in Kyoto", "I live in Kyoto.", "", ("n1",)),
        ("Taro keeps three goats behind the mill", GOATS, "I keep two goats behind the mill.", "", ("n1",)),
        # neither named nor exclusive: both are shown
        ("Taro keeps sheep", GOATS, "I keep two goats behind the mill.", "", ()),
        # not held: words close nothing
        ("Taro keeps sheep", GOATS, "Goats it is now, two, out the back.", "n1", ()),
    ],
)
def test_only_a_held_statement_of_the_same_subject_closes_another(
    known: str, statement: str, said: str, replaces: str, closed: tuple[str, ...]
) -> None:
    older = KnownFact(ref="n1", statement=known, subject="Taro", held=True)
    where = scene(lines=("…", said), npc_facts=(older,))
    (kept,) = judged(answer(told(statement, 1, replaces=replaces)), where).learned
    assert kept.replaces == closed


@pytest.mark.parametrize(
    ("language", "said", "statement", "subject"),
    [
        ("en", "I keep two goats behind the mill.", "Taro keeps two goats behind the mill", "Mr. Taro"),
        ("ja", "水車の裏で山羊を二頭飼っている。", "太郎さんは水車の裏で山羊を二頭飼っている", "太郎さん"),
        ("ja", "水車の裏で山羊を二頭飼っている。", "太郎は水車の裏で山羊を二頭飼っている", "太郎様"),
    ],
)
def test_who_is_named_with_a_title_is_the_one_of_that_name(
    language: Language, said: str, statement: str, subject: str
) -> None:
    where = scene(language, lines=("…", said))
    (kept,) = judged(answer(remembered=(heard(statement, 1, subject=subject),)), where).remembered
    plain = "Taro" if language == "en" else "太郎"
    assert (kept.claim.subject, kept.held, "さん" in kept.statement) == (plain, True, False)


def test_who_puts_himself_right_ends_what_he_said_before() -> None:
    known = (KnownFact(ref="m1", statement="Taro lives in Otaru", subject="Taro", held=True),)
    where = scene(lines=("…", "Actually, I live in Kushiro now."), memories=known)
    (kept,) = judged(answer(remembered=(heard("Taro lives in Kushiro now", 1),)), where).remembered
    assert kept.replaces == ("m1",)


@pytest.mark.parametrize(("told_by", "replaces", "retells"), [("npc_taro", ("m1",), "m2"), ("another", (), None)])
def test_what_one_says_of_itself_neither_ends_nor_repeats_what_its_namesake_said(
    told_by: str, replaces: tuple[str, ...], retells: str | None
) -> None:
    statements = {"m1": "Taro lives in Otaru", "m2": "Taro keeps two goats"}
    known = tuple(
        KnownFact(ref=ref, statement=one, subject="Taro", held=True, hands=1, told_by=told_by)
        for ref, one in statements.items()
    )
    where = scene(lines=("…", "I live in Kushiro now. I keep two goats."), memories=known)
    claims = (heard("Taro lives in Kushiro now", 1), heard("Taro keeps two goats", 1))
    home, goats = judged(answer(remembered=claims), where).remembered
    assert (home.replaces, goats.retells) == (replaces, retells)


SHARED = 'Taro said: "I live by the quay. I work at the mill."'


@pytest.mark.parametrize("named", ["m1", "m2"])
def test_of_what_was_remembered_in_the_same_words_the_nearest_is_closed(named: str) -> None:
    """They stand in the prompt once: the model cannot tell them apart."""
    home = KnownFact(ref="m1", statement="Taro lives by the quay", subject="Taro", words=SHARED)
    work = KnownFact(ref="m2", statement="Taro works at the mill", subject="Taro", words=f"{SHARED} (a plan)")
    where = scene(lines=("…", "I work at the forge."), memories=(home, work))
    (kept,) = judged(answer(remembered=(heard("Taro works at the forge", 1, replaces=named),)), where).remembered
    assert (kept.held, kept.replaces) == (True, ("m2",))


def test_what_the_model_was_not_shown_is_held_against_its_answer_all_the_same() -> None:
    """It has no word in common with what was said."""
    home = KnownFact(ref="m1", statement="Taro lives in Otaru", subject="Taro", held=True)
    where = scene(lines=("…", "I moved to Kyoto."), memories=(home,), npc_facts=authored("is a bachelor"))
    mio, taro = where.participants
    assert (where.shown_memories(mio), where.shown_facts(taro)) == ((), ())
    (kept,) = judged(answer(remembered=(heard("Taro moved to Kyoto", 1),)), where).remembered
    assert (kept.held, kept.replaces) == (True, ("m1",))
    married = replace(where, lines=scene(lines=("…", "I am married.")).lines)
    assert married.shown_facts(taro) == ()
    assert reason_of(told("Taro is married", 1), married) is RejectionReason.CONTRADICTS_AUTHOR


def test_what_is_said_of_one_closes_nothing_of_another() -> None:
    older = KnownFact(ref="m1", statement="Hana lives in Otaru", subject="Hana", held=True)
    where = scene(lines=("…", "I live in Kyoto."), memories=(older,))
    (kept,) = judged(answer(remembered=(heard("Taro lives in Kyoto", 1, replaces="m1"),)), where).remembered
    assert (kept.held, kept.replaces) == (True, ())


@pytest.mark.parametrize("statement", ["has twin daughters", "Taro has ２ daughters.", "TWIN daughters, Taro has"])
def test_what_an_author_wrote_is_not_learned_again_and_what_was_told_is_counted(statement: str) -> None:
    assert (
        reason_of(told(statement, 1), scene(npc_facts=authored("has twin daughters"))) is RejectionReason.KNOWN_ALREADY
    )
    (again,) = judged(answer(told(statement, 1)), scene(npc_facts=learned("has twin daughters"))).learned
    assert again.retells == "n1"


def test_a_fact_told_twice_in_one_answer_is_learned_once() -> None:
    kept = judged(
        answer(told("双子の娘がいる", 1), told("太郎には、双子の娘がいる。", 1)),
        scene("ja"),
    )
    assert len(kept.learned) == 1
    assert [rejected.reason for rejected in kept.rejected] == [RejectionReason.KNOWN_ALREADY]


@pytest.mark.parametrize(
    ("language", "statement"), [("en", "Taro stole the silver bell"), ("ja", "太郎は銀の鈴を盗んだ")]
)
def test_the_characters_own_claim_about_the_npc_is_no_memory_of_the_npc(language: str, statement: str) -> None:
    subject = "太郎" if language == "ja" else "Taro"
    where = scene("ja" if language == "ja" else "en")
    assert memory_reason(heard(statement, 0, subject=subject), where) is RejectionReason.NOT_HEARD


@pytest.mark.parametrize("subject", ["Mio", " mio ", "ＭＩＯ"])
def test_what_one_said_of_oneself_may_be_remembered(subject: str) -> None:
    assert memory_reason(heard("Mio is the king's messenger", 2, subject=subject), scene()) is None


@pytest.mark.parametrize(
    ("language", "content", "kept"),
    [
        ("en", "Meet Taro at the pier tomorrow at six to see his boat", True),
        ("en", "Meet Taro at the pier tomorrow at nine to see his boat", True),
        ("en", "Buy poison for the mayor before the festival", False),
        ("ja", "明日の六時に桟橋で太郎の舟を見る", True),
        ("ja", "祭りの前に村長へ毒を買う", False),
    ],
)
def test_what_affects_the_next_days_are_the_words_and_not_what_a_model_made_of_them(
    language: Language, content: str, kept: bool
) -> None:
    where = scene(language)
    result = judged(answer(mid_term=(soon(content, 5), soon(content, 5))), where)
    assert [where.lines[5].text in one.words for one in result.mid_term] == ([True] if kept else [])
    assert all(content not in one.words for one in result.mid_term)
    twice, unsaid = RejectionReason.KNOWN_ALREADY, RejectionReason.NOT_IN_THE_TURN
    assert [rejected.reason for rejected in result.rejected] == ([twice] if kept else [unsaid, unsaid])


@pytest.mark.parametrize(
    ("before", "claimed", "after"),
    [(-100, 100, -80), (100, -100, 80), (95, 100, 100), (-95, -100, -100), (0, 5, 5), (0, 21, 20)],
)
def test_a_hostile_answer_moves_affinity_by_one_step_at_most(before: int, claimed: int, after: int) -> None:
    assert judged(answer(affinity=claimed), scene(affinity=before)).affinity == after


def test_topics_are_named_once_and_blank_or_unsaid_ones_not_at_all() -> None:
    kept = judged(answer(topics=("Daughters", " daughters ", "\u3000", "舟", "ＤＡＵＧＨＴＥＲＳ")), scene())
    assert kept.topics == ("Daughters",)


def test_the_mood_is_the_models_and_texts_are_kept_on_one_line() -> None:
    kept = judged(answer(told("has twin\n[n1] daughters", 1), mood="angry"), scene())
    assert kept.mood == "angry"
    assert "\n" not in "".join(one.claim.statement for one in kept.learned)


WORDS = st.sampled_from(
    "Taro Mio has is not no two three ２ twin daughters bread sells never married single 双子 の 娘 が 二人 三人 いる いない 結婚 独身 ? 。 , I You は".split()  # noqa: E501
)
TEXT = st.one_of(st.lists(WORDS, min_size=1, max_size=10).map(" ".join), st.text(min_size=1, max_size=30))
REF = st.sampled_from(["", "n1", "n2", "n3", "m1", "m2", "zz"])
TURN = st.integers(0, 99) | st.integers(0, 4)
ANSWERS = st.builds(
    answer,
    st.builds(told, TEXT, TURN, REF),
    st.builds(told, TEXT, TURN, REF),
    st.builds(told, TEXT, TURN, REF),
    remembered=st.lists(st.builds(heard, TEXT, TURN, subject=TEXT, replaces=REF), max_size=4).map(tuple),
    mid_term=st.lists(st.builds(soon, TEXT, TURN), max_size=3).map(tuple),
    affinity=st.integers(-100, 100),
    topics=st.lists(TEXT, max_size=5).map(tuple),
)
SCENES = st.builds(
    lambda lines, first, second, affinity, language: scene(
        language,
        tuple(lines),
        npc_facts=(*authored(first), KnownFact(ref="n2", statement=second)),
        memories=memories(second),
        affinity=affinity,
    ),
    st.lists(TEXT, max_size=5),
    TEXT,
    TEXT,
    st.integers(-100, 100),
    st.sampled_from(["en", "ja"]),
)


@settings(max_examples=150, deadline=None)
@given(ANSWERS, SCENES, st.integers(0, 200))
def test_whatever_a_model_answers_only_what_was_said_is_kept(
    claimed: ClosingExtraction, where: ClosingContext, step: int
) -> None:
    speakers = {line.turn: line.speaker_id for line in where.lines}
    valid = validate_extraction(claimed, where, affinity_step=step)
    assert all(topic.strip() for side in valid.sides for topic in side.topics)
    for side, entry in zip(valid.sides, (claimed.people.a, claimed.people.b), strict=True):
        own = side.participant
        assert -100 <= side.towards[0].affinity <= 100
        assert abs(side.towards[0].moved) <= step
        for own_fact in side.self_facts:
            assert speakers[own_fact.claim.turn] == own.person_id
            assert not any(contradict(known, own_fact.claim.statement, where.names) for known in own.authored)
            assert set(own_fact.replaces) <= {known.ref for known in own.facts if not known.authored}
        for fact in side.facts:
            assert fact.claim.turn in speakers
            assert fact.held or not fact.replaces
            assert set(fact.replaces) <= {known.ref for known in own.memories}
        kept = (*side.self_facts, *side.facts, *side.mid_term, *side.commitments)
        claims = (*entry.self_facts, *entry.facts, *entry.mid_term, *entry.commitments)
        assert len(kept) + len(side.rejected) + len(side.rejected_self_facts) == len(claims)


BROTHERS = "Mio has seven brothers"
CAPITAL = "Taro went to the capital once, twelve years ago"


def both(*facts: Claim) -> ClosingExtraction:
    """An answer in which both are said to know the facts."""
    return answer(remembered=facts, facts=list(facts))


def test_each_keeps_what_it_heard_and_what_it_said_of_itself() -> None:
    of_taro, of_herself = heard(CAPITAL, 5, subject="Taro"), heard(BROTHERS, 2, subject="Mio")
    for side in sides(both(of_taro, of_herself), scene()):
        assert [kept.claim.statement for kept in side.facts] == [BROTHERS, CAPITAL]  # as they were said
        assert side.rejected == ()


def test_what_anybody_tells_of_itself_is_kept_whoever_it_is() -> None:
    own = told("Mio has seven brothers", 2)
    stolen = told("Taro has twin daughters", 1)
    mio, _ = sides(answer(first={"self_facts": [own, stolen]}), scene(facts=authored("plays the flute")))
    assert [one.claim for one in mio.self_facts] == [own]
    assert [rejected.reason for rejected in mio.rejected_self_facts] == [RejectionReason.NOT_SAID_BY_ITSELF]


def test_nobody_is_told_of_the_other_by_its_own_words() -> None:
    claim = heard("Taro stole the silver bell", 0, subject="Taro")
    mio, taro = sides(both(claim), scene())
    assert [rejected.reason for rejected in mio.rejected] == [RejectionReason.NOT_HEARD]
    assert [kept.claim.statement for kept in taro.facts] == ["Taro stole the silver bell"]  # he has heard it


def test_what_one_of_the_two_remembered_before_is_no_news_to_it_alone() -> None:
    mio, taro = sides(both(heard(CAPITAL, 5, subject="Taro")), scene(memories=memories(CAPITAL)))
    assert [kept.retells for kept in mio.facts] == ["m1"]
    assert [kept.retells for kept in taro.facts] == [None]


@pytest.mark.parametrize(("liar", "turn"), [("Mio", 0), ("Taro", 1)])
def test_the_author_wins_in_everybodys_memory(liar: str, turn: int) -> None:
    where = scene(
        lines=("I do not play the flute.", "I do not bake bread."),
        facts=authored("plays the flute by the old mill every night"),
        npc_facts=authored("bakes bread"),
    )
    statement = ("Mio does not play the flute", "Taro does not bake bread")[turn]
    for side in sides(both(heard(statement, turn, subject=liar)), where):
        assert [rejected.reason for rejected in side.rejected] == [RejectionReason.CONTRADICTS_AUTHOR]


def test_how_each_likes_the_other_moves_by_the_step_from_where_it_was() -> None:
    mio, taro = sides(answer(first={"affinity": 100}, affinity=10), scene(affinity=-5))
    assert (mio.towards[0].affinity, mio.towards[0].moved) == (12 + STEP, STEP)
    assert (taro.towards[0].affinity, taro.towards[0].moved) == (10, 15)


@pytest.mark.parametrize(
    ("what", "turn", "reason"),
    [
        ("Show Mio the boat at the pier tomorrow at six", 5, None),
        ("Show Mio the boat at the pier tomorrow at six", 4, RejectionReason.NOT_SAID_BY_ITSELF),
        ("Show Mio the boat at the pier tomorrow at six", 9, RejectionReason.NO_SUCH_TURN),
        ("Repair the roof of the chapel", 5, RejectionReason.NOT_HEARD),
        (" ", 5, RejectionReason.EMPTY),
    ],
)
def test_a_promise_is_kept_if_the_one_who_makes_it_said_so(
    what: str, turn: int, reason: RejectionReason | None
) -> None:
    promised = commitment(what, turn, to="a")
    _, taro = sides(answer(commitments=[promised, promised]), scene())
    if reason is None:
        assert [(one.what, one.turn) for one in taro.commitments] == [(what, turn)]
        assert [rejected.reason for rejected in taro.rejected] == [RejectionReason.KNOWN_ALREADY]
    else:
        assert taro.commitments == ()
        assert [rejected.reason for rejected in taro.rejected] == [reason, reason]


# Facts that another extraction found in the summary: they cite no turn


def found(statement: str, where: ClosingContext, *, subject: str = "Taro") -> tuple[int, tuple[str, ...]] | None:
    """The turn that carries the fact in Mio's memory, and what it closes there; None: it is kept out."""
    fact = FoundFact(key="f", subject=subject, relation="TOLD", object="Mio", statement=statement)
    valid = validate_found([fact], where, where.participants[0])
    return (valid["f"].claim.turn, valid["f"].replaces) if valid else None


def test_a_fact_without_a_turn_cites_the_last_that_carries_it() -> None:
    assert found("Taro has twin daughters", scene()) == (1, ())
    assert found("太郎には双子の娘がいる", scene("ja"), subject="太郎") == (1, ())
    twice = scene(lines=("Hello.", "I bake bread.", "Good.", "I bake bread, I said."))
    assert found("Taro bakes bread", twice) == (3, ())


@pytest.mark.parametrize(
    "statement",
    [
        "Taro lives in a palace",
        "Taro is a smuggler of silk",
        "  ",
        "x" * 201,
    ],
)
def test_a_fact_that_no_turn_carries_is_kept_out(statement: str) -> None:
    assert found(statement, scene()) is None


def test_a_fact_without_a_turn_obeys_the_author_as_every_other() -> None:
    assert found("Taro has twin daughters", scene(npc_facts=authored("Taro has no daughters"))) is None
