"""From a call of a Python function to its program: arguments taken apart, the function traced once per signature."""

from typing import NamedTuple

from rabbet import tree
from rabbet.extend import ClosedJaxpr, ShapeDtypeStruct, describe_function, is_tracer, stage, traceable, typeof
from rabbet.tree_util import keystr


class Program(NamedTuple):
    """A traced function: its program, the structure of its result, and the argument leaves that it was traced for."""

    closed: ClosedJaxpr
    out_tree: object
    name: str
    captures_tracers: bool


def trace(fun, leaves_to_args, avals, name):
    """Trace ``fun`` for arguments that ``leaves_to_args`` builds from tracers of the given types."""
    out_tree = None

    def flat(*tracers):
        nonlocal out_tree
        args, kwargs = leaves_to_args(tracers)
        result = fun(*args, **kwargs)
        outs, out_tree = tree.flatten(result)
        return [_output(x, fun, result) for x in outs]

    flat.__name__ = name
    flat.__wrapped__ = fun
    closed = stage(flat, avals, name)
    return Program(closed, out_tree, name, any(is_tracer(c) for c in closed.consts))


def _output(x, fun, result):
    try:
        return traceable(x)
    except TypeError:
        raise TypeError(
            f"{describe_function(fun)} must return arrays (or a pytree of them) to be compiled, it returned a leaf of type "
            f"{type(x).__name__}: {x!r:.60}"
        ) from None


def leaf_aval(x, fun, arguments, index):
    """The type of an argument leaf; a clear refusal of what is no array."""
    if type(x) is ShapeDtypeStruct:
        return x.aval
    try:
        return typeof(x)
    except TypeError:
        path, _ = tree.leaves_with_path(arguments)[index]
        kind, *rest = path
        where = keystr(tuple(rest))
        raise TypeError(
            f"jit of {describe_function(fun)}: argument {where} is not an array: got {type(x).__name__} ({x!r:.40}). "
            f"Arguments are arrays, numbers or pytrees of them; mark others as static (static_argnums or static_argnames)"
        ) from None
