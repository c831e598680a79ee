"""Shapes as texts in artifacts."""

from rabbet.export.flatbuffer_reader import Damaged
from rabbet.export.symbolic.reading import dimension
from rabbet.export.symbolic.scopes import SymbolicScope

MOST = 2**63 - 1
LONGEST = 10_000


def dimension_names(shape):
    """A text for each dimension."""
    return [str(d) for d in shape]


def parsed_shapes(shapes):
    """Shapes of texts as tuples of dimensions, of one scope."""
    scope = SymbolicScope()
    return [tuple([parsed(name, scope) for name in shape]) for shape in shapes]


def parsed(name, scope):
    """A dimension."""
    if name.isascii() and name.isdigit():
        if len(name) <= 19 and int(name) <= MOST:
            return int(name)
        raise Damaged(f"{name:.30} is not a dimension")
    if len(name) > LONGEST or name.count("^") > 20 or any(len(part) > 3 for part in name.split("^")[1:]):
        raise Damaged(f"{name:.30} is not a dimension")
    try:
        found = dimension(name, scope)
    except (ValueError, TypeError, ZeroDivisionError, RecursionError):
        raise Damaged(f"{name!r} is not a dimension") from None
    if isinstance(found, int) and not 0 <= found <= MOST:
        raise Damaged(f"{name!r} is not a dimension")
    return found


__all__ = ["dimension_names", "parsed_shapes"]
