"""``reshard``, ``auto_axes`` and ``explicit_axes``: arrays laid out anew, and who decides how results lie."""

import functools

from rabbet.extend.functions import describe_function, folded
from rabbet.extend.wrapping import wraps

from rabbet_parallel.constraints import with_sharding_constraint


def reshard(xs, out_shardings):
    """``xs`` laid over devices as asked.

    Args:
      xs: a pytree of arrays.
      out_shardings: a ``Sharding``, a ``PartitionSpec`` on the mesh of ``set_mesh``, or a prefix of ``xs``
        with these and None, which asks for nothing.

    Raises:
      ValueError: for a dimension that cannot be cut into equal parts; names its size.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P, reshard
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> reshard(np.ones((4, 2), np.float32), rows).sharding == rows
      True
    """
    return with_sharding_constraint(xs, out_shardings)


def auto_axes(f=None, /, *, axes=None, out_sharding=None):
    """A function within which the compiler decides how values lie; its results lie as asked.

    Args:
      f: takes and returns pytrees of arrays.
      axes: the axes of the mesh to leave to the compiler, by default all. Axes of type ``Auto`` are left to
        it in any case.
      out_sharding: for the results: a ``Sharding``, a ``PartitionSpec`` on the mesh of ``set_mesh``, or a
        prefix of the result with these. It may also be given where the function is called.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P, auto_axes
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> auto_axes(lambda x: x * 2.0, out_sharding=rows)(np.ones(2, np.float32)).sharding == rows
      True
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    @folded
    def call(*args, out_sharding=out_sharding, **kwargs):
        if out_sharding is None:
            raise TypeError(
                f"auto_axes of {describe_function(f)}: give out_sharding, there or in the call: how "
                f"results lie"
            )
        return with_sharding_constraint(f(*args, **kwargs), out_sharding)

    return call


__all__ = ["auto_axes", "reshard"]
