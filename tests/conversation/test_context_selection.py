"""A prompt has room for so much memory, and what bears least on the moment is left out first."""

import pytest

from service.content.load import Content
from service.content.profile import NpcProfile
from service.conversation.context_selection import LEAST_TOKENS, Candidate, fitted, remembered_as_worth, reminded_tokens
from service.conversation.prompt import LastMeeting, PromptContext, render_record
from service.llm.chat import estimate_tokens
from service.locales import Language
from service.memory.recall import PromptLine
from service.memory.record import HeardTurn, Kind, Memory, Recalled
from service.people.worlds import WorldRepository, WorldView
from service.settings import Settings
from service.store.session import Database

SENTENCES: dict[Language, tuple[str, str, str]] = {
    "en": ('Taro said: "The boat is old. It leaks."', "Aoi laughed.", "They shared a bun by the old pier at noon."),
    "ja": ("太郎は「船は古い。水が漏る」と言った。", "葵は笑った。", "二人は昼に桟橋で饅頭を分けあった。"),
}
SMALL = 900


@pytest.fixture
def world(database: Database, village: Content, settings: Settings) -> WorldView:
    return database.read_now(lambda s: WorldRepository(village, settings.world).open(s, "main"))


def _context(language: Language, persona: int) -> PromptContext:
    """A persona of about so many tokens, and a last meeting."""
    space = " " if language == "en" else ""
    return PromptContext(
        language=language,
        speaker=NpcProfile(id="npc_taro", name="Taro", personality="kind " * persona),
        begins=False,
        partner_id="aoi",
        partner_name="Aoi",
        place="the pier",
        now="noon",
        meetings=(LastMeeting(summary=space.join(SENTENCES[language] * 4), ago="yesterday"),),
    )


def _told(world: WorldView, number: int, text: str = "") -> Recalled:
    told = text or f"Hamako mended net number {number} at the old pier"
    at = world.started_at
    return Recalled(
        item=Memory(id=f"m{number}", kind=Kind.FACT, text=told, told_by="aoi", valid_from=at, known_from=at), score=1
    )


def _found(world: WorldView) -> list[Candidate]:
    """A hundred days of memory."""
    lines = [
        PromptLine(f"({n} days ago) Hamako mended sail number {n} at the old pier", f"memory:l{n}") for n in range(8)
    ]
    known = [_told(world, number) for number in range(7)]
    sections = ("learned", "learned", "mid_term", "mid_term", "today", "today", "today", "today")
    return [
        *remembered_as_worth(world, "known", known[:5], more=5),
        *remembered_as_worth(world, "heard", known[5:], more=1),
        *(Candidate(section=name, worth=4, line=line) for name, line in zip(sections, lines, strict=True)),
    ]


def _lines(context: PromptContext) -> tuple[str, ...]:
    return (*context.known, *context.mid_term, *context.heard, *context.learned, *context.today)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("persona", [0, 300, 600])
def test_a_prompt_leaves_room_for_the_talk_and_drops_what_bears_least_first(
    world: WorldView, language: Language, persona: int
) -> None:
    bare = _context(language, persona)
    told, refs = fitted(world, bare, _found(world), SMALL)
    assert told.meetings == bare.meetings, "the last meetings are told whole"
    record = render_record(bare)
    room = int(0.8 * SMALL) - reminded_tokens(SMALL) - estimate_tokens(record.system) - estimate_tokens(record.context)
    assert sum(map(estimate_tokens, _lines(told))) <= max(LEAST_TOKENS, room)
    assert len(refs) == len(set(refs))
    assert told.known
    if persona == 0:
        assert {*refs} >= {"memory:m0", "memory:m1"}
    if persona == 600:
        assert told.learned + told.today == ()


def test_nothing_is_told_twice_in_whatever_section_it_was_found(world: WorldView) -> None:
    one = _told(world, 1)
    twice = [*remembered_as_worth(world, "known", [one]), *remembered_as_worth(world, "heard", [one])]
    told, refs = fitted(world, _context("en", 0), twice, SMALL)
    assert (len(told.known), told.heard, refs) == (1, (), ("memory:m1",))


def test_what_was_said_and_answered_is_told_once_whichever_of_the_two_was_found(world: WorldView) -> None:
    words = ("How does the water stand?", "A hand lower than last week.")
    said = [
        HeardTurn(
            conversation_id="c",
            turn=turn,
            speaker_id=speaker_id,
            speaker_name=speaker_id.title(),
            text=words[turn],
            partner_id="ren",
            at=world.started_at,
            overheard=True,
        )
        for turn, speaker_id in enumerate(("ren", "aoi"))
    ]
    found = [Recalled(item=one, score=1, beside=other) for one, other in zip(said, said[::-1], strict=True)]
    both = [*remembered_as_worth(world, "known", found[:1], more=1), *remembered_as_worth(world, "heard", found[1:])]
    told, _ = fitted(world, _context("en", 0), both, SMALL)
    assert told.heard == ()
    assert told.known == (f"(just now) Overheard: Ren: {words[0]} / Aoi: {words[1]}",)


@pytest.mark.parametrize(("context", "most"), [(900, 90), (1000, 100), (3000, 300), (8000, 300)])
def test_what_comes_to_mind_takes_a_tenth_of_the_context_and_never_more_than_its_bound(context: int, most: int) -> None:
    assert reminded_tokens(context) == most
