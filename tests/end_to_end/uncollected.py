"""Owns that Python's garbage collector rests while what every copy of a process needs is imported (see `process`)."""

import gc

gc.disable()
