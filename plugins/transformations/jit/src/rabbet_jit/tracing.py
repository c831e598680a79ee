"""From a call of a Python function to its program: arguments taken apart, the function traced once per
signature.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rabbet import Array, ShapeDtypeStruct, config, dtypes, tree
from rabbet.errors import NestingError
from rabbet.extend.cells import Cell
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    named_like,
)
from rabbet.extend.passes import ClosedJaxpr, stage
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.sharding import Sharding
from rabbet.extend.transform import is_tracer, typeof
from rabbet.tree import keystr, leaf_path

from rabbet_jit import scalar_constants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet_jit.signature import Signature


class Program(NamedTuple):
    """A traced function: its program, the structure of its result, and what it has to do with cells: the
    places of those argument leaves that are written to, and what it uses of cells from outside.
    """

    closed: ClosedJaxpr
    out_tree: object
    name: str
    captures_tracers: bool
    written: tuple = ()
    cells: tuple = ()


def trace(fun: Callable[..., Any], signature: Any, avals: Sequence[ShapedArray], name: Any) -> Any:
    """Trace ``fun`` for the arguments of a signature, whose array leaves have the given types."""
    if config.no_tracing:
        types = ", ".join([a.str_short() for a in avals])
        raise RuntimeError(
            f"{describe_function(fun)} would be traced for ({types}), which config.no_tracing forbids"
        )
    out_tree, written, touched = None, (), []

    def flat(*tracers: Any) -> Any:
        nonlocal out_tree, written
        leaves = list(tracers)
        for i in signature.cells:
            leaves[i] = signature.leaves[i].within(tracers[i])
        args, kwargs = signature.rebuild(leaves)
        result = fun(*args, **kwargs)
        outs, out_tree = tree.flatten(result)
        convert_leaves(typeof, outs, lambda i, x: _no_result(fun, out_tree, i, x))
        written = tuple([i for i in signature.cells if leaves[i].content is not tracers[i]])
        return [*outs, *[leaves[i].content for i in written]]

    flat.__name__ = name
    named_like(flat, fun, signature.name_of, may_be_static=True)
    jaxpr, consts = _depth.nested(fun, stage, flat, avals, name, touched)
    inside = scalar_constants.made_inside(consts)
    # A captured NumPy array is what it was when the function was traced, whatever is written to it later; and
    # the program keeps a captured array whatever becomes of the user's.
    # What stands for an array, as a result, is enough for the types of the results.
    closed = ClosedJaxpr(
        jaxpr, [c if type(c) is ShapeDtypeStruct else array_or_tracer(c, captured=True) for c in consts]
    )
    scalar_constants.remember(closed.consts, inside)
    return Program(closed, out_tree, name, any(is_tracer(c) for c in consts), written, tuple(touched))


class Depth(threading.local):
    """How many functions are being traced inside each other in a thread."""

    now = deepest = 0

    def nested(self, fun: Callable[..., Any], function: Callable[..., Any], *args: Any) -> ClosedJaxpr:
        """``function(*args)``, one level deeper.

        Raises:
          NestingError: instead of a ``RecursionError`` where many functions are traced inside each other.
        """
        self.deepest = self.now = self.now + 1
        try:
            return function(*args)
        except RecursionError:
            if self.now > 1 or self.deepest < MANY_LEVELS:
                raise
        finally:
            self.now -= 1
        raise NestingError(
            f"jit of {describe_function(fun)}: {self.deepest} jitted functions were called inside each other "
            f"when Python's stack was full, at a recursion limit of {sys.getrecursionlimit()}\n"
            "  to fix: call the plain function inside (one jit around the whole is enough), or raise "
            "sys.setrecursionlimit"
        )


_depth = Depth()
# With fewer functions inside each other it is the user's own recursion that is too deep.
MANY_LEVELS = 20


def _no_result(fun: Callable[..., Any], out_tree: Any, index: int, x: str) -> Any:
    path = leaf_path(out_tree, index)
    return (
        f"{describe_function(fun)} must return arrays (or a pytree of them) to be compiled, it returned a "
        f"leaf{f' at {keystr(path)}' if path else ''} of type {describe_value(x)}"
    )


def arguments(signature: Signature, convert: Callable[..., Any]) -> Any:
    """The argument leaves of a call, converted; a clear refusal of what is not an array."""

    def refusal(index: Any, x: Any) -> Any:
        return (
            f"jit of {describe_function(signature.fun)}: {signature.name_of(index)} is not an array: got "
            f"{describe_value(x)}. Arguments are arrays, numbers or pytrees of them; mark others as static "
            "(static_argnums or static_argnames)"
        )

    return convert_leaves(convert, signature.leaves, refusal)


def leaf_aval(x: Any) -> ShapedArray:
    """The type of an argument leaf: of an array, or of what has a shape and a dtype."""
    if type(x) is ShapedArray:
        return x
    if isinstance(x, Cell):
        return x.type
    if not isinstance(x, Array) and not isinstance(x, np.generic | np.ndarray):
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if isinstance(shape, (tuple, list)) and dtype is not None:
            aval = ShapedArray(tuple(shape), dtypes.canonicalize(dtype), bool(getattr(x, "weak_type", False)))
            sharding: Any = getattr(x, "sharding", None)
            if hasattr(type(sharding), "__sharding__"):  # as a spec, which stands for one on the mesh set
                sharding = sharding.__sharding__("ShapeDtypeStruct: sharding")
            return sharding.typed(aval) if isinstance(sharding, Sharding) else aval
    return typeof(x)
