"""Communication between the members of a named axis: ``psum(x, "i")`` inside ``vmap(f, axis_name="i")``.

``axis_name`` is the axis's name, or a tuple of names, which together are one axis, the first name outermost.
Arrays may be pytrees. ``axis_index_groups`` is a list of lists of indices that cover the axis once; each
group communicates within itself.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np
from rabbet import dtypes, lax, tree
from rabbet.extend.functions import array_or_tracer, is_python_scalar
from rabbet.extend.primitive import full_of_type, move_axis
from rabbet.extend.transform import typeof

from rabbet_collectives import primitives
from rabbet_collectives.axis_names import names_of
from rabbet_collectives.varying import is_of_devices, is_typed, sums_of, varied

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


def groups_of(groups, pairs, who, equal=True):
    """``axis_index_groups`` as a tuple of tuples, or None for the whole axis."""
    if groups is None:
        return None
    if len(pairs) != 1:
        raise ValueError(f"{who}: axis_index_groups needs one axis name, got {len(pairs)}")
    ((name, size),) = pairs
    found = tuple([tuple([operator.index(i) for i in group]) for group in groups])
    if sorted([i for group in found for i in group]) != list(range(size)):
        raise ValueError(
            f"{who}: axis_index_groups must cover the indices of the axis {name!r}, 0 to {size - 1}, once "
            f"each; got {found}"
        )
    if equal and len({len(group) for group in found}) > 1:
        raise ValueError(f"{who}: the groups in axis_index_groups must have one size, got {found}")
    return None if found == (tuple(range(size)),) else found


def count_of(pairs, groups):
    """How many members communicate with each other."""
    return math.prod([size for _, size in pairs]) if groups is None else len(groups[0])


def _each(primitive, x, pairs, groups):
    """The primitive along each of several axes, the last name first."""
    if groups is not None or primitive not in UNITING:
        x = varied(x, pairs, primitive.name)
    for name, size in reversed(pairs):
        x = primitive(x, axis=name, size=size, groups=groups)
    return x


UNITING = (primitives.psum, primitives.pmax, primitives.pmin)


def _place(axis, ndim, who, what="axis"):
    place = operator.index(axis)
    if not -ndim <= place < ndim:
        raise ValueError(f"{who}: {what} {axis} is out of range for {ndim} dimensions")
    return place % ndim


# ----------------------------------------------------------------------------------------------- reductions
def psum(x: Value, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum over the members of a named axis; every member gets it.

    Args:
      x: a pytree of arrays; booleans are counted. The sum of a Python number is its multiple, a Python
        number: ``psum(1, "i")`` is the axis's size.
      axis_name: the axis, or a tuple of axes.
      axis_index_groups: groups of indices that sum within themselves.

    Raises:
      UnboundAxisError: if no axis has the name; the message lists those there are.

    Example:
      >>> rb.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(rnp.array([1.0, 3.0]))
      Array([0.25, 0.75], dtype=float32)
    """
    pairs = names_of(axis_name, "psum")
    groups = groups_of(axis_index_groups, pairs, "psum", equal=False)

    def one(leaf):
        if is_python_scalar(leaf) and (groups is None or len({len(g) for g in groups}) == 1):
            return leaf * count_of(pairs, groups)
        leaf = array_or_tracer(leaf)
        if dtypes.kind(typeof(leaf).dtype) == "b":
            leaf = lax.convert_element_type(leaf, np.int32)
        return _each(primitives.psum, leaf, pairs, groups)

    return tree.map(one, x)


def pmean(x: Value, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean over the members of a named axis; every member gets it. Arguments as for ``psum``.

    Example:
      >>> rb.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(rnp.array([1.0, 5.0]))
      Array([-2.,  2.], dtype=float32)
    """
    groups_of(axis_index_groups, names_of(axis_name, "pmean"), "pmean", equal=False)  # errors name pmean
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return tree.map(lambda v: v / count, total)


def _extreme(primitive, x, axis_name, axis_index_groups):
    pairs = names_of(axis_name, primitive.name)
    groups = groups_of(axis_index_groups, pairs, primitive.name, equal=False)
    return tree.map(lambda leaf: _each(primitive, array_or_tracer(leaf), pairs, groups), x)


def pmax(x: Value, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The elementwise maximum over the members of a named axis. Arguments as for ``psum``.

    Example:
      >>> rb.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(rnp.array([1, 5]))
      Array([5, 5], dtype=int32)
    """
    return _extreme(primitives.pmax, x, axis_name, axis_index_groups)


def pmin(x: Value, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The elementwise minimum over the members of a named axis. Arguments as for ``psum``.

    Example:
      >>> rb.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(rnp.array([1, 5]))
      Array([1, 1], dtype=int32)
    """
    return _extreme(primitives.pmin, x, axis_name, axis_index_groups)


# ------------------------------------------------------------------------------- gathering and scattering
def all_gather(
    x: Value,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: Any = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """The values of all members of a named axis.

    Args:
      x: a pytree of arrays.
      axis_name: the axis, or a tuple of axes.
      axis_index_groups: groups of indices, of one size, that gather within themselves.
      axis: where the members' dimension goes.
      tiled: concatenate along the dimension ``axis`` instead of stacking along a new one.
      to: what types say of the result within ``shard_map``. ``"varying"``: each member has its own, and
        cotangents of all members are summed. ``"invarying"``: one value that all share, as of ``psum``; not
        with groups there. ``"reduced"``: the same, and its cotangent is unreduced, so that the gradient is a
        ``psum_scatter``; not with groups. Every member has the same values in any case.

    Returns:
      arrays with one more dimension at ``axis``, or with that dimension multiplied.

    Example:
      >>> rb.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(rnp.arange(2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    if to not in ("varying", "reduced", "invarying"):
        raise ValueError(f"all_gather: to must be 'varying', 'reduced' or 'invarying', got {to!r}")
    pairs = names_of(axis_name, "all_gather")
    groups = groups_of(axis_index_groups, pairs, "all_gather")
    count = count_of(pairs, groups)
    primitive = primitives.all_gather
    if to != "varying" and any(is_typed(name) for name, _ in pairs):
        if groups is not None:
            raise ValueError(
                f"all_gather: what groups gather differs between them; leave out to={to!r}, or "
                "axis_index_groups"
            )
        invariant = to == "invarying"
        primitive = primitives.all_gather_invariant if invariant else primitives.all_gather_reduced

    def one(leaf):
        leaf = array_or_tracer(leaf)
        aval = typeof(leaf)
        place = _place(axis, aval.ndim + (not tiled), "all_gather")
        stacked = _each(primitive, leaf, pairs, groups)
        stacked = move_axis(lax.reshape(stacked, (count, *aval.shape)), 0, place)
        return _merged(stacked, place) if tiled else stacked

    return tree.map(one, x)


def _merged(x, place):
    """``x`` with the dimensions ``place`` and ``place + 1`` made one."""
    full = typeof(x).shape
    return lax.reshape(x, (*full[:place], full[place] * full[place + 1], *full[place + 2 :]))


def _members_in_front(leaf, place, count, pairs, tiled, who):
    """``leaf`` with a slice of the dimension ``place`` for each member in front, one dimension per name.

    ``tiled``: a slice is a chunk of the dimension, which stays; else one element, and it goes.
    """
    full = typeof(leaf).shape
    if full[place] % count if tiled else full[place] != count:
        raise ValueError(
            f"{who}: dimension {place} of {typeof(leaf).str_short()} must "
            f"{'be divisible by' if tiled else 'have'} the number of members that communicate, {count}"
            + ("" if tiled else "; tiled=True takes multiples of it")
        )
    if tiled:
        leaf = lax.reshape(leaf, (*full[:place], count, full[place] // count, *full[place + 1 :]))
    leaf = move_axis(leaf, place, 0)
    sizes = [size for _, size in pairs] if len(pairs) != 1 else [count]
    return lax.reshape(leaf, (*sizes, *typeof(leaf).shape[1:]))


def psum_scatter(
    x: Value,
    axis_name: Any,
    *,
    scatter_dimension: Any = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Of the sum over the members of a named axis, the slice of each member's own index.

    Args:
      x: a pytree of arrays.
      axis_name: the axis, or a tuple of axes.
      scatter_dimension: the dimension that is shared out: as long as the axis, or, tiled, a multiple of it.
      axis_index_groups: groups of indices, of one size, that sum within themselves.
      tiled: keep the dimension and leave each member its chunk; else it goes.

    Example:
      >>> rb.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(rnp.array([[1, 2], [3, 4]]))
      Array([4, 6], dtype=int32)
    """
    pairs = names_of(axis_name, "psum_scatter")
    groups = groups_of(axis_index_groups, pairs, "psum_scatter")
    count = count_of(pairs, groups)

    def one(leaf):
        leaf = array_or_tracer(leaf)
        place = _place(scatter_dimension, typeof(leaf).ndim, "psum_scatter", "scatter_dimension")
        sums = set(pairs) & sums_of(typeof(leaf)) if groups is None else ()
        others = [pair for pair in pairs if pair not in sums]
        leaf = varied(leaf, others, "psum_scatter")
        leaf = _members_in_front(leaf, place, count, pairs, tiled, "psum_scatter")
        for name, size in pairs:
            scatter = primitives.scatter_addends if (name, size) in sums else primitives.reduce_scatter
            leaf = scatter(leaf, axis=name, size=size, groups=groups)
        return leaf

    return tree.map(one, x)


# ------------------------------------------------------------------------------------------- permutations
def all_to_all(
    x: Value,
    axis_name: Any,
    split_axis: Any,
    concat_axis: Any,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Exchange a named axis with a dimension: slice ``k`` of member ``m`` becomes slice ``m`` of ``k``.

    Args:
      x: a pytree of arrays.
      axis_name: the axis, or a tuple of axes.
      split_axis: the dimension whose slices are sent: as long as the axis, or, tiled, a multiple of it.
      concat_axis: where the received slices stand in the result.
      axis_index_groups: groups of indices, of one size, that exchange within themselves.
      tiled: slices are chunks, and are concatenated along the dimension ``concat_axis``; else they are
        single elements, stacked along a new one.

    Example:
      >>> rb.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(rnp.array([[0, 1], [2, 3]]))
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    pairs = names_of(axis_name, "all_to_all")
    groups = groups_of(axis_index_groups, pairs, "all_to_all")
    count = count_of(pairs, groups)

    def one(leaf):
        leaf = array_or_tracer(leaf)
        ndim = typeof(leaf).ndim
        split = _place(split_axis, ndim, "all_to_all", "split_axis")
        target = _place(concat_axis, ndim, "all_to_all", "concat_axis")
        leaf = _members_in_front(varied(leaf, pairs, "all_to_all"), split, count, pairs, tiled, "all_to_all")
        for i, (name, size) in enumerate(pairs):
            leaf = move_axis(leaf, i, 0)
            leaf = move_axis(primitives.all_to_all(leaf, axis=name, size=size, groups=groups), 0, i)
        leaf = move_axis(lax.reshape(leaf, (count, *typeof(leaf).shape[len(pairs) :])), 0, target)
        return _merged(leaf, target) if tiled else leaf

    return tree.map(one, x)


def pswapaxes(x: Value, axis_name: Any, axis: Any, *, axis_index_groups: Any = None) -> Any:
    """``x`` with the named axis and the dimension ``axis``, which must be as long, exchanged.

    Example:
      >>> rb.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(rnp.array([[0, 1], [2, 3]]))
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x: Value, axis_name: Any, perm: Any) -> Any:
    """Send values between the members of a named axis.

    Args:
      x: a pytree of arrays.
      axis_name: the axis, or a tuple of axes.
      perm: pairs ``(source, destination)`` of indices, no source and no destination twice. Who is no
        destination gets zeros.

    Example:
      >>> rb.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(rnp.arange(3) + 5)
      Array([0, 5, 6], dtype=int32)
    """
    axes = names_of(axis_name, "ppermute")
    name, size = axis_name if len(axes) > 1 else axes[0][0], count_of(axes, None)
    pairs = tuple([(operator.index(a), operator.index(b)) for a, b in perm])
    for what, indices in (("source", [a for a, _ in pairs]), ("destination", [b for _, b in pairs])):
        if len(set(indices)) != len(indices):
            raise ValueError(f"ppermute: a {what} occurs twice in perm: {pairs}")
        if not all(0 <= i < size for i in indices):
            raise ValueError(
                f"ppermute: a {what} in perm is not an index of the axis {name!r}, of size {size}: {pairs}"
            )

    def one(leaf):
        leaf = varied(array_or_tracer(leaf), axes, "ppermute")
        if len(axes) == 1:
            return primitives.ppermute(leaf, axis=name, size=size, perm=pairs)
        if all(is_of_devices(one) for one, _ in axes):
            return primitives.ppermute(leaf, axis=tuple(name), size=size, perm=pairs)
        return _chosen(leaf, name, size, pairs)

    return tree.map(one, x)


def _chosen(leaf, names, size, pairs):
    """A permutation along several axes of which a map gives some a meaning: each member chooses of all."""
    source = {destination: source for source, destination in pairs}
    everything = all_gather(leaf, names)
    mine = lax.dynamic_index_in_dim(
        array_or_tracer(np.asarray([source.get(i, size) for i in range(size)], np.int32)),
        axis_index(names),
        keepdims=False,
    )
    got = lax.dynamic_index_in_dim(everything, lax.min(mine, np.int32(size - 1)), keepdims=False)
    return got if len(source) == size else lax.select(lax.lt(mine, size), got, full_of_type(typeof(got), 0))


def pshuffle(x: Value, axis_name: Any, perm: Any) -> Any:
    """Reorder the members of a named axis: member ``i`` gets the value of member ``perm[i]``.

    Example:
      >>> rb.vmap(lambda x: lax.pshuffle(x, "i", [1, 0]), axis_name="i")(rnp.array([5, 6]))
      Array([6, 5], dtype=int32)
    """
    size = axis_size(axis_name)
    perm = [operator.index(i) for i in perm]
    if sorted(perm) != list(range(size)):
        raise ValueError(
            f"pshuffle: perm must hold each index of the axis {axis_name!r}, 0 to {size - 1}, once; "
            f"got {perm}"
        )
    return ppermute(x, axis_name, [(source, destination) for destination, source in enumerate(perm)])


def pbroadcast(x: Value, axis_name: Any, source: Value) -> Any:
    """The value of one member, for all members of a named axis.

    Args:
      x: a pytree of arrays.
      axis_name: the axis, or a tuple of axes.
      source: the member's index, an int or an integer scalar array.

    Example:
      >>> rb.vmap(lambda x: lax.pbroadcast(x, 'i', 1), axis_name='i')(rnp.array([1.0, 2.0, 3.0]))
      Array([2., 2., 2.], dtype=float32)
    """
    here = lax.eq(axis_index(axis_name), lax.convert_element_type(source, np.int32))

    def one(leaf):
        leaf = array_or_tracer(leaf)
        masked = lax.select(here, leaf, full_of_type(typeof(leaf), 0))
        total = psum(masked, axis_name)
        return lax.convert_element_type(total, typeof(leaf).dtype)

    return tree.map(one, x)


# ------------------------------------------------------------------------------------------ index and size
def axis_index(axis_name: Any) -> Value:
    """A member's index along a named axis, an int32 scalar; of several axes, in row-major order.

    Example:
      >>> rb.vmap(lambda x: lax.axis_index("i") + x, axis_name="i")(rnp.zeros(3, int))
      Array([0, 1, 2], dtype=int32)
    """
    index = None
    for name, size in names_of(axis_name, "axis_index"):
        here = varied(primitives.axis_index(axis=name, size=size), [(name, size)])
        index = here if index is None else index * size + here
    return index


def axis_size(axis_name: Any) -> int:
    """The size of a named axis, a Python int; of several axes, their product.

    Example:
      >>> rb.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(rnp.ones(4))
      Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return math.prod([size for _, size in names_of(axis_name, "axis_size")])


__all__ = [
    "all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pmax", "pmean",
    "pmin", "ppermute", "pshuffle", "psum", "psum_scatter", "pswapaxes",
]  # fmt: skip
