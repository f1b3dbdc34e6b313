"""Owns how the command begins: while everything is imported, Python's garbage collector rests."""

import gc


def main() -> None:
    """The command ``kataribe``. What is imported stays to the end; to look through it again and again while it grows
    was a quarter of the wait. `command_named` lets the collector work, when the command's file is imported.
    """
    gc.disable()
    from studio.cli.main import main as command

    command()
