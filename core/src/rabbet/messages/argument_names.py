"""How messages name what a user passed or returned: the parameter, and the path within it.

Nothing here runs unless something is wrong.
"""

import inspect

from rabbet import tree
from rabbet.errors import UnexpectedTracerError
from rabbet.tree_util import keystr

BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameter_name(fun, position):
    """The quoted name of the parameter at ``position``, or the position where the function does not tell."""
    try:
        names = [p.name for p in inspect.signature(fun).parameters.values() if p.kind in BY_POSITION]
    except (TypeError, ValueError):
        names = []
    return repr(names[position]) if position < len(names) else str(position)


def argument_name(fun, path, positions=None):
    """``argument 'params'['w']`` for the path of a leaf in ``(args, kwargs)``.

    Args:
      fun: the function that was called.
      path: a key path.
      positions: where the positional arguments stand among the function's own, if some were taken out.
    """
    group, which, *rest = path
    if group.idx == 1:
        return f"keyword argument {which.key!r}{keystr(tuple(rest))}"
    position = which.idx if positions is None else positions[which.idx]
    return f"argument {parameter_name(fun, position)}{keystr(tuple(rest))}"


def leaf_path(structure, index):
    """The key path of leaf number ``index`` of a pytree of this structure."""
    path, _ = tree.leaves_with_path(tree.unflatten(structure, list(range(structure.num_leaves))))[index]
    return path


def converted(convert, leaves, refusal):
    """``convert`` of every leaf; of the first one that ``convert`` refuses with a ``TypeError``,
    ``refusal(index, leaf)`` is the text.
    """
    try:
        return [convert(x) for x in leaves]
    except UnexpectedTracerError:
        raise
    except TypeError:
        for i, x in enumerate(leaves):
            if not _accepted(convert, x):
                raise TypeError(refusal(i, x)) from None
        raise


def _accepted(convert, x):
    try:
        convert(x)
    except TypeError:
        return False
    return True


def shown(x):
    """``str ('fast')``: the type and the beginning of the text of a value."""
    text = repr(x)
    return f"{type(x).__name__} ({text if len(text) <= 40 else text[:37] + '...'})"


__all__ = ["BY_POSITION", "argument_name", "converted", "leaf_path", "parameter_name", "shown"]
