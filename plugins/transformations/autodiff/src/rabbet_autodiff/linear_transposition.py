"""``linear_transpose``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, tree
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof

from rabbet_autodiff import checks, modes
from rabbet_autodiff.functions import Flat, given_back
from rabbet_autodiff.pullback import Closed

if TYPE_CHECKING:
    from rabbet.typing import Value

    from rabbet_autodiff.modes import Recording


@folded
def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Callable[..., Any]:
    """The transpose of a linear function.

    Args:
      fun: linear in all its arguments.
      primals: arrays or what has a shape and a dtype, for their types only.

    Returns:
      a function from a cotangent like the output to a tuple of cotangents, one for each argument. It is a
      pytree of the values that ``fun`` closes over, so a compiled function may return and take it.

    Raises:
      MissingRule: if ``fun`` uses an operation that is not linear.

    Example:
      >>> rb.linear_transpose(lambda x: 3.0 * x, rb.ShapeDtypeStruct((), "float32"))(2.0)
      (Array(6., dtype=float32),)
    """
    checks.no_reduce_axes("linear_transpose", reduce_axes)
    leaves, treedef = tree.flatten(primals)
    avals = [abstract(x) for x in leaves]
    flat = Flat(fun, treedef)
    recording, outs = modes.transposed(flat, [aval.strong() for aval in avals])
    return Transpose(fun, recording, flat.out_tree, treedef, [typeof(o) for o in outs], avals)


class Transpose:
    """What ``linear_transpose`` returns. It is a pytree of the values that the function closes over."""

    def __init__(
        self,
        fun: Callable[..., Any],
        recording: Recording,
        out_tree: Any,
        in_tree: Any,
        out_avals: list[ShapedArray],
        in_avals: list[ShapedArray],
    ) -> None:
        self.kept = fun, out_tree, in_tree, out_avals, in_avals
        self.recording = recording
        self.parts: tuple[Any, Any] | None = None

    @folded
    def __call__(self, cotangent: Value) -> tuple[Value, ...]:
        fun, out_tree, in_tree, out_avals, in_avals = self.kept
        leaves, ct_tree = tree.flatten(cotangent)
        checks.same_structure("linear_transpose", fun, ct_tree, out_tree, ("the cotangent", "the output"))
        leaves = [array_or_tracer(ct) for ct in leaves]
        types = [typeof(c) for c in leaves], [a.cotangent for a in out_avals]
        checks.same_types("linear_transpose", fun, *types, checks.cotangent_name(out_tree))
        results = self.recording.pull(leaves)
        return tree.unflatten(in_tree, [given_back(g, a) for g, a in zip(results, in_avals, strict=True)])

    def flatten(self) -> Any:
        """The values that the function closes over, and everything else."""
        if self.parts is None:
            program, values = self.recording.program()
            self.parts = values, Closed(self.recording._replace(equations=[]), program, self.kept)
        return self.parts

    @classmethod
    def unflatten(cls, static: Any, values: Any) -> Any:
        """The transpose with other values in the places of those that were closed over."""
        fun, out_tree, in_tree, out_avals, in_avals = static.kept
        recording = static.recording.with_values(static.program, values)
        made = cls(fun, recording, out_tree, in_tree, out_avals, in_avals)
        made.parts = list(values), static
        return made


tree.register_node(Transpose, Transpose.flatten, Transpose.unflatten)


def abstract(x: Any) -> ShapedArray:
    """The type of an array, or of what has a shape and a dtype."""
    if type(x) is ShapedArray:
        return x
    shape = getattr(x, "shape", None)
    if isinstance(shape, (tuple, list)) and not hasattr(x, "aval") and hasattr(x, "dtype"):
        return ShapedArray(tuple(shape), dtypes.canonicalize(x.dtype))
    return typeof(x)


__all__ = ["linear_transpose"]
