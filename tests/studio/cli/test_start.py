"""The command begins without a pause for Python's garbage collector, which works from then on."""

import subprocess
import sys

PROGRAM = """
import atexit, gc, sys

from studio.cli.start import main

full = gc.get_stats()[2]["collections"]
sys.argv = ["kataribe", "--help"]
atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 100_000, gc.get_stats()[2]["collections"] - full))
main()
"""


def test_nothing_is_collected_while_it_is_imported_and_all_is_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "True True 0"
