"""How results lie where axes are of type ``Explicit``: rules for kinds of primitives and for those of "
"core."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.extend import primitive as p
from rabbet_collectives import primitives as c
from rabbet_collectives.varying import pvary

from rabbet_parallel.constraints import join_mesh, reshard, sharding_constraint, to_addends, to_auto
from rabbet_parallel.explicit_sharding import Ambiguous, Laid, explicit
from rabbet_parallel.partition_spec import names_in

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op


def joined(operands: Any) -> Any:
    """Entries for operands of one shape: where one says nothing the others count."""
    full = [x for x in operands if x.shape] or operands[:1]
    made = []
    for entries in zip(*[x.entries for x in full], strict=True):
        said = {e for e in entries if e is not None}
        if len(said) > 1:
            shown = " and by ".join(sorted(map(repr, said)))
            raise Ambiguous(f"the operands are cut differently, by {shown}")
        made.append(said.pop() if said else None)
    return tuple(made)


@explicit.kind("elementwise")
def elementwise(op: Op, *operands: Any) -> Any:
    return joined(operands)


@explicit.kind("reduction")
def reduction(op: Op, *operands: Any) -> Any:
    gone = op.params["axes"]
    return tuple([e for i, e in enumerate(operands[0].entries) if i not in gone])


@explicit.primitive(p.clamp)
def clamp(op: Op, low: Any, x: Any, high: Any) -> Any:
    """As what is clamped lies, and not its bounds."""
    return x.entries


@explicit.primitive(p.transpose)
def transpose(op: Op, x: Any) -> Any:
    return tuple([x.entries[i] for i in op.params["permutation"]])


@explicit.primitive(p.broadcast_in_dim)
def broadcast_in_dim(op: Op, x: Any) -> Any:
    made = [None] * len(op.params["shape"])
    for i, place in enumerate(op.params["broadcast_dimensions"]):
        if x.shape[i] == op.params["shape"][place]:
            made[place] = x.entries[i]
    return tuple(made)


@explicit.primitive(p.squeeze)
def squeeze(op: Op, x: Any) -> Any:
    gone = {d % len(x.shape) for d in op.params["dimensions"]}
    return tuple([e for i, e in enumerate(x.entries) if i not in gone])


@explicit.primitive(p.expand_dims)
def expand_dims(op: Op, x: Any) -> Any:
    ndim = len(x.shape) + len(op.params["dimensions"])
    new, own = {d % ndim for d in op.params["dimensions"]}, iter(x.entries)
    return tuple([None if i in new else next(own) for i in range(ndim)])


@explicit.primitive(p.reshape)
def of_reshape(op: Op, x: Any) -> Any:
    """Dimensions that stay, are split, or are merged, of which only the first may be cut, or all."""
    made = []
    for olds, news in groups(x.shape, op.params["new_sizes"]):
        olds = [i for i in olds if x.shape[i] != 1 or x.entries[i] is not None]
        cut = [x.entries[i] for i in olds if x.entries[i] is not None]
        if cut and len(cut) != len(olds) and (len(cut) > 1 or x.entries[olds[0]] is None):
            raise Ambiguous("dimensions are merged of which a later one is cut")
        names = [n for e in cut for n in names_in(e)]
        made += shared_out(names, [op.params["new_sizes"][j] for j in news], x.sizes)
    return tuple(made)


def shared_out(names: Any, new_sizes: Any, sizes: Any) -> Any:
    """Entries for new dimensions: the first takes as many of the axes as cut it evenly, and so on."""
    made = []
    for size in new_sizes:
        taken = []
        while names and size % (sizes[names[0]] * prod([sizes[n] for n in taken])) == 0:
            taken.append(names.pop(0))
        if names and size != prod([sizes[n] for n in taken]):
            break
        made.append(None if not taken else taken[0] if len(taken) == 1 else tuple(taken))
    if names:
        raise Ambiguous(f"the parts of a dimension that {names[0]!r} cuts cannot be cut by it evenly")
    return made


def groups(old: Any, new: Any) -> Any:
    """Runs of dimensions of equal product before and after: pairs of positions."""
    if 0 in old:  # products tell nothing
        return around(old, new)
    found, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        a, b = i, j
        if i < len(old):
            i += 1
        if j < len(new):
            j += 1
        while prod(old[a:i]) != prod(new[b:j]):
            if (prod(old[a:i]) < prod(new[b:j]) and i < len(old)) or j == len(new):
                i += 1
            else:
                j += 1
        # Sizes of 1 belong to no run: they stand alone.
        if i - a == 1 and old[a] == 1 and j - b == 1 and new[b] != 1:
            j = b
        elif j - b == 1 and new[b] == 1 and i - a == 1 and old[a] != 1:
            i = a
        found.append((range(a, i), range(b, j)))
    return found


def around(old: Any, new: Any) -> Any:
    """The same for arrays without elements: equal sizes in front and behind, and what is left in between."""
    front, back, common = 0, 0, min(len(old), len(new))
    while front < common and old[front] == new[front]:
        front += 1
    while back < common - front and old[-1 - back] == new[-1 - back]:
        back += 1
    found = [(range(i, i + 1), range(i, i + 1)) for i in range(front)]
    if len(old) > front + back or len(new) > front + back:
        found.append((range(front, len(old) - back), range(front, len(new) - back)))
    behind = [(range(len(old) - k, len(old) - k + 1), range(len(new) - k, len(new) - k + 1))
              for k in range(back, 0, -1)]  # fmt: skip
    return found + behind


@explicit.primitive(p.bitcast_convert_type)
def bitcast_convert_type(op: Op, x: Any) -> Any:
    """Smaller elements come along a new dimension; larger ones are read along the last one."""
    bits = [dtypes.itemsize_bits(dtypes.canonicalize(d)) for d in (x.dtype, op.params["new_dtype"])]
    if bits[0] == bits[1]:
        return x.entries
    if bits[0] > bits[1]:
        return (*x.entries, None)
    if x.entries[-1] is not None:
        raise Ambiguous("it reads elements along a dimension that is cut")
    return x.entries[:-1]


@explicit.primitive(p.to_physical)
def to_physical(op: Op, x: Any) -> Any:
    """The numbers of an element, such as the words of a key, lie together."""
    return (*x.entries, *[None] * len(x.dtype.physical_shape))


@explicit.primitive(p.from_physical)
def from_physical(op: Op, x: Any) -> Any:
    own = len(op.params["dtype"].physical_shape)
    if any(e is not None for e in x.entries[len(x.entries) - own :]):
        raise Ambiguous("the numbers of an element are cut")
    return x.entries[: len(x.entries) - own]


@explicit.primitive(p.concatenate)
def concatenate(op: Op, *operands: Any) -> Any:
    return joined(operands)


@explicit.primitive(p.rev)
def rev(op: Op, x: Any) -> Any:
    return x.entries


def of_slice(x: Any, sizes: Any) -> Any:
    """A slice is cut as its operand; a single element is whole: all devices get it."""
    return (None,) * len(sizes) if all(n == 1 for n in sizes) else x.entries


@explicit.primitive(p.slice)
def slice_(op: Op, x: Any) -> Any:
    spans = zip(op.params["start_indices"], op.params["limit_indices"], strict=True)
    return of_slice(x, [stop - start for start, stop in spans])


@explicit.primitive(p.pad)
def pad(op: Op, x: Any, value: Any) -> Any:
    return x.entries


@explicit.primitive(p.dynamic_slice)
def dynamic_slice(op: Op, x: Any, *starts: Any) -> Any:
    return of_slice(x, op.params["slice_sizes"])


@explicit.primitive(p.dynamic_update_slice)
def dynamic_update_slice(op: Op, x: Any, update: Any, *starts: Any) -> Any:
    """As the array: beside one that is cut, the update is cut alike or whole."""
    cut = any(e is not None for e in x.entries)
    for d, (own, new) in enumerate(zip(x.entries, update.entries, strict=True)):
        if cut and new is not None and new != own:
            raise Ambiguous(f"the update is cut by {new!r} along dimension {d}, and the array otherwise")
    return x.entries


@explicit.primitive(p.dot_general)
def dot_general(op: Op, x: Any, y: Any) -> Any:
    (left, right), (left_batch, right_batch) = op.params["dimension_numbers"]
    for i, j in zip(left, right, strict=True):
        if x.entries[i] is not None and x.entries[i] == y.entries[j]:
            raise Ambiguous(
                f"both operands are cut by {x.entries[i]!r} along the dimensions that are summed over, so "
                "the result may be summed to be whole or to be cut again"
            )
        if None not in (x.entries[i], y.entries[j]):
            raise Ambiguous("the dimensions that are summed over are cut differently")
    batch = []
    for i, j in zip(left_batch, right_batch, strict=True):
        said = {e for e in (x.entries[i], y.entries[j]) if e is not None}
        if len(said) > 1:
            raise Ambiguous("the batch dimensions are cut differently")
        batch.append(said.pop() if said else None)
    own = [e for i, e in enumerate(x.entries) if i not in (*left, *left_batch)]
    other = [e for i, e in enumerate(y.entries) if i not in (*right, *right_batch)]
    return (*batch, *own, *other)


@explicit.primitive(p.gather)
def gather(op: Op, x: Any, indices: Any) -> Any:
    numbers, sizes = op.params["dimension_numbers"], op.params["slice_sizes"]
    batch = dict(zip(numbers.start_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    single = {*numbers.collapsed_slice_dims, *batch.values()}
    for i, entry in enumerate(x.entries):
        if entry is not None and i not in batch.values() and (i in single or sizes[i] != x.shape[i]):
            raise Ambiguous("it takes elements along a dimension that is cut")
    whole = iter([e for i, e in enumerate(x.entries) if i not in single])
    places = list(indices.entries[:-1])
    for place, i in batch.items():  # each example takes from its own part
        if None not in (places[place], x.entries[i]) and places[place] != x.entries[i]:
            raise Ambiguous("the array and the places are cut differently")
        places[place] = places[place] or x.entries[i]
    rest = iter(places)
    ndim = len(numbers.offset_dims) + len(indices.entries) - 1
    return tuple([next(whole) if i in numbers.offset_dims else next(rest) for i in range(ndim)])


@explicit.primitive(p.scatter, p.scatter_add, p.scatter_sub, p.scatter_mul, p.scatter_min, p.scatter_max)
def scatter(op: Op, x: Any, indices: Any, updates: Any) -> Any:
    """As the array, or as the windows along dimensions that these run over whole; where each example has
    places of its own, the examples as those of any operand.
    """
    numbers = op.params["dimension_numbers"]
    batch = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    window = numbers.window_sizes(len(x.shape), updates.shape)
    lacking = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    own = iter([updates.entries[d] for d in numbers.update_window_dims])
    told = [None if d in lacking else next(own) for d in range(len(x.shape))]
    counted = [e for d, e in enumerate(updates.entries) if d not in numbers.update_window_dims]
    for place, pair in enumerate(zip(counted, indices.entries[:-1], strict=True)):
        said = {e for e in pair if e is not None}
        if len(said) > 1 or (said and place not in batch):
            raise Ambiguous("the places are cut, at which it writes")
        if said:
            told[batch[place]] = said.pop()
    if indices.entries[-1] is not None:
        raise Ambiguous("the places are cut, at which it writes")
    for d, (e, new, size, whole) in enumerate(zip(x.entries, told, window, x.shape, strict=True)):
        if d not in batch.values() and size != whole and (e is not None or new is not None):
            raise Ambiguous("it writes at places along a dimension that is cut")
    return joined([x, Laid(x.shape, tuple(told))])


@explicit.primitive(sharding_constraint)
def of_constraint(op: Op, x: Any) -> None:
    """As it was told; the mesh may be another one."""


@explicit.primitive(reshard, join_mesh)
def of_reshard(op: Op, x: Any) -> None:
    """As it was told; the mesh may be another one."""


@explicit.primitive(c.psum, c.pmax, c.pmin, c.ppermute, pvary, p.to_memory, p.lies_in_memory)
def alike(op: Op, x: Any) -> Any:
    """Members along other axes exchange values that lie alike."""
    return x.entries


@explicit.primitive(c.all_gather, c.all_gather_invariant)
def all_gather(op: Op, x: Any) -> Any:
    return (None, *x.entries)


@explicit.primitive(c.reduce_scatter)
def reduce_scatter(op: Op, x: Any) -> Any:
    refuse_cut_slices(x)
    return x.entries[1:]


@explicit.primitive(c.all_to_all)
def all_to_all(op: Op, x: Any) -> Any:
    refuse_cut_slices(x)
    return x.entries


def refuse_cut_slices(x: Any) -> None:
    """Of an operand whose first dimension has a slice for each member."""
    if x.entries[0] is not None:
        raise Ambiguous("it returns slices along a dimension that is cut")


@explicit.primitive(p.optimization_barrier)
def optimization_barrier(op: Op, *operands: Any) -> Any:
    """Each value as it lay before."""
    return [x.entries for x in operands]


@explicit.primitive(p.scan)
def scan(op: Op, *operands: Any) -> None:
    """What its program says, where no array is read along a dimension that is cut: each step would fetch its
    slice from another device.
    """
    for x in operands[op.params["consts"] + op.params["carry"] :]:
        if x.entries[0] is not None:
            raise Ambiguous(f"it reads slices along dimension 0, which {x.entries[0]!r} cuts")


@explicit.primitive(to_addends)
def of_to_addends(op, x):
    return x.entries


@explicit.primitive(to_auto)
def of_to_auto(op: Op, x: Any) -> Any:
    return (None,) * len(x.shape)


__all__ = ["groups", "joined", "names_in"]
