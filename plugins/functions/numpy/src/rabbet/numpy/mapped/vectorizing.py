"""Functions of single elements or lines, applied to whole arrays: ``vectorize``, ``apply_along_axis`` and
their relatives. Each is the function under ``vmap``, so it is traced once, not called for every element.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rabbet as rb
from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import folded, is_array_like
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.wrapping import rank_promotion
from rabbet.numpy.creation.conversion import array
from rabbet.numpy.creation.new_arrays import arange
from rabbet.numpy.elementwise.selection_and_rounding import choose_by
from rabbet.numpy.reductions.reducing import converted
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import as_array, axis_of, check, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DTypeLike, Value

NAME = r"\w+"
GROUP = rf"\(\s*(?:{NAME}(?:\s*,\s*{NAME})*)?\s*\)"
GROUPS = rf"\s*{GROUP}(?:\s*,\s*{GROUP})*\s*"
SIGNATURE = re.compile(rf"^({GROUPS})->({GROUPS})$")


def parse_signature(signature: str) -> list[list[tuple[Any, ...]]]:
    """The core dimensions of inputs and outputs in ``"(n,m),(m)->(n)"``: two lists of tuples of names.

    Raises:
      ValueError: if it is no such signature.
    """
    found = SIGNATURE.match(signature)
    if found is None:
        raise ValueError(
            f"vectorize: {signature!r} is not a signature of core dimensions, such as '(n,m),(m)->(n)'"
        )
    return [
        [tuple(re.findall(NAME, group)) for group in re.findall(GROUP, side)] for side in found.groups()
    ]  # fmt: skip


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Any = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of whole arrays from one of single elements; of core dimensions, if it has a signature.

    Args:
      pyfunc: a function of arrays without dimensions, or of those that ``signature`` gives.
      excluded: positions (ints) and names (texts) of arguments that are passed as they are. Arguments given
        by name are not mapped over in any case.
      signature: the core dimensions of positional arguments and results, ``"(m,n),(n)->(m)"``; None: inputs
        without dimensions and results as they come.

    Returns:
      a function whose array arguments broadcast: all dimensions before the core dimensions are mapped over.

    Raises:
      TypeError: for ``excluded`` that holds anything but ints and texts.
      ValueError: for another signature, a negative position.

    Example:
      >>> dot = vectorize(lambda x, y: (x * y).sum(), signature="(n),(n)->()")
      >>> dot(ones((4, 3)), ones(3)).shape
      (4,)
    """
    excluded = frozenset(excluded)
    if any(not isinstance(e, (int, str)) or isinstance(e, bool) for e in excluded):
        raise TypeError(f"vectorize: excluded holds positions (ints) and names (texts), got {set(excluded)}")
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ShapeError(f"vectorize: positions in excluded must not be negative, got {set(excluded)}")
    parsed = None if signature is None else parse_signature(signature)

    def vectorized(*args: list[int] | Value, **kwargs: Any) -> tuple[Value, ...] | Value:
        kept = {i: x for i, x in enumerate(args) if i in excluded or x is None}
        missing = [i for i, x in enumerate(args) if x is None and i not in excluded]
        if parsed is not None and missing:
            raise ValueError(
                f"vectorize: argument {missing[0]} is None, where the signature {signature!r} names "
                f"an array; pass arguments on as they are by excluded={{{missing[0]}}}"
            )
        mapped = [x for i, x in enumerate(args) if i not in kept]

        def call(*values: Value) -> tuple[Value, ...] | Value:
            remaining = iter(values)
            return pyfunc(*[kept[i] if i in kept else next(remaining) for i in range(len(args))], **kwargs)

        arrays = [sequence_or_array("vectorize", x) for x in mapped]
        return mapped_over(call, arrays, without(parsed, kept), signature)

    return folded(functools.wraps(pyfunc, updated=())(vectorized))


def sequence_or_array(name: str, x: list[int] | Value) -> Value:
    """Nested sequences as an array; arrays and numbers as they are."""
    return array(x) if isinstance(x, (list, tuple, range)) else array_of(name, x)


def without(
    parsed: list[list[tuple[Any, ...]]] | None, kept: dict[Any, Any]
) -> tuple[list[tuple[Any, ...]], ...] | None:
    """Core dimensions without those of arguments that are not mapped over."""
    if parsed is None:
        return None
    inputs, outputs = parsed
    return [core for i, core in enumerate(inputs) if i not in kept], outputs


def mapped_over(
    call: Callable[..., Any],
    arrays: list[Value],
    parsed: tuple[list[tuple[Any, ...]], ...] | None,
    signature: str | None,
) -> tuple[Value, ...] | Value:
    """``call`` over all leading dimensions of the arrays, broadcast."""
    where = "" if signature is None else f" (signature {signature!r})"
    inputs, outputs = ([()] * len(arrays), None) if parsed is None else parsed
    if len(inputs) != len(arrays):
        raise TypeError(f"vectorize{where}: {len(inputs)} arguments expected, got {len(arrays)}")
    sizes = {}
    for x, core in zip(arrays, inputs, strict=True):
        core_sizes(sizes, core, x.aval, where)
    lead = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, inputs, strict=True)]
    shape = lax.broadcast_shapes(*lead) if lead else ()
    for x, own in zip(arrays, lead, strict=True):
        rank_promotion(x, own, shape)

    def checked(*values: Value) -> tuple[Value, ...] | Value:
        out = call(*values)
        return out if outputs is None else check_results(out, outputs, sizes, where)

    run = checked
    squeezed = []
    for x, own in zip(arrays, lead, strict=True):
        dims = [d for d, n in enumerate(own) if n == 1 and shape[len(shape) - len(own) + d] != 1]
        squeezed.append(lax.squeeze(x, dims))
    # From the last mapped dimension outwards; what an array does not have is passed on as it is.
    for d in reversed(range(len(shape))):
        axes = []
        for own in lead:
            at = d - (len(shape) - len(own))
            axes.append(0 if at >= 0 and (own[at] != 1 or shape[d] == 1) else None)
        run = rb.vmap(run, in_axes=tuple(axes))
    return run(*squeezed)


def core_sizes(sizes: dict[Any, Any], core: tuple[str, ...], aval: ShapedArray, where: str) -> None:
    """Note the sizes of core dimensions of one input, or of one result, and compare them."""
    if aval.ndim < len(core):
        raise ValueError(f"vectorize{where}: {aval.str_short()} lacks the core dimensions {core}")
    for name, size in zip(core, aval.shape[aval.ndim - len(core) :], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"vectorize{where}: the core dimension {name!r} has the sizes {sizes[name]} and {size}"
            )


def is_node_with_shape(x: Any) -> bool:
    """Whether ``x`` is a node of trees, of a class that has a shape and a dtype."""
    return hasattr(x, "shape") and hasattr(x, "dtype") and all(leaf is not x for leaf in rb.tree.leaves(x))


def check_results(
    out: tuple[Value, ...] | Value, outputs: list[tuple[Any, ...]], sizes: dict[Any, Any], where: str
) -> tuple[Value, ...] | Value:
    """Results compared with the signature."""
    if len(outputs) == 1:
        results: list | tuple = [out]
    elif isinstance(out, (tuple, list)) and len(out) == len(outputs):
        results = out
    else:
        raise TypeError(f"vectorize{where}: the function must return {len(outputs)} results, got {out!r:.60}")
    # A node of trees that has a shape is a result as it is.
    results = [x if is_node_with_shape(x) else as_array(x) for x in results]
    for x, core in zip(results, outputs, strict=True):
        aval = getattr(x, "aval", None)
        if aval is None:
            aval = ShapedArray(tuple(x.shape), rb.dtypes.canonicalize(x.dtype))
        if aval.ndim != len(core):
            raise ValueError(
                f"vectorize{where}: the result {aval.str_short()} should have the dimensions {core}"
            )
        core_sizes(sizes, core, aval, where)
    return results[0] if len(outputs) == 1 else tuple(results)


# ------------------------------------------------------------------------------------------- lines, axes
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Value, *args: Any, **kwargs: Any) -> Value:
    """A function of vectors, applied to all lines of ``arr`` along ``axis``.

    Args:
      func1d: from a vector, and further arguments, to an array.
      axis: an int.
      arr: an array.
      args, kwargs: further arguments, the same for all lines.

    Returns:
      an array with the dimensions of the function's result in the place of ``axis``.

    Example:
      >>> rnp.apply_along_axis(lambda row: row / row.sum(), 1, rnp.array([[1.0, 3.0], [2.0, 2.0]]))
      Array([[0.25, 0.75],
             [0.5 , 0.5 ]], dtype=float32)
    """
    arr = array_of("apply_along_axis", arr)
    axis = axis_of("apply_along_axis", axis, arr.ndim)
    run = lambda line: func1d(line, *args, **kwargs)
    for _ in range(axis + 1, arr.ndim):
        run = rb.vmap(run, in_axes=-1, out_axes=-1)  # the last of those that are left
    for _ in range(axis):
        run = rb.vmap(run)
    return run(arr)


def apply_over_axes(func: Callable[..., Any], a: Value, axes: int | Sequence[int]) -> Value:
    """A reduction applied over one axis after the other, the reduced dimensions kept with size 1.

    Args:
      func: ``func(a, axis)``; its result has the dimensions of ``a``, or one less.
      a: an array.
      axes: ints, or one.

    Raises:
      ValueError: for a result with other numbers of dimensions.

    Example:
      >>> rnp.apply_over_axes(rnp.sum, rnp.ones((2, 3, 4)), [0, 2]).shape
      (1, 3, 1)
    """
    check("apply_over_axes", a)
    out = as_array(a)
    ndim = out.ndim
    for axis in axes if isinstance(axes, (tuple, list, range)) else (axes,):
        axis = axis_of("apply_over_axes", axis, ndim)
        found = func(out, axis)
        if not is_array_like(found):
            raise ShapeError(
                f"apply_over_axes: the function must return an array, it returned a {type(found).__name__}"
            )
        if found.ndim == ndim - 1:
            found = lax.expand_dims(found, (axis,))
        if found.ndim != ndim:
            raise ShapeError(
                f"apply_over_axes: the function must keep the {ndim} dimensions or take one away, it "
                f"returned {found.aval.str_short()}"
            )
        out = found
    return out


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: DTypeLike | None = float, **kwargs: Any
) -> Value:
    """An array of the function's values at the coordinates of a grid.

    Args:
      function: takes one coordinate per dimension, arrays without dimensions.
      shape: an int or a tuple of ints.
      dtype: of the coordinates.
      kwargs: passed on to the function.

    Returns:
      its result with the dimensions ``shape`` in front.

    Example:
      >>> rnp.fromfunction(lambda i, j: 10 * i + j, (2, 3))
      Array([[ 0.,  1.,  2.],
             [10., 11., 12.]], dtype=float32)
    """
    shape = shape_of("fromfunction", shape)
    run = lambda *at: function(*at, **kwargs)
    for d in reversed(range(len(shape))):
        run = rb.vmap(run, in_axes=tuple([0 if i == d else None for i in range(len(shape))]))
    return run(*[arange(n, dtype=dtype) for n in shape])


def piecewise(x: Value, condlist: Value | Sequence[Value], funclist: Any, *args: Any, **kw: Any) -> Value:
    """A function given by pieces: at each element the function of the last condition that holds there.

    Args:
      x: an array.
      condlist: boolean arrays of its shape, one per piece, or an array of these.
      funclist: functions of arrays, called on all of ``x``, or numbers; one more than conditions gives what
        holds elsewhere, which is 0 without.
      args, kw: passed on to the functions.

    Returns:
      an array of the shape and dtype of ``x``.

    Raises:
      ValueError: if the lists do not fit together.

    Example:
      >>> x = rnp.array([-2.0, 0.5, 2.0])
      >>> rnp.piecewise(x, [x < 0, x > 1], [-1.0, 1.0, lambda x: x])
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = array(x) if isinstance(x, (list, tuple)) else array_of("piecewise", x)
    conditions = pieces_of(condlist, x)
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"piecewise: {len(conditions)} conditions need as many functions or one more, got "
            f"{len(functions)}"
        )
    values = [
        converted(function(x, *args, **kw) if callable(function) else as_array(function), x.dtype)
        for function in functions
    ]
    out = values.pop() if len(values) > len(conditions) else lax.full((), 0, x.dtype)
    out = lax.broadcast_in_dim(out, x.shape, tuple(range(x.ndim - out.ndim, x.ndim)))
    for condition, value in zip(conditions, values, strict=True):
        out = choose_by(condition, value, out)
    return out


def pieces_of(condlist: Any, x: Any) -> Any:
    """A list of boolean arrays from what ``piecewise`` takes."""
    if not isinstance(condlist, (list, tuple)):
        condlist = array_of("piecewise", condlist)
        if condlist.ndim == x.ndim:  # a single condition
            return [converted(condlist, dtypes.canonicalize(bool))]
        condlist = [condlist[i] for i in range(condlist.shape[0])]
    elif condlist and x.ndim and isinstance(condlist[0], (bool, int, float)):
        condlist = [array(list(condlist))]  # the elements of a single condition
    return [
        converted(array(c) if isinstance(c, (list, tuple)) else as_array(c), dtypes.canonicalize(bool))
        for c in condlist
    ]


__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "piecewise", "vectorize"]
