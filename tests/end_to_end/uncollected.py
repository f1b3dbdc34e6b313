"""Owns what every copy of a process needs (see `process`): Python's garbage collector rests while it is imported, and
the detector of languages is loaded. Nothing of it is in the language of who calls, as the command itself is.
"""

import gc

gc.disable()

import service.api.server  # noqa: E402
import service.app  # noqa: E402
import service.export.files  # noqa: E402
import service.llm.openai  # noqa: E402
import service.replay  # noqa: E402, F401
from service.conversation.utterance import is_foreign  # noqa: E402

is_foreign("It is loaded when a text asks for it.", "en")
