"""A prompt has room for so much memory, and what bears least on the moment is left out first."""

from dataclasses import replace

import pytest

from service.content.profile import NpcProfile
from service.conversation.context import LastMeeting, PromptContext
from service.conversation.memory_share import LEAST_TOKENS, fitted, reminded_tokens
from service.conversation.prompt import render_record
from service.llm.chat import estimate_tokens
from service.locales import Language

SENTENCES: dict[Language, tuple[str, str, str]] = {
    "en": ('Taro said: "The boat is old. It leaks."', "Aoi laughed.", "They shared a bun by the old pier at noon."),
    "ja": ("太郎は「船は古い。水が漏る」と言った。", "葵は笑った。", "二人は昼に桟橋で饅頭を分けあった。"),
}
SMALL = 900


def _context(language: Language, persona: int) -> PromptContext:
    """A hundred days of memory, and a persona of about so many tokens."""
    lasting = tuple(f"({number} days ago) Hamako mended net number {number} at the old pier" for number in range(11))
    space = " " if language == "en" else ""
    return PromptContext(
        language=language,
        speaker=NpcProfile(id="taro", name="Taro", personality="kind " * persona),
        begins=False,
        partner_id="aoi",
        partner_name="Aoi",
        place="the pier",
        now="noon",
        last_meeting=LastMeeting(summary=space.join(SENTENCES[language] * 4), ago="yesterday"),
        known=lasting[:5],
        heard=lasting[5:7],
        learned=lasting[7:9],
        mid_term=lasting[9:],
        today=lasting[:3],
    )


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("persona", [0, 300, 600])
def test_a_prompt_leaves_room_for_the_talk_and_drops_what_bears_least_first(language: Language, persona: int) -> None:
    whole = _context(language, persona)
    told = fitted(whole, SMALL)
    assert told.last_meeting == whole.last_meeting, "the last meeting is told whole"
    assert told.known == whole.known[: len(told.known)]
    assert told.today == whole.today[len(whole.today) - len(told.today) :]
    bare = render_record(replace(whole, known=(), heard=(), learned=(), mid_term=(), today=()))
    taken = estimate_tokens(bare.system) + estimate_tokens(bare.context)
    memory = (*told.known, *told.mid_term, *told.heard, *told.learned, *told.today)
    room = int(0.8 * SMALL) - reminded_tokens(SMALL) - taken
    assert sum(map(estimate_tokens, memory)) <= max(LEAST_TOKENS, room)
    if persona == 0:
        assert told == whole
    if persona == 600:
        assert told.known
        assert told.heard + told.learned + told.today == ()


def test_a_larger_context_holds_what_a_small_one_has_no_room_for() -> None:
    whole = _context("en", 600)
    assert fitted(whole, SMALL) != whole
    assert fitted(whole, 3000) == whole


def test_a_line_that_does_not_fit_is_passed_over_and_the_shorter_ones_behind_it_are_told() -> None:
    long = "Hamako told of a journey " + "over the grey sea " * 60
    whole = replace(_context("en", 300), known=(long, "Taro keeps goats"), mid_term=(), heard=(), today=(), learned=())
    assert fitted(whole, SMALL).known == ("Taro keeps goats",)


@pytest.mark.parametrize(("context", "most"), [(900, 90), (1000, 100), (3000, 300), (8000, 300)])
def test_what_comes_to_mind_takes_a_tenth_of_the_context_and_never_more_than_its_bound(context: int, most: int) -> None:
    assert reminded_tokens(context) == most
