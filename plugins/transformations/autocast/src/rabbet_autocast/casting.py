"""The transformation: products of float32 arrays take their operands in a smaller dtype.

Payloads are the values themselves, and every operation is the interpreter's own (``threads``, with a state
that is empty). Since no type changes, loops, branches and the derivative rules of functions fit as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import dtypes, lax, tree
from rabbet.extend.functions import array_or_tracer, convert_leaves, describe_function, describe_value, folded
from rabbet.extend.primitive import dot_general
from rabbet.extend.transform import Interpreter, RuleTable, run_traced, typeof
from rabbet.extend.wrapping import wraps

if TYPE_CHECKING:
    from rabbet.typing import DTypeLike

rules = RuleTable("autocast", doc="(op, *values) -> value, of the same type as op(*values)")
WIDE = np.dtype("float32")
_dtype: ContextVar[Any] = ContextVar("rabbet_autocast_dtype")


@rules.otherwise(before_decompositions=True)
def as_it_is(op: Any, *values: Any) -> Any:
    """Everything that is not a product."""
    return op(*values)


def lowered(x: Any) -> Any:
    """An operand as it goes into a product within ``autocast``: a float32 array in the smaller dtype.

    Example:
      >>> from rabbet_autocast import lowered
      >>> import rabbet.numpy as rnp
      >>> from rabbet.extend.primitive import Primitive
      >>> doubled = Primitive("doubled", lambda x: x)
      >>> _ = doubled.decompose(lambda op, x: x + x)
      >>> @doubled.rule("autocast")
      ... def doubled_small(op, x):
      ...     return op(lowered(x)).astype(x.dtype)
      >>> rb.autocast(doubled)(rnp.float32([1.001])).tolist()
      [2.0]
    """
    wide = typeof(x).dtype == WIDE
    return lax.convert_element_type(x, _dtype.get()) if wide else x


@rules.primitive(dot_general)
def product(op: Any, x: Any, y: Any) -> Any:
    """A product of float32 arrays: rounded operands, sums and result in float32."""
    if typeof(x).dtype != WIDE or typeof(y).dtype != WIDE:
        return op(x, y)
    wanted = op.params.get("preferred_element_type")
    if wanted is not None and np.dtype(wanted) != WIDE:
        return op(x, y)
    params = {**op.params, "precision": None, "preferred_element_type": WIDE}
    return op.primitive(lowered(x), lowered(y), **params)


class Autocast(Interpreter):
    """Payload: the value itself."""

    table = rules
    threads = carries = True
    concerns_only_its_own = False

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.state = dtype, ()

    def key(self) -> Any:
        return Autocast, self.dtype

    def lift(self, value: Any) -> Any:
        return value

    def type_of(self, value: Any) -> Any:
        return typeof(value)

    def wrap(self, value: Any) -> Any:
        return value

    def process(self, op: Any, args: Any) -> Any:
        token = _dtype.set(self.dtype)
        try:
            return super().process(op, args)
        finally:
            _dtype.reset(token)

    def join_state(self, a: Any, b: Any) -> Any:
        return a

    def force_state(self, state: Any, like: Any) -> Any:
        return state

    def state_of_parts(self, before: Any, states: Any) -> Any:
        return before

    def describe(self) -> str:
        return f"autocast to {dtypes.spec(self.dtype).name}" + super().describe().removeprefix("Autocast")


@folded
def autocast(
    fun: Callable[..., Any] | None = None, *, dtype: DTypeLike | None = "bfloat16"
) -> Callable[..., Any]:
    """``fun`` with its matrix products and convolutions of float32 arrays in a smaller dtype.

    Args:
      fun: takes and returns pytrees of arrays. Without it, a decorator: ``@rb.autocast(dtype="float16")``.
      dtype: the dtype to which operands of products are rounded, ``"bfloat16"``, ``"float16"`` or another of
        fewer bits than float32. Sums and results stay in float32, so that no type in the function changes.

    Returns:
      a function of the same arguments. Under ``grad`` the products of the derivative are rounded too, and
      functions with derivative rules of their own keep these.

    Raises:
      TypeError: for a dtype that is not a float of fewer bits.

    Example:
      >>> import rabbet.numpy as rnp
      >>> f = rb.autocast(lambda w, x: x @ w)
      >>> f(rnp.float32([[1.0]]), rnp.float32([[1.001]])).tolist()
      [[1.0]]
    """
    small = dtypes.canonicalize(dtype)
    if dtypes.kind(small) != "f" or dtypes.itemsize_bits(small) >= 32:
        raise TypeError(
            "autocast: dtype is a float of fewer bits than float32, as 'bfloat16', got "
            f"{dtypes.short_name(small)}"
        )
    if fun is None:
        return lambda fun: autocast(fun, dtype=dtype)
    if not callable(fun):
        raise TypeError(f"autocast takes a function, got {describe_value(fun)}")
    function = fun

    @wraps(function, doc="``{}`` with its products in a smaller dtype.")
    def cast(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = tree.flatten((args, kwargs))
        whose = f"autocast of {describe_function(function)}"
        leaves = convert_leaves(
            array_or_tracer, leaves, lambda i, x: f"{whose}: argument leaf {i} is {describe_value(x)}"
        )

        def on_leaves() -> Any:
            given, named = tree.unflatten(treedef, leaves)
            return function(*given, **named)

        interpreter = Autocast(small)
        interpreter.fn = function
        return run_traced(interpreter, on_leaves, [])

    return folded(cast)


__all__ = ["Autocast", "autocast", "lowered", "rules"]
