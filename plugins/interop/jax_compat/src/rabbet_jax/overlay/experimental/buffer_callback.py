"""``jax.experimental.buffer_callback``: Python functions that write into buffers."""

import enum
import functools

import numpy as np
import rabbet as rb
from rabbet import tree


class ExecutionStage(enum.Enum):
    """When a callback is called; here always to execute."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


class ExecutionContext:
    """What a callback is told of its call."""

    stage = ExecutionStage.EXECUTE

    @property
    def stream(self):
        """The stream of a GPU; callbacks run on the host here."""
        raise NotImplementedError(
            "buffer_callback: callbacks run on the host, there is no stream\n"
            "  to fix: rabbet.ffi calls compiled functions that work on the stream of a GPU"
        )


class Buffer:
    """The memory of an argument or result: ``np.asarray(buffer)`` shows it, and may write a result's."""

    def __init__(self, array):
        self._array = array

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    writeable = property(lambda self: self._array.flags.writeable)

    def __array__(self, dtype=None, copy=None):
        if copy or dtype not in (None, self.dtype):
            return np.array(self._array, dtype)
        return self._array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def buffer_callback(
    callback, result_shape_dtypes, *, has_side_effect=False, vmap_method=None, input_output_aliases=None,
    command_buffer_compatible=False,
):  # fmt: skip
    """A function that calls ``callback(context, out, *args)``, which writes its results into ``out``.

    Args:
      callback: gets an ``ExecutionContext``, a tree of writable ``Buffer`` and the arguments as ``Buffer``.
      result_shape_dtypes: a tree of objects with ``shape`` and ``dtype``, the structure of ``out``.
      has_side_effect: whether the call happens though nothing reads its results.
      vmap_method: as for ``pure_callback``.
      input_output_aliases: from numbers of arguments to numbers of results that begin with their values.
      command_buffer_compatible: accepted; callbacks run on the host.
    """
    wanted, out_tree = tree.flatten(result_shape_dtypes)
    aliases = dict(input_output_aliases or {})

    batched = vmap_method in ("expand_dims", "broadcast_all", "legacy_vectorized")

    @functools.cache
    def on_host(shapes):
        def call_host(*args):
            leaves = [np.asarray(x) for x in tree.leaves(args)]
            # The dimensions in front that mapping has added, of which some may have size 1.
            added = [x.shape[: x.ndim - len(s)] for x, s in zip(leaves, shapes, strict=True)]
            extra = max(added, key=lambda s: (len(s), s), default=()) if batched else ()
            outs = [np.zeros((*extra, *w.shape), rb.dtypes.canonicalize(w.dtype)) for w in wanted]
            for source, target in aliases.items():
                outs[target][...] = leaves[source]
            shown = tree.map(lambda x: Buffer(_read_only(x)), args)
            callback(ExecutionContext(), out_tree.unflatten([Buffer(o) for o in outs]), *shown)
            return out_tree.unflatten(outs)

        return call_host

    def call(*args):
        call_host = on_host(tuple([rb.typeof(x).shape for x in tree.leaves(args)]))
        if has_side_effect:
            return rb.io_callback(call_host, result_shape_dtypes, *args)
        return rb.pure_callback(call_host, result_shape_dtypes, *args, vmap_method=vmap_method)

    return call


def _read_only(x):
    x = np.asarray(x).view()
    x.flags.writeable = False
    return x


__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
