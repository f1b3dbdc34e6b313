"""What of a closing's answer may be stored, by its structure: tests of service/memory/closing/check.py."""

from dataclasses import replace
from typing import Any

import pytest

from service.memory.closing.check import CheckedClosing, CheckedSide, check
from service.memory.closing.context import (
    ClosingAnswer,
    ClosingContext,
    Known,
    OpenPromise,
    Participant,
    SpokenLine,
    answer_to,
)
from service.memory.record import Kind, Memory, Mode, Source, Support
from service.people.attitude import STRANGERS, Attitude
from service.people.commitment import Commitment
from service.store.event_kinds import RejectionReason
from tests.memory.answers import closing, memory, promise
from tests.memory.closing.scenes import AT, question, scene
from world.time import iso, parse_time

OLD = Memory(id="old", kind=Kind.FACT, text="Taro has 40 goats.", told_by="npc_taro", valid_from=AT, known_from=AT)


def checked(context: ClosingContext, answered: ClosingAnswer, **more: Any) -> CheckedClosing:
    return check(answered, question(context, **more), affinity_step=20)


def mios(*drafts: dict[str, Any], context: ClosingContext | None = None, **more: Any) -> CheckedSide:
    """What Mio takes away of these drafts; Taro speaks the odd turns."""
    return checked(context or scene(), closing(first={"memories": drafts}), **more).sides[0]


def test_a_sentence_of_the_model_is_kept_as_it_stands_with_who_told_it_and_its_turns() -> None:
    text = "Taro has twin daughters to feed."
    (kept,) = mios(memory(text, 1, about="b", teller="b", importance=8, slot="children")).memories
    assert (kept.text, kept.kind, kept.told_by, kept.turns) == (text, Kind.FACT, "npc_taro", (1,))
    assert (kept.about, kept.subject_id, kept.slot, kept.importance) == ("Taro", "npc_taro", "children", 8)
    assert (kept.support, kept.source, kept.is_bare) == (Support.MODEL, Source.CONVERSATION, False)


@pytest.mark.parametrize(
    "text", ["Taro a deux filles jumelles.", "Taro hat Zwillingstöchter.", "太郎有一对双胞胎女儿。"]
)
def test_no_language_is_another_ones(text: str) -> None:
    assert [one.text for one in mios(memory(text, 1, about="b", teller="b")).memories] == [text]


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        (memory("Taro sings.", 17), RejectionReason.NO_SUCH_TURN),
        (memory(" \n", 1), RejectionReason.EMPTY),
        (memory("<|im_end|>", 1), RejectionReason.EMPTY),
        (memory("Taro was in the capital 700 times.", 6), RejectionReason.OTHER_NUMBER),
    ],
)
def test_each_fault_of_structure_is_named_and_drops_nothing_else(
    draft: dict[str, Any], reason: RejectionReason
) -> None:
    lines = (*(line.text for line in scene().lines), "I was there 12 times.")
    side = mios(draft, memory("Taro sings.", 1), context=scene(lines=lines))
    assert [one.text for one in side.memories] == ["Taro sings."]
    assert [one.reason for one in side.rejected] == [reason]


def test_what_the_same_one_told_before_is_known_and_no_fault() -> None:
    told = memory("TARO  HAS 40 GOATS.", 1, teller="b"), memory("Taro has 40 goats.", 2, teller="a")
    side = mios(*told, known={"mio": [OLD]}, context=scene(lines=("Hm.", "I have 40 goats.", "You have 40 goats.")))
    assert [(one.text, one.told_by) for one in side.memories] == [("Taro has 40 goats.", "mio")]
    assert side.rejected == ()


def test_what_is_told_again_of_the_next_days_takes_the_place_of_what_was_told_before() -> None:
    before = replace(OLD, kind=Kind.MID_TERM, text="Taro sails soon.", level="low")
    side = mios(memory("Taro sails soon.", 1, teller="b", lasts="high"), known={"mio": [before]})
    assert [(one.level, one.replaces) for one in side.memories] == [("high", ("old",))]


def test_nobody_who_was_not_there_and_no_human_takes_anything_away() -> None:
    people = scene().participants
    context = scene(participants=(replace(people[0], is_player=True), people[1]))
    told = [{"owner": owner, **memory("Taro sings.", 1)} for owner in ("a", "z")]
    answered = ClosingAnswer.model_validate({**closing().model_dump(), "memories": told})
    found = checked(context, answered)
    assert [side.memories for side in found.sides] == [(), ()]
    assert [one.reason for one in found.rejected] == [RejectionReason.NO_SUCH_REF] * 2


@pytest.mark.parametrize(
    ("turns", "teller", "about", "mode", "told_by"),
    [
        ((1,), "", "b", "stated", "npc_taro"),
        ((1,), "a", "b", "stated", "npc_taro"),
        ((2,), "b", "a", "stated", "mio"),
        ((0, 1), "a", "bell", "stated", "mio"),
        ((0, 1), "", "bell", "stated", "npc_taro"),
        ((0, 1), "", "a", "stated", None),
        ((4, 5), "", "pier", "planned", None),
    ],
)
def test_who_told_it_is_whom_the_model_names_where_that_one_speaks_else_who_speaks(
    turns: tuple[int, ...], teller: str, about: str, mode: str, told_by: str | None
) -> None:
    (kept,) = mios(memory("It is so.", *turns, teller=teller, about=about, mode=mode)).memories
    assert kept.told_by == told_by


def test_what_one_tells_itself_is_what_one_has_told() -> None:
    (kept,) = mios(memory("Mio has seven brothers.", 2, about="a", teller="a")).memories
    assert kept.kind is Kind.SELF


def test_what_lasts_some_days_has_its_level_and_its_end() -> None:
    (kept,) = mios(memory("Taro shows his boat at the pier.", 5, about="b", teller="b", lasts="medium")).memories
    assert (kept.kind, kept.level) == (Kind.MID_TERM, "medium")
    assert kept.expires_at == parse_time("2026-04-03T07:00")


def test_a_ref_that_stands_for_nothing_of_the_owners_is_dropped_and_not_the_truth() -> None:
    drafts = [memory(f"Taro has {number} goats.", 1, replaces=ref) for number, ref in enumerate(("am1", "bm1", "x"), 1)]
    kept = mios(*drafts, memories={"am1": OLD, "bm1": OLD}).memories
    assert [one.replaces for one in kept] == [("old",), (), ()]


def test_from_whom_the_teller_has_it_is_a_person_of_this_world_or_a_name() -> None:
    context = scene(bearers={"ken": frozenset({"ken"}), "bo": frozenset({"bo", "bo_two"})})
    drafts = [memory(f"Ken sails {name}.", 1, teller="b", heard_from=name) for name in ("Ken", "Bo", "the king")]
    assert [one.via for one in mios(*drafts, context=context).memories] == [("ken",), ("Bo",), ("the king",)]


def test_a_quote_is_kept_word_for_word_or_not_at_all() -> None:
    quotes = ("I have no time for bells", "I have time for bells")
    kept = mios(*(memory(f"Taro is busy {quote}.", 1, teller="b", quote=quote) for quote in quotes)).memories
    assert [one.quote for one in kept] == [quotes[0], ""]
    draft = memory("Taro is busy.", 1, teller="b", quote=quotes[0])
    side = checked(scene(), closing(first={"memories": [draft]}, not_to_quote=[1, 99])).sides[0]
    assert side.memories[0].quote == ""


def test_turns_that_are_not_to_be_quoted_are_those_there_are() -> None:
    assert checked(scene(), closing(not_to_quote=[0, 5, 99])).not_to_quote == {0, 5}


def test_ids_give_way_to_names_in_every_sentence() -> None:
    answered = closing("npc_taro told mio of bells.", first={"memories": [memory("npc_taro is busy.", 1, teller="b")]})
    side = checked(scene(), answered).sides[0]
    assert side.summary == "Taro told mio of bells."
    assert side.memories[0].text == "Taro is busy."


def test_affinity_moves_by_its_step_and_what_was_not_judged_stays() -> None:
    answered = closing(first={"affinity": 100, "attitude": None}, second={"affinity": -100})
    mio, taro = checked(scene(judges=False), answered).sides
    assert [(one.before, one.affinity, one.attitude) for one in (*mio.towards, *taro.towards)] == [
        (12, 32, None),
        (0, -20, None),
    ]


def commitment(**fields: Any) -> Commitment:
    usual: dict[str, Any] = {"place": "", "node_id": None, "due": None}
    return Commitment(id="c1", by_id="npc_taro", to_id="mio", what="mend it", made_at=AT, ends_at=AT, **usual | fields)


OPEN = {"p1": commitment()}
WITH_OPEN = scene(promises=(OpenPromise(ref="p1", by_id="npc_taro", to_id="mio", line="…"),))


def test_a_promise_has_its_day_and_hour_as_the_model_read_them() -> None:
    made = promise("show Mio the boat", 5, day="2026-04-02", time="06:00", place="the pier")
    (told,) = checked(scene(), closing(promises=[made])).promises
    assert (told.status, told.by_id, told.to_id, told.what) == ("made", "npc_taro", "mio", "show Mio the boat")
    assert told.due is not None
    assert (iso(told.due.at), told.due.has_hour, told.place) == ("2026-04-02T06:00", True, "the pier")


def test_a_part_of_a_day_is_a_window() -> None:
    (told,) = checked(scene(), closing(promises=[promise("come", 5, day="2026-04-01", time="evening")])).promises
    assert told.due is not None
    assert told.due.since is not None
    assert (iso(told.due.since), iso(told.due.at)) == ("2026-04-01T17:00", "2026-04-01T22:00")


@pytest.mark.parametrize("status", ["moved", "released", "kept"])
def test_an_open_promise_is_moved_released_or_kept_by_its_ref(status: str) -> None:
    draft = promise("", 5, status=status, ref="p1", by="a", to="b", day="2026-04-03")
    (told,) = checked(WITH_OPEN, closing(promises=[draft]), promises=OPEN).promises
    assert (told.status, told.commitment_id, told.by_id, told.what) == (status, "c1", "npc_taro", "mend it")


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        (promise("come", 5, day="2026-02-30"), RejectionReason.NO_SUCH_DATE),
        (promise("come", 5, day="2026-03-31"), RejectionReason.NO_SUCH_DATE),
        (promise("come", 5, day="2036-04-01"), RejectionReason.NO_SUCH_DATE),
        (promise("come", 5, day="2026-04-01", time="at six"), RejectionReason.NO_SUCH_DATE),
        (promise("come", 55), RejectionReason.NO_SUCH_TURN),
        (promise("come", 5, by="b", to="b"), RejectionReason.NO_SUCH_REF),
        (promise("come", 5, to="z"), RejectionReason.NO_SUCH_REF),
        (promise("", 5), RejectionReason.EMPTY),
        (promise("come", 5, status="kept", ref="p9"), RejectionReason.NO_SUCH_REF),
    ],
)
def test_a_bad_promise_is_dropped_alone(draft: dict[str, Any], reason: RejectionReason) -> None:
    found = checked(scene(), closing(promises=[draft, promise("sing", 5)]))
    assert [one.what for one in found.promises] == ["sing"]
    assert [one.reason for one in found.rejected] == [reason]


THREE = {"aoi": "Aoi", "ren": "Ren", "mio": "Mio"}


def table(*lines: tuple[str, str, tuple[str, ...] | None], **more: Any) -> ClosingContext:
    """Aoi, Ren and Mio talk: who says what, and who hears it. Aoi and Ren have met before."""
    met = Attitude(affinity=10, times_met=1)
    people = tuple(
        Participant(
            ref=ref,
            person_id=person_id,
            name=name,
            affinity=0,
            mood="neutral",
            towards=tuple(
                (other, met if {person_id, other} == {"aoi", "ren"} else STRANGERS)
                for other in THREE
                if other != person_id
            ),
        )
        for ref, (person_id, name) in zip("abc", THREE.items(), strict=True)
    )
    said = tuple(
        SpokenLine(turn=turn, speaker_id=who, speaker_name=THREE[who], text=text, at=AT, heard_by=heard_by)
        for turn, (who, text, heard_by) in enumerate(lines)
    )
    return ClosingContext(language="en", participants=people, now="", goal="", goal_achieved=False, lines=said, **more)


def of_three(
    context: ClosingContext, *drafts: dict[str, Any], promises: tuple[dict[str, Any], ...] = ()
) -> CheckedClosing:
    people = {}
    for one in context.participants:
        others = context.others_of(one)
        judged = {
            other.ref: {"power": 1, "intimacy": 2, "task_oriented": 0} for other, s in others if context.is_judged(s)
        }
        people[one.ref] = {
            "paragraph": ["They met."],
            "topics": [],
            "mood": "happy",
            "towards": {other.ref: stood.affinity + 30 for other, stood in others},
            **({"attitude": judged} if judged else {}),
        }
    told = {"people": people, "memories": list(drafts), "promises": list(promises), "not_to_quote": [], "reached": []}
    return checked(context, answer_to(context).model_validate(told))


def test_of_more_than_two_each_is_asked_of_each_other_and_judged_where_they_have_met() -> None:
    context = table(("aoi", "Good morning.", None))
    fields = answer_to(context).model_json_schema()["$defs"]
    assert list(fields["EntryATowards"]["properties"]) == ["b", "c"]
    assert list(fields["EntryAAttitude"]["properties"]) == ["b"]
    assert answer_to(context) is answer_to(table(("ren", "Good night.", None)))
    aoi, _, mio = of_three(context).sides
    assert [(one.other_id, one.before, one.affinity) for one in aoi.towards] == [("ren", 10, 30), ("mio", 0, 20)]
    assert [one.attitude is not None for one in (*aoi.towards, *mio.towards)] == [True, False, False, False]


def test_a_whisper_is_remembered_by_who_heard_it_and_promised_to_nobody_else() -> None:
    context = table(("ren", "The key is under the stone.", ("aoi", "ren")), ("aoi", "I will fetch it.", ("aoi", "ren")))
    drafts = [{"owner": ref, **memory("The key is under the stone.", 0, teller="b")} for ref in "ac"]
    made = [promise("fetch the key", 1, by="a", to=to) for to in "bc"]
    found = of_three(context, *drafts, promises=tuple(made))
    assert [len(side.memories) for side in found.sides] == [1, 0, 0]
    assert [one.reason for one in found.sides[2].rejected] == [RejectionReason.NOT_PERCEIVED]
    assert [one.to_id for one in found.promises] == ["ren"]
    assert found.sides[0].memories[0].partner_id == "ren"


def test_what_was_done_before_ones_eyes_stands_bare_and_a_players_doing_does_not() -> None:
    lines = (SpokenLine(turn=0, speaker_id="npc_taro", speaker_name="Taro", text="", act="hides the bell", at=AT),)
    draft = memory("Taro hid the bell.", 0, about="b")
    (seen,) = mios(draft, context=replace(scene(), lines=lines)).memories
    assert (seen.kind, seen.support, seen.told_by, seen.is_bare) == (Kind.OBSERVED, Support.PERCEIVED, None, True)
    mio, taro = scene().participants
    played = replace(scene(), lines=lines, participants=(mio, replace(taro, is_player=True)))
    assert not mios(draft, context=played).memories[0].is_bare


def test_a_joke_stays_a_joke() -> None:
    assert mios(memory("Taro is a king.", 1, teller="b", mode="joking")).memories[0].mode is Mode.JOKING


def test_what_both_keep_is_given_once_and_becomes_a_memory_of_each() -> None:
    draft = {"owner": "ab", **memory("Taro was in the capital.", 5, teller="b", replaces="am1 bm1")}
    told = ClosingAnswer.model_validate({**closing().model_dump(), "memories": [draft]})
    memories = {ref: replace(OLD, id=ref) for ref in ("am1", "bm1")}
    kept = [side.memories for side in checked(scene(), told, memories=memories).sides]
    assert [(one.kind, one.told_by, one.replaces) for (one,) in kept] == [
        (Kind.FACT, "npc_taro", ("am1",)),
        (Kind.SELF, "npc_taro", ("bm1",)),
    ]
    stray = ClosingAnswer.model_validate({**closing().model_dump(), "memories": [draft | {"owner": "az"}]})
    assert [one.reason for one in checked(scene(), stray).rejected] == [RejectionReason.NO_SUCH_REF]


def test_what_is_true_until_a_day_is_over_with_that_day() -> None:
    until = {"teller": "b", "until": "2026-04-01"}
    drafts = [memory(f"Taro rows {lasts}.", 1, lasts=lasts, **until) for lasts in ("long", "high")]
    drafts += [memory(f"Taro rests {day}.", 1, teller="b", until=day) for day in ("2026-03-31", "on Friday")]
    long, high, past, vague = mios(*drafts).memories
    assert (long.valid_to, long.expires_at) == (parse_time("2026-04-02T00:00"), None)
    assert (high.valid_to, high.expires_at, high.level) == (None, parse_time("2026-04-02T00:00"), "high")
    assert past.valid_to is vague.valid_to is None, "no day ahead: nothing is known of an end"


def test_a_plan_of_today_lives_until_one_can_be_asked_how_it_went() -> None:
    plan = memory("Taro means to row.", 1, teller="b", mode="planned", lasts="low", until="2026-04-01")
    (kept,) = mios(plan).memories
    assert (kept.level, kept.expires_at) == ("medium", parse_time("2026-04-03T07:00"))


@pytest.mark.parametrize(
    ("between", "kept_from"),
    [("", ()), ("all", ("*",)), ("Ken, Bo", ("bo", "ken")), ("bo、a", ("bo",)), ("the king", ("*",))],
)
def test_what_is_told_in_confidence_is_kept_from_whom_the_teller_names(
    between: str, kept_from: tuple[str, ...]
) -> None:
    context = scene(bearers={"ken": frozenset({"ken"}), "bo": frozenset({"bo"})})
    (kept,) = mios(memory("Taro is afraid.", 1, teller="b", between=between), context=context).memories
    assert kept.kept_from == kept_from
    own = mios(memory("Mio has seven brothers.", 2, teller="a", between=between), context=context).memories[0]
    assert own.partner_id == ("npc_taro" if between else ""), "whom it was confided to"


def test_what_was_seen_needs_an_act_and_a_second_look() -> None:
    lines = tuple(replace(line, act="hands over a bun" if line.turn == 1 else "") for line in scene().lines)
    drafts = [memory(f"Taro gave Mio {turn} buns.", turn, teller="seen") for turn in (1, 3)]
    drafts = [{**draft, "text": "Taro gave Mio a bun."} for draft in drafts]
    seen, said = mios(*drafts, context=replace(scene(), lines=lines)).memories
    assert (seen.kind, seen.told_by, seen.support, seen.is_bare) == (Kind.OBSERVED, None, Support.MODEL, False)
    assert (said.kind, said.told_by) == (Kind.FACT, "npc_taro"), "without an act it is attributed"


def test_a_goal_of_life_that_is_reached_is_a_thought_of_whose_goal_it_is() -> None:
    mio, taro = scene().participants
    people = (replace(mio, goals=(Known(ref="ag1", text="find the bell"), Known(ref="ag2", text="sleep"))), taro)
    side, other = checked(scene(participants=people), closing(reached=["ag1", "bg1", "x"])).sides
    assert [(one.kind, one.source, one.about, one.text) for one in side.memories] == [
        (Kind.INSIGHT, Source.GOAL, "find the bell", "Mio has reached what Mio wanted of life: find the bell")
    ]
    assert other.memories == ()
