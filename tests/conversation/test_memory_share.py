"""A prompt has room for so much memory, and what bears least on the moment is left out first."""

from dataclasses import replace

import pytest

from service.content.profile import NpcProfile
from service.conversation.context import Goal, LastMeeting, Line, PromptContext
from service.conversation.memory_share import LEAST_TOKENS, TALK_TOKENS, TURN_TOKENS, fitted, room_left
from service.conversation.prompt import render_record, speaker_prompt
from service.llm.chat import estimate_tokens, prompt_tokens
from service.locales import Language

SENTENCES: dict[Language, tuple[str, str, str]] = {
    "en": ('Taro said: "The boat is old. It leaks."', "Aoi laughed.", "They shared a bun by the old pier at noon."),
    "ja": ("太郎は「船は古い。水が漏る」と言った。", "葵は笑った。", "二人は昼に桟橋で饅頭を分けあった。"),
}


def _context(language: Language, persona: int) -> PromptContext:
    """A hundred days of memory, and a persona of about so many tokens."""
    lasting = tuple(f"({number} days ago) Hamako mended net number {number} at the old pier" for number in range(9))
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
        learned=lasting[7:],
        today=lasting[:3],
    )


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("persona", [0, 300, 600])
def test_a_prompt_leaves_room_for_the_talk_and_drops_what_bears_least_first(language: Language, persona: int) -> None:
    whole = _context(language, persona)
    told = fitted(whole)
    last, all_last = told.last_meeting, whole.last_meeting
    assert last is not None
    assert all_last is not None
    assert all_last.summary.startswith(last.summary)
    assert last.summary.endswith(SENTENCES[language]), "a sentence is told whole"
    assert told.known == whole.known[: len(told.known)]
    assert told.today == whole.today[len(whole.today) - len(told.today) :]
    without = replace(whole, known=(), heard=(), learned=(), today=(), last_meeting=replace(all_last, summary=""))
    bare = render_record(without)
    taken = estimate_tokens(bare.system) + estimate_tokens(bare.context)
    memory = (last.summary, *told.known, *told.heard, *told.learned, *told.today)
    assert sum(map(estimate_tokens, memory)) <= max(LEAST_TOKENS, TURN_TOKENS - TALK_TOKENS - taken)
    if persona == 0:
        assert told == whole
    if persona == 600:
        assert told.known
        assert told.heard + told.learned + told.today == ()


def test_the_room_that_is_left_is_what_the_next_prompt_does_not_take() -> None:
    context = replace(_context("en", 420), goal=Goal(goal="g", success_criteria="s"))
    record = render_record(context)
    said = Line(turn=0, speaker_id="aoi", speaker_name="Aoi", text="Good day. " * 9)
    before, after = room_left(context, record), room_left(replace(context, lines=(said,)), record)
    assert before == TURN_TOKENS - prompt_tokens(speaker_prompt(context, record, "").messages)
    assert before - after >= estimate_tokens(said.text)
