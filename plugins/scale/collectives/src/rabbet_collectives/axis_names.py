"""Which axes functions name, and how long they are."""

from rabbet.errors import UnboundAxisError
from rabbet.extend.transform import bound_axes

from rabbet_collectives.varying import MARKS


def names_of(axis_name, who):
    """The names with the sizes of their axes."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    try:
        different = set(names)
    except TypeError:
        raise TypeError(f"{who}: the name of an axis must be hashable, got {axis_name!r}") from None
    if len(different) != len(names):
        raise ValueError(f"{who}: an axis is named twice, got {axis_name!r}")
    return [(name, size_of(name, who)) for name in names]


def size_of(name, who):
    """The size of the axis of that name.

    Raises:
      UnboundAxisError: (a ``NameError``) no axis around has the name; ``who`` is asking.
    """
    for known, size in reversed(bound_axes()):
        if known == name:
            return size
    raise UnboundAxisError(
        f"{who}: no axis is called {name!r} here; {shown()}\n"
        f"  to fix: name the axis where the function is mapped, as in rb.vmap(f, axis_name={name!r})"
    )


def shown():
    """The bound axes in words."""
    named = [(name, size) for name, size in bound_axes() if not isinstance(name, MARKS)]
    if not named:
        return "no axis has a name here"
    return "the axes around are " + ", ".join([f"{name!r} (size {size})" for name, size in named])


def one_name(axis_name, who):
    """The name and size of the one axis that may be named."""
    if isinstance(axis_name, (tuple, list)) and len(axis_name) != 1:
        raise ValueError(f"{who} communicates along one axis, got the names {axis_name!r}")
    return names_of(axis_name, who)[0]


__all__ = ["names_of", "one_name", "shown", "size_of"]
