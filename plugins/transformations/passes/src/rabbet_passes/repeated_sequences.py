"""Where a list repeats itself: stretches that are one block, several times in a row."""

from collections import Counter
from typing import NamedTuple

# A block is looked for by this many of its items in a row.
GRAM = 6
# Only the distances that occur most are tried as periods.
MOST_PERIODS = 16


class Repeat(NamedTuple):
    """``count`` equal blocks of ``period`` items from ``start`` on, with ``slack`` items more that continue
    the pattern: the blocks may begin up to ``slack`` items later.
    """

    start: int
    period: int
    count: int  # type: ignore[assignment]  # no one counts values in it
    slack: int

    @property
    def saved(self):
        """The items that need not be written again."""
        return (self.count - 1) * self.period

    @property
    def end(self):
        """Where its last block ends."""
        return self.start + self.count * self.period


def repeat(start, stop, period):
    """The repeat of ``period`` that lies in ``start .. stop``."""
    return Repeat(start, period, (stop - start) // period, (stop - start) % period)


def repeats(keys, shortest, fewest=2):
    """Stretches of ``keys`` that are a block repeated, the longest first; they do not overlap.

    Args:
      keys: a list of hashables; None equals nothing.
      shortest: the least number of items in a block.
      fewest: the least number of blocks.

    Time grows with the length of the list: positions of equal short stretches vote for their distance, and
    only the distances with most votes are compared item by item.
    """
    found = []
    for period in _likely_periods(keys, shortest):
        found += _stretches(keys, period, fewest)
    found.sort(key=lambda r: (-r.saved, r.period))
    taken = []
    for one in found:
        start, stop = one.start, one.end + one.slack
        for other in taken:  # what it shares with an earlier one it leaves to that
            if other.start <= start < other.end:
                start = other.end
            elif start < other.start < stop:
                stop = other.start
        if stop - start >= fewest * one.period:
            taken = [_ending_by(other, start) for other in taken]
            taken.append(repeat(start, stop, one.period))
    return taken


def _ending_by(one, start):
    """``one`` without the slack that reaches beyond ``start``, where a later repeat begins."""
    return one._replace(slack=start - one.end) if one.end <= start < one.end + one.slack else one


def _likely_periods(keys, shortest):
    last = {}
    votes = Counter()
    for i in range(len(keys) - GRAM + 1):
        gram = tuple(keys[i : i + GRAM])
        before = last.get(gram)
        if before is not None and i - before >= shortest:
            votes[i - before] += 1
        if before is None or i - before >= shortest:
            last[gram] = i
    return [period for period, n in votes.most_common(MOST_PERIODS) if n >= GRAM]


def _stretches(keys, period, fewest):
    """The maximal stretches in which every item equals the one ``period`` later."""
    found = []
    start = None
    for i in range(len(keys) - period + 1):
        equal = i < len(keys) - period and keys[i] is not None and keys[i] == keys[i + period]
        if equal and start is None:
            start = i
        elif not equal and start is not None:
            if i - start + period >= fewest * period:
                found.append(repeat(start, i + period, period))
            start = None
    return found
