"""From the leaves of a state to rows of the manifest and parts to write, copied from the devices."""

import numpy as np
import rabbet as rb
from rabbet import Array, dtypes
from rabbet.errors import DeletedArrayError, ShardingError
from rabbet.extend.primitive import to_physical
from rabbet.extend.processes import copies_of_parts
from rabbet.extend.transform import typeof

from rabbet_store import arrays, scalars

# What an array of NumPy's may be, so that nothing of it is lost.
KEPT = (np.ndarray, np.memmap)


class Leaf:
    """A leaf of a state, copied from the devices.

    Attributes:
      row: what the manifest says of it.
      parts: pairs of an index and NumPy values, which this process writes.
    """

    def __init__(self, row, parts=()):
        self.row, self.parts = row, parts

    @property
    def has_files(self):
        """Whether this process writes something for it."""
        return "value" not in self.row and bool(self.parts) and 0 not in self.row["shape"]


def leaves_of(found, all_parts=False):
    """``Leaf`` objects for triples of steps, a name and a value: with the parts that this process writes of
    one copy of all, or with ``all_parts`` each that it has.
    """
    for _, name, x in found:
        if isinstance(x, Array) and x.is_deleted():
            raise DeletedArrayError(
                f"{name} is an array, {x.aval.str_short()}, that has been deleted or donated to a "
                "computation; save the result of that, or do not donate this one"
            )
        if isinstance(x, Array) and not x.aval.is_extended and not on_host(x):
            x.copy_to_host_async()
    known: dict = {}
    return [leaf_of(i, name, x, all_parts, known) for i, (_, name, x) in enumerate(found)]


def on_host(x):
    """Whether the memory of an array is the host's, where there is nothing to begin."""
    return x.sharding.platform == "cpu" if hasattr(x.sharding, "platform") else True


def leaf_of(number, name, x, all_parts, known):
    """A ``Leaf``, the one of this number in its tree. ``known`` has what was found for arrays of its kind."""
    row = {"name": name}
    if type(x) in scalars.TYPES:
        return Leaf({**row, "value": scalars.encoded(x)})
    if isinstance(x, (np.ndarray, np.generic)):
        refuse_lossy(x, name)
        host = as_known(np.array(x), name)
        parts = [((slice(None),) * host.ndim, host)] if all_parts or rb.process_index() == 0 else []
        part, kind = host.shape, "scalar" if isinstance(x, np.generic) else "numpy"
    elif isinstance(x, Array):
        kind = "array"
        refuse_addends(x, name)
        if x.aval.is_extended:
            row["extended"] = extended(x)
            host, part, parts = parts_of_extended(x, all_parts)
        else:
            parts = copies_of_parts(x, each_process=all_parts)
            if x.aval.weak_type:
                row["weak"] = True
    else:
        raise TypeError(
            f"{name} is a {type(x).__name__}; checkpoints hold arrays, numbers, texts and bytes\n  to fix: "
            "register a class that holds arrays (rb.tree_util.register_dataclass), and save the "
            "arrays that other objects are made of"
        )
    # 10,000 arrays are of few kinds: what is the same for all of a kind is found once.
    one = kind == "array" and "extended" not in row
    key = (x.sharding, x.shape, x.dtype) if one else None
    said = known.get(key)
    if said is None:
        if one:
            host, part = x, x.sharding.shard_shape(x.shape)
        chunk = arrays.chunk_of(part, host.dtype.itemsize)
        said = {"shape": list(host.shape), "dtype": host.dtype.name, "chunk": chunk}
        if one:
            known[key] = said
    return Leaf(row | {"folder": f"array-{number}", **said, "as": kind}, parts)


def extended(x):
    """What the manifest says of an array of a dtype that is not a number format, such as random keys."""
    dtype = x.dtype
    said = {"dtype": dtype.name, "dimensions": len(dtype.physical_shape)}
    if dtypes.issubdtype(dtype, dtypes.prng_key) and type(getattr(dtype, "impl", None)) is str:
        said["generator"] = dtype.impl
    return said


def own_shards(x, all_parts):
    """Those that this process writes: each that it has once, or those of which it has the first copy."""
    if all_parts:
        by_place = {tuple([(i.start, i.stop) for i in s.index]): s for s in x.addressable_shards}
        return list(by_place.values())
    return [s for s in x.addressable_shards if s.replica_id == 0]


def parts_of_extended(x, all_parts):
    """The array that stores it, the shape of its parts, and the parts."""
    stored = to_physical(x)
    more = (slice(None),) * (stored.ndim - x.ndim)
    part = (*x.sharding.shard_shape(x.shape), *stored.shape[x.ndim :])
    shards = own_shards(x, all_parts)
    return stored, part, [((*s.index, *more), np.array(to_physical(s.data))) for s in shards]


def refuse_addends(x, who):
    """Raise for an array of which each device has an addend: its parts are not its values."""
    if x.sharding.addends:
        raise ShardingError(
            f"{who} is {typeof(x).str_short()}, a sum that is not added up yet (unreduced): each device "
            "holds an addend\n  to fix: add up before it is saved, rb.reshard(x, P(...))"
        )


def refuse_lossy(x, name):
    """Raise for arrays of NumPy's that hold more than their values."""
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array of NumPy, shape {x.shape}, which would lose its mask\n  to fix: save "
            "x.data and x.mask, or x.filled(value)"
        )
    if isinstance(x, np.ndarray) and type(x) not in KEPT:
        raise TypeError(
            f"{name} is a {type(x).__name__}, and would come back as an array; save np.asarray(x)"
        )


def as_known(values, name):
    """NumPy values in the byte order of this machine.

    Raises:
      TypeError: for a dtype that could not be read again.
    """
    dtype = values.dtype.newbyteorder("=")
    try:
        known = np.dtype(dtypes.canonicalize(dtype.name)) == dtype
    except (TypeError, ValueError):
        known = False
    if not known:
        raise TypeError(
            f"{name} has the dtype {values.dtype}, which is none of Rabbet's; save it as numbers, or as "
            "bytes in an array of uint8"
        )
    return values.astype(dtype, copy=False)


__all__ = ["leaves_of"]
