"""Owns how the outcome of tests is told: a table on the terminal, with each line that failed and why; JUnit's XML."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.public.errors import usable
from service.public.files import clipped
from service.public.models import Fault
from service.public.words import Language, sentence
from studio.terminal.show import one_line
from studio.testing.play import CastOutcome, Run

_CAST = "cast"
"""The suite of the pass over the whole cast."""
_LONGEST = 160
"""Characters that are shown of a line."""


def show(outcome: CastOutcome, language: Language, console: Console) -> None:
    """Tell it to who reads that language."""
    table = Table(box=None, pad_edge=False)
    for column in ("file", "test", "person", "result"):
        table.add_column(sentence(language, f"testing.columns.{column}"), overflow="fold")
    cast = _result(language, None if outcome.cast.unjudged else outcome.cast.holds)
    table.add_row("", sentence(language, "testing.cast"), "", cast)
    for one in outcome.tested:
        case, result = one.case, _result(language, one.passed)
        if len(one.runs) > 1:
            result.append(f" {one.held}/{len(one.runs)}")
        table.add_row(case.file, Text(one_line(case.name)), case.npc_id, result)
    console.print(table)
    for failure in outcome.cast.failures:
        console.print(Text(told(failure, language)), soft_wrap=True)
    for one in outcome.tested:
        for run in () if one.passed else one.runs:
            for failure in run.failures:
                where = f"{one.case.file}: {one_line(one.case.name)} ({one.case.npc_id})"
                console.print(Text(f"{where}: {told(failure, language)}"), soft_wrap=True)
    for line in _summary(outcome, language):
        console.print(Text(line), soft_wrap=True)


def told(failure: Fault, language: Language) -> str:
    """What is wrong, where, and the words."""
    what = sentence(language, f"testing.found.{failure.check}", about=clipped(one_line(failure.about), _LONGEST))
    where = "" if failure.number is None else sentence(language, "testing.answer", number=failure.number + 1)
    said = (
        sentence(language, "testing.quote", quote=clipped(one_line(failure.quote), _LONGEST)) if failure.quote else ""
    )
    return "".join((where, what, said))


def write_junit(outcome: CastOutcome, file: Path, language: Language) -> None:
    """Write it as JUnit does.

    Raises:
        FileUnusable: it cannot be written.
    """
    root = ElementTree.Element("testsuites", name="kataribe test")
    cast = _suite(root, _CAST, tests=1, failures=not outcome.cast.holds)
    case = ElementTree.SubElement(cast, "testcase", classname=_CAST, name=sentence(language, "testing.cast"))
    if outcome.cast.unjudged:
        ElementTree.SubElement(case, "skipped", message=sentence(language, "testing.results.unjudged"))
    _fail(case, _CAST, [told(one, language) for one in outcome.cast.failures])
    for name, group in groupby(outcome.tested, key=lambda one: one.case.file):
        tested = list(group)
        suite = _suite(root, name, tests=len(tested), failures=sum(not one.passed for one in tested))
        for one in tested:
            classname = f"{Path(name).stem}.{one.case.npc_id}"
            element = ElementTree.SubElement(suite, "testcase", classname=classname, name=one_line(one.case.name))
            found = [failure for run in one.runs for failure in run.failures]
            if not one.passed:
                _fail(element, found[0].check, [told(failure, language) for failure in found])
    tree = ElementTree.ElementTree(root)
    ElementTree.indent(tree)
    with usable(file):
        tree.write(file, encoding="utf-8", xml_declaration=True)


def _suite(root: ElementTree.Element, name: str, *, tests: int, failures: int) -> ElementTree.Element:
    return ElementTree.SubElement(root, "testsuite", name=name, tests=f"{tests}", failures=f"{int(failures)}")


def _fail(case: ElementTree.Element, kind: str, lines: list[str]) -> None:
    if lines:
        failure = ElementTree.SubElement(case, "failure", type=kind, message=one_line(lines[0]))
        failure.text = "\n".join(map(one_line, lines))


def _result(language: Language, passed: bool | None) -> Text:
    """None: nobody has judged it."""
    key, style = {True: ("passed", "green"), False: ("failed", "bold red"), None: ("unjudged", "yellow")}[passed]
    return Text(sentence(language, f"testing.results.{key}"), style=style)


def _summary(outcome: CastOutcome, language: Language) -> Iterator[str]:
    counts = Counter(one.passed for one in outcome.tested)
    counts.update([] if outcome.cast.unjudged else [outcome.cast.holds])
    runs: list[Run] = [run for one in outcome.tested for run in one.runs]
    yield sentence(
        language,
        "testing.summary",
        passed=counts[True],
        failed=counts[False],
        talks=len(runs),
        calls=sum(run.calls for run in runs),
        judged=sum(run.judge_calls for run in (outcome.cast, *runs)),
    )
    if outcome.rehearsal:
        yield sentence(language, "testing.rehearsal")
    if unjudged := sum(run.unjudged for run in (outcome.cast, *runs)):
        yield sentence(language, "testing.unjudged", count=unjudged)
