"""What passes do to the programs of one run, and how long they take: for ``rabbet passes --profile``."""

import time
from contextlib import contextmanager
from dataclasses import dataclass

from rabbet.extend.passes import set_watch


@dataclass
class Totals:
    """What one pass did: on how many programs, their equations before and after, and the time it took."""

    programs: int = 0
    before: int = 0
    after: int = 0
    seconds: float = 0.0


@contextmanager
def profiled():
    """Time every pass within the block; yields a dict from the names of passes to their ``Totals``.

    Equations are counted without those in bodies.
    """
    totals: dict[str, Totals] = {}

    def watch(one, jaxpr, context):
        started = time.perf_counter()
        result = one.run(jaxpr, context)
        entry = totals.setdefault(one.name, Totals())
        entry.seconds += time.perf_counter() - started
        entry.programs += 1
        entry.before += len(jaxpr.equations)
        entry.after += len(getattr(result, "equations", ()))
        return result

    previous = set_watch(watch)
    try:
        yield totals
    finally:
        set_watch(previous)
