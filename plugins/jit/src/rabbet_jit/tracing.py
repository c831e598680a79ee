"""From a call of a Python function to its program: arguments taken apart, the function traced once per signature."""

from typing import NamedTuple

from rabbet import tree
from rabbet.extend import (
    ClosedJaxpr, ShapeDtypeStruct, UnexpectedTracerError, describe_function, is_tracer, stage, typeof,
)  # fmt: skip
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
        for i, x in enumerate(outs):
            _check_output(x, fun, result, i)
        return outs

    flat.__name__ = name
    flat.__qualname__ = getattr(fun, "__qualname__", name)
    flat.__wrapped__ = fun
    closed = stage(flat, avals, name)
    return Program(closed, out_tree, name, any(is_tracer(c) for c in closed.consts))


def _check_output(x, fun, result, index):
    try:
        typeof(x)
    except TypeError:
        path, _ = tree.leaves_with_path(result)[index]
        where = f" at {keystr(path)}" if path else ""
        raise TypeError(
            f"{describe_function(fun)} must return arrays (or a pytree of them) to be compiled, it returned a leaf of type "
            f"{type(x).__name__}{where}: {x!r:.60}"
        ) from None


def arguments(signature, convert):
    """The argument leaves of a call, converted; a clear refusal of what is no array."""
    try:
        return [convert(x) for x in signature.leaves]
    except UnexpectedTracerError:
        raise
    except TypeError:
        for i, x in enumerate(signature.leaves):
            if not _is_array(x, convert):
                raise TypeError(
                    f"jit of {describe_function(signature.fun)}: argument {signature.name_of(i)} is not an array: got "
                    f"{type(x).__name__} ({x!r:.40}). Arguments are arrays, numbers or pytrees of them; mark others as static "
                    f"(static_argnums or static_argnames)"
                ) from None
        raise


def _is_array(x, convert):
    try:
        convert(x)
    except TypeError:
        return False
    return True


def leaf_aval(x):
    """The type of an argument leaf."""
    return x.aval if type(x) is ShapeDtypeStruct else typeof(x)
