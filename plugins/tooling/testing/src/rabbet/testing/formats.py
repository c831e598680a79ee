"""What must hold of a dtype with an ``encode`` and a ``decode`` of its own."""

import numpy as np

from rabbet import dtypes
from rabbet.testing.laws import LawError

MOST_CODES = 1 << 16


def check_format(spec):
    """Every number of the format is encoded as itself, and what lies between two is rounded as the row says.

    Raises:
      LawError: names the codes and the numbers.

    Example:
      >>> from rabbet.testing.formats import check_format
      >>> check_format(rb.dtypes.spec("float32"))  # which has none of its own
    """
    if spec.encode is None:
        return
    bits = 8 * np.dtype(spec.codes).itemsize
    rng = np.random.default_rng(0)
    whole = np.arange(2**bits, dtype=np.uint64) if 2**bits <= MOST_CODES else None
    codes = rng.integers(0, 2**bits, MOST_CODES, np.uint64) if whole is None else whole
    elements = codes.astype(f"uint{bits}").view(spec.dtype)
    numbers = dtypes.host_cast(elements, np.dtype("float64"))
    again = dtypes.host_cast(dtypes.host_cast(numbers, spec.dtype), np.dtype("float64"))
    same = (again == numbers) | (np.isnan(again) & np.isnan(numbers))
    if not same.all():
        at = int(np.argmin(same))
        raise LawError(
            f"{spec.name}: decode makes {numbers[at]} of the code {codes[at]:#x}, and encode and decode make "
            f"{again[at]} of that number"
        )
    if whole is not None:
        finite = np.isfinite(numbers)
        values, first = np.unique(numbers[finite], return_index=True)
        check_rounding(spec, values, whole[finite][first])


def check_rounding(spec, values, places):
    """Numbers between neighbours go where ``rounding`` says.

    Args:
      values: all finite numbers of the format, sorted.
      places: their codes, as unsigned numbers.
    """
    if spec.rounding == "other":
        return
    low, high = values[:-1], values[1:]
    middle = (low + high) / 2
    tried = {"below": (low + middle) / 2, "middle": middle, "above": (middle + high) / 2}
    wide = np.dtype(spec.compute)
    for name, x in tried.items():
        exact = (x.astype(wide).astype(np.float64) == x) & (low != 0) & (high != 0)
        got = dtypes.host_cast(dtypes.host_cast(x, spec.dtype), np.dtype("float64"))
        wanted = rounded(spec.rounding, name, low, high, places)
        wrong = exact & (got != wanted)
        if spec.rounding == "nearest" and name == "middle":
            wrong = exact & (got != low) & (got != high)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise LawError(
                f"{spec.name} says rounding={spec.rounding!r}: {x[at]} lies between {low[at]} and "
                f"{high[at]} and becomes {got[at]}, not {wanted[at]}\n"
                "  to fix: the row's encode; or say rounding='other' of a format that rounds in a way of its "
                "own, as posits do"
            )


def rounded(rounding, name, low, high, places):
    """Where numbers between neighbours go."""
    if rounding == "down":
        return low
    if rounding == "toward-zero":
        return np.where(low < 0, high, low)
    if name != "middle":
        return low if name == "below" else high
    return np.where(places[:-1] % 2 == 0, low, high)


__all__ = ["check_format"]
