"""Owns how a program speaks as the service does: its sentences in every language, world times, and how texts are
compared.
"""

from typing import TYPE_CHECKING

from service.public.by_name import by_name

if TYPE_CHECKING:
    from service.conversation.utterance import breaks_character, is_foreign, is_repetition
    from service.decision.options import action_name, clock_of, failed_line, need_name
    from service.locales import (
        Language,
        Listed,
        Phrase,
        ago,
        clock_label,
        date_label,
        language_named,
        languages,
        room,
        sentence,
        sentences,
    )
    from service.memory.lexical import grams, is_named, jaccard, squeezed
    from service.memory.lexical import sentences as sentences_of
    from world.life import Because
    from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime, clock, day_of, iso, parse_time, to_datetime
else:
    __getattr__ = by_name(__name__)

__all__ = [
    "MINUTES_PER_DAY",
    "MINUTES_PER_HOUR",
    "Because",
    "Language",
    "Listed",
    "Phrase",
    "WorldTime",
    "action_name",
    "ago",
    "breaks_character",
    "clock",
    "clock_label",
    "clock_of",
    "date_label",
    "day_of",
    "failed_line",
    "grams",
    "is_foreign",
    "is_named",
    "is_repetition",
    "iso",
    "jaccard",
    "language_named",
    "languages",
    "need_name",
    "parse_time",
    "room",
    "sentence",
    "sentences",
    "sentences_of",
    "squeezed",
    "to_datetime",
]
