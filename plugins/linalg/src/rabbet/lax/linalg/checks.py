"""Checks that shape rules share, with messages that say what was given and what is needed."""

from rabbet import dtypes

WORDS = {"i": "signed integer", "u": "unsigned integer", "f": "floating", "c": "complex"}
FLOATS = "f"
INEXACT = "fc"
INTEGERS = "iu"


def accept(name, kinds, *avals):
    """Refuse avals whose dtype kind is not among ``kinds``, letters of ``WORDS``."""
    for aval in avals:
        if dtypes.kind(aval.dtype) not in kinds:
            wanted = " or ".join(WORDS[k] for k in kinds)
            raise TypeError(f"{name} takes {wanted} arrays, got {aval.str_short()}")


def same_dtype(name, *avals):
    """Refuse avals of different dtypes."""
    if any(aval.dtype != avals[0].dtype for aval in avals):
        shown = ", ".join(a.str_short() for a in avals)
        raise TypeError(f"{name} takes arrays of one dtype, got {shown}; convert one of them with astype")
