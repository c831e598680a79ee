"""Shapes as texts in artifacts."""

from rabbet.export.flat import Damaged

MOST = 2**63 - 1


def dimension_names(shape):
    """A text for each dimension."""
    return [str(d) for d in shape]


def parsed_shapes(shapes):
    """Shapes of texts as tuples of dimensions."""
    return [tuple([parsed(name) for name in shape]) for shape in shapes]


def parsed(name):
    """A dimension."""
    if name.isascii() and name.isdigit() and int(name) <= MOST:
        return int(name)
    raise Damaged(f"{name!r} is no dimension")


__all__ = ["dimension_names", "parsed_shapes"]
