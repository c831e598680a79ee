"""The public function: arguments and pytrees around ``run``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import Array, dtypes, lax, tree
from rabbet.extend.cells import Cell, read, write
from rabbet.extend.functions import (
    argument_name,
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    folded,
    named_like,
)
from rabbet.extend.primitive import Batched
from rabbet.extend.transform import payload_of, run_traced, typeof
from rabbet.extend.wrapping import wraps
from rabbet.tree import broadcast_prefix, keystr, leaf_path, structure

from rabbet_vmap.interpreter import Vmap
from rabbet_vmap.named_in_axes import axes_by_name

if TYPE_CHECKING:
    from rabbet.typing import Value


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """Map a function over a leading (or any other) axis of its arguments, as if in a loop, in one program.

    Args:
      fun: takes and returns pytrees of arrays.
      in_axes: which axis of each argument to map: an int, None (the function gets the argument as it is), or
        a pytree of them whose structure is a prefix of the arguments' tuple; keyword arguments are then
        mapped along axis 0. Or a dict of such entries by the names of arguments, however they are passed;
        those that it does not name are mapped along axis 0.
      out_axes: where the mapped axis goes in each output; None for an output that does not depend on the
        mapped arguments.
      axis_name: a name by which collectives inside ``fun`` refer to the axis.
      axis_size: its size; needed only where no argument is mapped.
      spmd_axis_name: mesh axes that the axis is laid over.
      sum_match: an output that depends on the mapped arguments and whose entry in ``out_axes`` is None is
        summed over the mapped axis.

    Returns:
      a function of the same arguments with one more axis each.

    Raises:
      ValueError: if the axes do not fit the arguments; the message names the argument.

    Example:
      >>> matrix, vector = rnp.array([[1.0, 2.0], [3.0, 4.0]]), rnp.array([1.0, 10.0])
      >>> rb.vmap(rnp.dot, in_axes=(0, None))(matrix, vector)
      Array([21., 43.], dtype=float32)
      >>> rb.vmap(lambda x, *, scale: x * scale, in_axes={"scale": None})(vector, scale=2.0)
      Array([ 2., 20.], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"vmap takes a function, got {type(fun).__name__}")
    _check_names(axis_name, axis_size, spmd_axis_name)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    @wraps(fun, "{} mapped over an axis of its arguments, which have one dimension more (see vmap).")
    @folded
    def mapped(*args: Any, **kwargs: Any) -> Any:
        passed_on, treedef = tree.flatten((args, kwargs))
        leaves = [_array_or_not(x) for x in passed_on]
        given = leaves
        axes = _axes_of_arguments(fun, in_axes, args, kwargs, leaves, treedef)
        cells = [i for i, x in enumerate(leaves) if isinstance(x, Cell) and axes[i] is not None]
        if cells:
            leaves = [read(x) if i in cells else x for i, x in enumerate(leaves)]
        size = _size(fun, leaves, axes, axis_size, treedef)
        interpreter = Vmap(size, axis_name, spmd_axis_name)
        payloads = [Batched(x, axis) for x, axis in zip(leaves, axes, strict=True) if axis is not None]
        out_tree, written = None, []

        def flat(*tracers: Value) -> list[Value]:
            nonlocal out_tree
            mine, seen = iter(tracers), {}
            values = [x if axis is None else next(mine) for x, axis in zip(passed_on, axes, strict=True)]
            for i in cells:
                seen[i] = values[i], given[i].within(values[i])
                values[i] = seen[i][1]
            inner_args, inner_kwargs = tree.unflatten(treedef, values)
            outs, out_tree = tree.flatten(fun(*inner_args, **inner_kwargs))
            outs = convert_leaves(array_or_tracer, outs, lambda i, x: _no_result(fun, out_tree, i, x))
            written.extend(i for i, (before, cell) in seen.items() if cell.content is not before)
            return [*outs, *[seen[i][1].content for i in written]]

        named_like(flat, fun)
        outs = [payload_of(interpreter, x) for x in run_traced(interpreter, flat, payloads)]
        for i in reversed(written):
            write(given[i], interpreter.at_axis(outs.pop(), axes[i]))
        targets = _axes_of_outputs(fun, out_axes, out_tree, outs)
        placed = [
            _placed(interpreter, b, targets[i], fun, out_tree, i, sum_match) for i, b in enumerate(outs)
        ]
        return tree.unflatten(out_tree, placed)

    return mapped


def _check_names(axis_name: str | None, axis_size: int | None, spmd_axis_name: Any) -> None:
    """Refuse names that cannot be compared and sizes that are none."""
    try:
        hash(axis_name)
    except TypeError:
        raise TypeError(f"vmap: axis_name must be hashable, got {axis_name!r:.60}") from None
    if axis_size is not None and (not hasattr(axis_size, "__index__") or operator.index(axis_size) < 0):
        raise TypeError(f"vmap: axis_size must be an int that is not negative, got {axis_size!r:.60}")
    names = spmd_axis_name if isinstance(spmd_axis_name, tuple) else (spmd_axis_name,)
    if spmd_axis_name is not None and not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"vmap: spmd_axis_name must be a name of a mesh axis or a tuple of names, got {spmd_axis_name!r}"
        )


def _array_or_not(x: Any) -> Any:
    """An argument leaf as an array; what is none stays, and may be passed on under ``in_axes=None``."""
    try:
        return array_or_tracer(x)
    except TypeError:
        return x


def _is_none(x: tuple[tuple[int | None, ...] | int | None, ...] | int | None) -> bool:
    return x is None


def _no_argument(fun: Callable[..., Any], treedef: Any, index: int, x: str) -> str:
    return (
        f"vmap of {describe_function(fun)}: {_name(fun, treedef, index)} is not an array: got "
        f"{describe_value(x)}; "
        "arguments are arrays, numbers or pytrees of them"
    )


def _no_result(fun: Callable[..., Any], out_tree: Any, index: int, x: str) -> Any:
    return (
        f"vmap of {describe_function(fun)}: the function must return arrays, {_output(out_tree, index)} is "
        f"{describe_value(x)}"
    )


def _name(fun: Callable[..., Any], treedef: Any, index: int) -> str:
    """How a user would call leaf number ``index`` of ``(args, kwargs)``."""
    return argument_name(fun, leaf_path(treedef, index))


def _output(out_tree: Any, index: int) -> str:
    """How a user would call leaf number ``index`` of the result."""
    path = leaf_path(out_tree, index)
    return f"the output {keystr(path)}" if path else "the output"


def _axes_of_arguments(
    fun: Callable[..., Any],
    in_axes: tuple[dict[Any, Any] | int | None, ...] | int,
    args: tuple[Any, ...],
    kwargs: dict[Any, Any],
    leaves: list[Any],
    treedef: Any,
) -> list[int | None]:
    """One axis (non-negative int or None) per leaf of ``(args, kwargs)``."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"vmap of {describe_function(fun)}: in_axes is of length {len(in_axes)}, the function was called "
            f"with {len(args)} positional argument{'s' if len(args) != 1 else ''}"
            + ("; keyword arguments are not counted: each is mapped along its first axis" if kwargs else "")
        )
    if not isinstance(in_axes, (int, tuple, dict, type(None))):
        structure(in_axes)  # which says so where it is too deep to be shown
        raise TypeError(
            f"vmap of {describe_function(fun)}: in_axes must be an int, None, a tuple with an entry per "
            f"argument, or a dict of entries by their names, got {in_axes!r}"
        )
    prefix = axes_by_name(fun, in_axes, args, kwargs) if isinstance(in_axes, dict) else (in_axes, 0)
    try:
        axes = broadcast_prefix(prefix, (args, kwargs), is_leaf=_is_none)
    except ValueError as error:
        structure(in_axes)
        raise ValueError(
            f"vmap of {describe_function(fun)}: in_axes {in_axes} does not fit the structure of the "
            f"arguments. {error}"
        ) from None
    out = []
    for i, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            out.append(None)
            continue
        if type(axis) is not int:
            raise TypeError(
                f"vmap of {describe_function(fun)}: in_axes must hold ints and None, got {axis!r}"
            )
        if not isinstance(x, (Array, Cell)):
            raise TypeError(_no_argument(fun, treedef, i, x))
        aval = x.type if isinstance(x, Cell) else typeof(x)
        if not -aval.ndim <= axis < aval.ndim:
            name = _name(fun, treedef, i)
            asks = f"in_axes asks for axis {axis} of {name}"
            way = "give None for arguments that are not mapped"
            if name.startswith("keyword"):
                asks = f"{name} is mapped over axis {axis}"
                if not isinstance(in_axes, dict):
                    asks += ", as all keyword arguments are"
                key = leaf_path(treedef, i)[1].key
                way = f"if it is the same for all, name it in a dict, in_axes={{{key!r}: None}}"
            raise ValueError(
                f"vmap of {describe_function(fun)}: {asks}, which has the type {aval.str_short()} and "
                f"{aval.ndim} dimensions; {way}"
            )
        out.append(axis % aval.ndim)
    return out


def _size(
    fun: Callable[..., Any], leaves: list[Any], axes: list[int | None], axis_size: Any, treedef: Any
) -> int:
    """The size of the mapped axis, on which all mapped arguments must agree."""
    sizes = {}
    for i, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is not None:
            sizes.setdefault(typeof(x).shape[axis], []).append(i)
    if axis_size is not None:
        sizes.setdefault(axis_size, [])
    if not sizes:
        raise ValueError(
            f"vmap of {describe_function(fun)} needs at least one mapped argument, or axis_size; in_axes "
            "maps none"
        )
    if len(sizes) > 1:
        lines = []
        for size, places in sizes.items():
            parts = [
                f"axis {axes[i]} of {_name(fun, treedef, i)} ({typeof(leaves[i]).str_short()})"
                for i in places
            ]
            names = ", ".join(parts)
            lines.append(f"  size {size}: {names or 'axis_size'}")
        raise ValueError(
            f"vmap got inconsistent sizes for array axes to be mapped, in {describe_function(fun)}:\n"
            + "\n".join(lines)
            + "\n  to fix: map axes of one size, or give None in in_axes for arguments that do not vary"
        )
    return next(iter(sizes))


def _axes_of_outputs(
    fun: Callable[..., Any], out_axes: Any, out_tree: Any, outs: list[Batched]
) -> list[int | None]:
    """One axis per output leaf."""
    if out_axes is None or type(out_axes) is int:
        return [out_axes] * len(outs)  # nodes are not rebuilt: they may look at what they hold
    try:
        axes = broadcast_prefix(out_axes, tree.unflatten(out_tree, list(range(len(outs)))), is_leaf=_is_none)
    except ValueError as error:
        raise ValueError(
            f"vmap of {describe_function(fun)}: out_axes {out_axes} does not fit the structure of the "
            f"outputs. {error}"
        ) from None
    for axis in axes:
        if axis is not None and type(axis) is not int:
            raise TypeError(
                f"vmap of {describe_function(fun)}: out_axes must hold ints and None, got {axis!r}"
            )
    return axes


def _placed(
    interpreter: Any, b: Any, axis: Any, fun: Callable[..., Any], out_tree: Any, index: int, sum_match: bool
) -> Value:
    """The output with its mapped axis where ``out_axes`` wants it."""
    aval = interpreter.type_of(b)
    if axis is None:
        if b.axis is not None and sum_match:
            return _summed(b)
        if b.axis is not None:
            raise ValueError(
                f"at vmap of {describe_function(fun)}: {_output(out_tree, index)}, of type "
                f"{aval.str_short()}, got axis spec None but output was batched on axis {b.axis}: it depends "
                "on the mapped arguments; give it an axis in out_axes, or sum it with sum_match=True"
            )
        return b.value
    if not -aval.ndim - 1 <= axis <= aval.ndim:
        raise ValueError(
            f"vmap of {describe_function(fun)}: out_axes asks for axis {axis} of "
            f"{_output(out_tree, index)}, which has {aval.ndim + 1} dimensions with the mapped one"
        )
    return interpreter.at_axis(b, axis % (aval.ndim + 1))


def _summed(b: Batched) -> Value:
    """The sum of an output over its mapped axis; of narrow integers and booleans in the width of an int."""
    dtype, width = typeof(b.value).dtype, dtypes.itemsize_bits(int)
    kind = dtypes.kind(dtype)
    if kind == "b" or (kind in "iu" and dtypes.itemsize_bits(dtype) < width):
        return lax.reduce_sum(
            lax.convert_element_type(b.value, f"{'u' * (kind == 'u')}int{width}"), (b.axis,)
        )
    return lax.reduce_sum(b.value, (b.axis,))
