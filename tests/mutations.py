"""Owns thirty mutations of the code, each with the tests that must fail for it: `python -m tests.mutations` puts one
after the other into the checkout, runs its tests, and takes it out again; `python -m tests.mutations 4 6` those two.

A mutation is a file, the text that is changed (once in the file), what it becomes, and where the tests stand.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

MUTATIONS = (
    ("service/conversation/turn_taking.py", "GOODBYES = 2", "GOODBYES = 0", "tests/conversation/test_ending.py"),
    (
        "service/conversation/turn_taking.py",
        "answers = all(one.speaker == Speaker.MODEL for one in two)",
        "answers = False",
        "tests/conversation/test_ending.py",
    ),
    (
        "service/conversation/context_selection.py",
        "        room -= cost\n",
        "        room -= 0\n",
        "tests/conversation/test_context_selection.py",
    ),
    (
        "service/conversation/context_selection.py",
        "each.score >= near_best * best",
        "each.score >= 0 * best",
        "tests/conversation/test_reminding.py",
    ),
    (
        "service/memory/secrets.py",
        "apart = self.present - told if ANYBODY in one.kept_from",
        "apart = set() if ANYBODY in one.kept_from",
        "tests/memory/test_secrets.py",
    ),
    (
        "service/memory/record.py",
        "hands = 0 if self.is_bare or self.kind is Kind.SELF else 1 + len(self.via)",
        "hands = 0",
        "tests/api/test_memory.py",
    ),
    (
        "service/memory/telling.py",
        '    if one.told_by:\n        return _Group("told", one.told_by)',
        "    if one.told_by:\n        return _ALONE",
        "tests/memory/test_heard_from.py",
    ),
    (
        "service/memory/closing/verify.py",
        'if finding == "contradicted" or',
        "if",
        "tests/conversation/test_verified.py",
    ),
    (
        "service/people/commitments.py",
        'return None if one.status == "kept" and is_early else row',
        "return row",
        "tests/api/test_commitments.py",
    ),
    (
        "service/people/commitments.py",
        "    if there[0] & there[1]:",
        "    if there[0] | there[1]:",
        "tests/api/test_commitments.py",
    ),
    (
        "service/people/commitment.py",
        "if not day and due.at <= said_at:",
        "if not day and due.at < 0:",
        "tests/people/test_commitment.py",
    ),
    (
        "world/places.py",
        "return minute >= self.opens or minute < self.closes",
        "return minute >= self.opens",
        "tests/world/test_places.py",
    ),
    (
        "world/needs.py",
        "min(max(value, self.all[i].lowest), self.all[i].highest)",
        "value",
        "tests/world/test_needs.py",
    ),
    (
        "world/causality.py",
        "if not talk.over and talk.start + talk.turns < t:",
        "if not talk.over and talk.start + talk.turns < t - 9:",
        "tests/world/test_causality.py",
    ),
    (
        "world/causality.py",
        "            if row[node_index] < gap:",
        "            if row[node_index] < 0:",
        "tests/world/test_causality.py",
    ),
    (
        "service/llm/wrappers.py",
        "if tried >= self._attempts or",
        "if tried > self._attempts or",
        "tests/llm/test_retry.py",
    ),
    (
        "service/store/idempotency.py",
        "            raise KeyReused(key=request.key)",
        "            pass",
        "tests/api/test_idempotency.py",
    ),
    (
        "service/api/key.py",
        "if not hmac.compare_digest(digest, self._owner):",
        "if False:",
        "tests/api/test_key.py",
    ),
    (
        "service/api/access.py",
        "if SCOPES.index(key.scope) < SCOPES.index(scope):",
        "if False:",
        "tests/api/test_access.py",
    ),
    (
        "service/memory/closing/write.py",
        "return [ANYBODY] if self.is_private else",
        "return",
        "tests/api/test_privacy.py",
    ),
    (
        "service/people/attitude.py",
        "key=lambda one: (one.at, one.id)):\n        if change.person_id in felt",
        "key=lambda one: one.id):\n        if change.person_id in felt",
        "tests/people/test_attitude.py",
    ),
    (
        "service/memory/episodes.py",
        "return self._begins(self.day(WorldTime(last)) + self.after_days + 1)",
        "return self._begins(self.day(WorldTime(last)) + self.after_days)",
        "tests/memory/test_fading.py",
    ),
    (
        "service/conversation/turn_taking.py",
        "if turn.goal_achieved and number)",
        "if turn.goal_achieved)",
        "tests/conversation/test_ending.py",
    ),
    (
        "service/conversation/utterance.py",
        "return likeness(utterance, earlier) >= TOO_LIKE",
        "return False",
        "tests/conversation/test_engine.py",
    ),
    ("service/web/pages.py", "    autoescape=True,", "    autoescape=False,", "tests/web/test_pages.py"),
    (
        "service/conversation/human.py",
        "        raise NotSpeaking(conversation_id=row.id, utterance_id=heard.utterance_id)",
        "        return row",
        "tests/api/test_client_events.py",
    ),
    (
        "world/events.py",
        'return tuple(sorted(events, key=attrgetter("order")))',
        "return tuple(events)",
        "tests/world/test_causality.py",
    ),
    (
        "service/store/events.py",
        "return col(EventRow.world_id) == world_id, col(EventRow.audience) == audience",
        "return (col(EventRow.world_id) == world_id,)",
        "tests/api/test_client_events.py",
    ),
    (
        "service/api/middleware.py",
        "            raise HostNotAllowed(host=host)",
        "            pass",
        "tests/api/test_guard.py",
    ),
    (
        "service/memory/record.py",
        "owner.epoch = max(owner.epoch + 1, new_epoch())",
        "owner.epoch = owner.epoch",
        "tests/memory/test_revision.py",
    ),
    (
        "service/store/budget.py",
        "        if not is_closing and (exhausted := self.exhausted) is not None:",
        "        if False and (exhausted := self.exhausted) is not None:",
        "tests/store/test_budget.py",
    ),
    (
        "service/people/commitment.py",
        "LAPSE_MINUTES = 14 * MINUTES_PER_DAY",
        "LAPSE_MINUTES = 40 * MINUTES_PER_DAY",
        "tests/api/test_commitments.py",
    ),
)


def caught(file: str, text: str, becomes: str, tests: str) -> bool:
    """Whether the tests fail for the mutation; the file is as it was afterwards.

    Raises:
        ValueError: the text does not stand in the file once.
    """
    path = ROOT / file
    before = path.read_text("utf-8")
    if before.count(text) != 1:
        raise ValueError(f"{file}: {text!r} stands there {before.count(text)} times")
    path.write_text(before.replace(text, becomes), "utf-8")
    try:
        run = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", "not server", *tests.split()]
        return subprocess.run(run, cwd=ROOT, capture_output=True, check=False).returncode == 1
    finally:
        path.write_text(before, "utf-8")


if __name__ == "__main__":
    escaped = 0
    asked = [int(number) for number in sys.argv[1:]] or range(1, len(MUTATIONS) + 1)
    for number in asked:
        mutation = MUTATIONS[number - 1]
        is_caught = caught(*mutation)
        escaped += not is_caught
        print(f"{number:2} {'caught' if is_caught else 'ESCAPED'}  {mutation[0]}: {mutation[2].strip()}", flush=True)
    sys.exit(escaped > 0)
