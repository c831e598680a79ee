"""From rows of the manifest to leaves: their parts are read at once, and put together where they should
lie.
"""

import numpy as np
import rabbet as rb
from rabbet import Array, dtypes, tree
from rabbet.errors import ShardingError, TreeError
from rabbet.extend.functions import with_weak_type
from rabbet.extend.primitive import from_physical
from rabbet.extend.sharding import Sharding
from rabbet.sharding import SingleDeviceSharding

from rabbet_store import arrays, scalars, structure, structure_checks
from rabbet_store.errors import CheckpointError

NOT_GIVEN = object()


def places_for(shardings, structure, wanted):
    """Where each leaf should be: a ``Sharding``, a device, or None."""
    if shardings is not None:
        full = structure.unflatten(range(structure.num_leaves))
        try:
            return tree.broadcast_prefix(
                shardings, full, lambda s: s is None, names=("shardings", "the state")
            )
        except TreeError as error:
            raise TreeError(f"load: {error}") from None
    return [getattr(x, "sharding", None) for x in wanted]


class Loading:
    """A leaf on its way from disk: its parts are being read from the beginning.

    Args:
      folder: the checkpoint's, or what gives a reader for a row: ``reader(row)``.
      row: of the manifest.
      wanted: the leaf of ``like``, or NOT_GIVEN.
      place: a sharding, a device or None.
    """

    def __init__(self, folder, row, wanted, place):
        self.row, self.place, self.wanted = row, place, wanted
        if "value" in row:
            self.value = scalars.decoded(row["value"])
            self.check_value(wanted)
            return
        self.reader = folder.reader(row) if hasattr(folder, "reader") else arrays.Reader(folder, row)
        shape, own = self.reader.shape, row.get("extended")
        self.shape = shape if own is None else shape[: len(shape) - own["dimensions"]]
        self.more = tuple([slice(0, n) for n in shape[len(self.shape) :]])
        self.dtype = self.reader.dtype if own is None else extended_dtype(row, wanted)
        self.check(wanted)
        indices = [self.whole()]
        if isinstance(place, Sharding) and place.num_devices > 1:
            try:
                found = place.addressable_devices_indices_map(self.shape).values()
                indices = [plain(i, self.shape) for i in found]
            except ShardingError as error:
                raise ShardingError(f"{row['name']} of the checkpoint: {error}") from None
        self.futures = {}
        for i in indices:
            if key(i) not in self.futures:
                self.futures[key(i)] = (*i, *self.more), self.reader.start((*i, *self.more))

    def whole(self):
        """The index of all of it."""
        return tuple([slice(0, n) for n in self.shape])

    def check_value(self, wanted):
        """Compare a number or text with what was expected."""
        if wanted is NOT_GIVEN or type(wanted) is type(self.value):
            return
        raise CheckpointError(
            f"{self.row['name']} of the checkpoint is {self.value!r:.60}, a Python "
            f"{type(self.value).__name__}, "
            f"and {spelled(wanted)} was expected"
        )

    def check(self, wanted):
        """Compare an array with what was expected."""
        if wanted is NOT_GIVEN:
            return
        if hasattr(wanted, "shape") and hasattr(wanted, "dtype"):
            dtype = wanted.dtype
            if not isinstance(dtype, dtypes.ExtendedDType):
                dtype = np.dtype(dtype).newbyteorder("=")
            if tuple(wanted.shape) == self.shape and dtype == self.dtype:
                return
        raise CheckpointError(
            f"{self.row['name']} of the checkpoint is {self.dtype.name}{list(self.shape)}, and "
            f"{spelled(wanted)} was expected"
        )

    def finish(self):
        """The leaf."""
        if "value" in self.row:
            return self.value
        extended = "extended" in self.row

        def part(index):
            values = self.reader.finish(*self.futures[key(plain(index, self.shape))])
            return as_extended(values, self.dtype) if extended else values

        if isinstance(self.place, Sharding) and self.place.num_devices > 1:
            made = rb.make_array_from_callback(self.shape, self.place, part, dtype=self.dtype)
            return self.as_saved(made)
        values = part(self.whole())
        if extended:
            return values if self.place is None else rb.device_put(values, self.place)
        host = self.row["as"] != "array" if not isinstance(self.wanted, Array) else False
        if isinstance(self.wanted, (np.ndarray, np.generic)):
            host = True
        if not host or self.place is not None:
            return self.as_saved(on_device(values, self.place))
        single = isinstance(self.wanted, np.generic) or (
            self.row["as"] == "scalar" and not isinstance(self.wanted, np.ndarray)
        )
        return values[()] if single else values

    def as_saved(self, made):
        """Of a weak type where it was saved so."""
        return with_weak_type(made, True) if self.row.get("weak") else made


def extended_dtype(row, wanted):
    """The dtype of random keys and the like: that of ``like``, or the one of the generator that was named."""
    said = row["extended"]
    dtype = getattr(wanted, "dtype", None)
    if isinstance(dtype, dtypes.ExtendedDType) and dtype.name == said["dtype"]:
        found = dtype
    elif said.get("generator") is not None:
        try:
            found = rb.random.key_dtype(said["generator"])
        except (ValueError, ImportError, AttributeError) as error:
            raise CheckpointError(f"{row['name']} of the checkpoint is {said['dtype']}: {error}") from None
    else:
        raise CheckpointError(
            f"{row['name']} of the checkpoint is {said['dtype']}, which is not a number format; pass "
            f"load(like=...) "
            "with an array of this dtype"
        )
    own, stored = tuple(found.physical_shape), tuple(row["shape"])
    if found.physical_dtype.name != row["dtype"] or stored[len(stored) - len(own) :] != own:
        raise CheckpointError(
            f"{row['name']} of the checkpoint is {said['dtype']}, kept as {row['dtype']}{list(stored)}, "
            f"and here "
            f"an element is {found.physical_dtype.name}{list(own)}"
        )
    return found


class State:
    """What a table of contents and the arguments of ``Checkpoints.load`` ask for: leaves on their way, and
    the tree that they become.
    """

    def __init__(self, step, body, source, like, shardings, partial, plain):
        rows, nodes = body["leaves"], body["tree"]
        if like is None:
            wanted = [NOT_GIVEN] * len(rows)
            whole = structure.put_together(nodes, range(len(rows)), plain)
            try:
                order, self.shape = tree.flatten(whole)
            except TreeError as error:  # as of keys that cannot be sorted, which no state had
                raise CheckpointError(f"the checkpoint of step {step} is not a state: {error}") from None
        else:
            expected, found = structure.taken_apart(like)
            self.shape = tree.structure(like)
            order = structure_checks.fitted(step, nodes, expected, partial=partial, loose=body["format"] == 1)
            wanted = [x for _, _, x in found]
        places = places_for(shardings, self.shape, wanted)
        chosen = [rows[i] for i in order]
        self.leaves = [Loading(source, *each) for each in zip(chosen, wanted, places, strict=True)]

    def finish(self):
        """The tree."""
        return self.shape.unflatten([each.finish() for each in self.leaves])


def check_load(like, partial, plain):
    """Refuse arguments of ``load`` that do not go together."""
    for name, given in (("partial", partial), ("plain", plain)):
        if type(given) is not bool:
            raise TypeError(f"{name} must be True or False, got {given!r:.60}")
    if partial and like is None:
        raise TypeError("partial=True says what to do with `like`, which is missing")
    if plain and like is not None:
        raise TypeError("plain=True is for loading without `like`")


def as_extended(values, dtype):
    """NumPy values as elements of a dtype that is not a number format."""
    return from_physical(on_device(values, None), dtype=dtype)


def on_device(values, place):
    """NumPy values as an array of just their dtype, on one device."""
    sharding = rb.device_put(0).sharding if place is None else as_sharding(place)
    made = rb.make_array_from_callback(values.shape, sharding, lambda index: values, dtype=values.dtype)
    return made if place is None else rb.device_put(made, place)


def as_sharding(place):
    """A sharding for a device or a sharding."""
    return place if isinstance(place, Sharding) else SingleDeviceSharding(place)


def spelled(wanted):
    """What was expected, in words."""
    if hasattr(wanted, "shape") and hasattr(wanted, "dtype"):
        return f"{wanted.dtype}{list(wanted.shape)}"
    return f"a Python {type(wanted).__name__}"


def plain(index, shape):
    """An index with both ends of each slice."""
    return tuple([slice(*s.indices(n)[:2]) for s, n in zip(index, shape, strict=True)])


def key(index):
    """A key for an index."""
    return tuple([(s.start, s.stop) for s in index])


__all__ = ["Loading", "State", "check_load"]
