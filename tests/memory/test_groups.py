"""What may be learned where more than two talk, and not all hear all: tests of extraction.py and validate.py."""

from typing import Any

from service.memory.extraction import (
    ClosingContext,
    ClosingExtraction,
    OpenPromise,
    Participant,
    SpokenLine,
    answer_to,
)
from service.memory.validate import ValidExtraction, validate_extraction
from service.people.attitude import STRANGERS, Attitude
from service.store.event_kinds import RejectionReason
from tests.memory.answers import claim, commitment
from world.time import parse_time

THREE = {"aoi": "Aoi", "ren": "Ren", "mio": "Mio"}
AT = parse_time("2026-04-01T07:00")
ASKED = "Will you bring the silver key tomorrow at six?"


def scene(*lines: tuple[str, str, tuple[str, ...] | None], **more: Any) -> ClosingContext:
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


def judged(context: ClosingContext, kept: tuple[tuple[str, int], ...] = (), **entries: Any) -> ValidExtraction:
    """What of the entries, by ref, passes."""
    people = {}
    for one in context.participants:
        others = context.others_of(one)
        nothing: dict[str, Any] = {"mood": "happy", "self_facts": [], "facts": [], "mid_term": [], "commitments": []}
        attitude = {other.ref: _stands() for other, stands in others if context.is_judged(stands)}
        towards = {other.ref: stands.affinity + 30 for other, stands in others}
        asked = {"attitude": attitude} if attitude else {}
        people[one.ref] = {**nothing, "towards": towards, **asked, **entries.get(one.ref, {})}
    answered: ClosingExtraction = answer_to(context).model_validate(
        {
            "summary": [{"text": "They met.", "turns": [0]}],
            "topics": [],
            "people": people,
            "kept": [{"promise": promise, "turn": turn} for promise, turn in kept],
        }
    )
    return validate_extraction(answered, context, affinity_step=20)


def _stands() -> dict[str, int]:
    return {"power": 1, "intimacy": 2, "task_oriented": 0}


def test_the_answer_has_a_number_for_each_other_one_and_three_more_where_they_have_met() -> None:
    context = scene(("aoi", "Good morning.", None))
    fields = answer_to(context).model_json_schema()["$defs"]
    assert list(fields["SideATowards"]["properties"]) == ["b", "c"]
    assert list(fields["SideAAttitude"]["properties"]) == ["b"]
    assert "SideCAttitude" not in fields
    assert answer_to(context) is answer_to(scene(("ren", "Good night.", None)))
    aoi, _, mio = judged(context).sides
    assert [(one.other_id, one.before, one.affinity) for one in aoi.towards] == [("ren", 10, 30), ("mio", 0, 20)]
    assert [one.attitude is not None for one in (*aoi.towards, *mio.towards)] == [True, False, False, False]


def test_a_question_that_was_whispered_stands_before_the_answer_only_for_who_heard_it() -> None:
    context = scene(("ren", ASKED, ("aoi", "ren")), ("aoi", "Yes, gladly, I will bring my lantern too.", None))
    told = claim("Aoi will bring her lantern", 1, subject="Aoi")
    _, ren, mio = judged(context, b={"facts": [told]}, c={"facts": [told]}).sides
    assert ASKED in ren.facts[0].words
    assert mio.facts[0].words == 'Aoi said: "Yes, gladly, I will bring my lantern too." (a plan)'
    assert (ren.partners[1], mio.partners[1]) == ("aoi", "aoi")


def test_a_promise_is_one_to_who_heard_what_was_promised() -> None:
    context = scene(("ren", ASKED, ("aoi", "ren")), ("aoi", "Yes, gladly.", None))
    promise = commitment("bring the silver key", 1, when="2026-04-02T06:00")
    (made,) = judged(context, a={"commitments": [{**promise, "to": "b"}]}).sides[0].commitments
    assert (made.to, made.turn, ASKED in made.words) == ("b", 1, True)
    aoi = judged(context, a={"commitments": [{**promise, "to": "c"}]}).sides[0]
    assert aoi.commitments == ()
    assert [one.reason for one in aoi.rejected] == [RejectionReason.NOT_PERCEIVED]


def test_that_a_promise_was_kept_is_heard_by_both() -> None:
    promise = OpenPromise(ref="p1", by_id="aoi", to_id="ren", what="bring the net", words="")
    said = "I brought the net, as I promised."
    for heard_by, kept in ((None, ("p1",)), (("aoi", "ren"), ("p1",)), (("aoi", "mio"), ())):
        context = scene(("aoi", said, heard_by), promises=(promise,))
        assert judged(context, kept=(("p1", 0),)).kept == kept


def test_who_told_it_is_the_speaker_of_the_turn() -> None:
    context = scene(("aoi", "Good morning.", None), ("mio", "I have painted my boat green.", None))
    facts = [claim("Mio has painted her boat green", 1, subject="Mio")]
    aoi, ren, _ = judged(context, a={"facts": facts}, b={"facts": facts}).sides
    assert [side.facts[0].chain for side in (aoi, ren)] == [("mio",), ("mio",)]
    assert [side.partners for side in (aoi, ren)] == [{0: "mio", 1: "mio"}, {0: "aoi", 1: "mio"}]
