"""``with_sharding_constraint``, for arrays that are whole and on one device."""

from rabbet import tree
from rabbet.runtime.transfer import each, obey_sharding


def with_sharding_constraint(x, shardings):
    """``x``, a pytree of arrays, laid over devices as ``shardings`` say: here, on the one device that they
    name.

    Args:
      x: a pytree of arrays.
      shardings: a ``SingleDeviceSharding`` or None (as it is), or a pytree of these that is a prefix of
        ``x``.

    Raises:
      NotImplementedError: for any other sharding; and in a traced function where there are several devices,
        because its program runs on that of its arguments.
      TreeError: for a pytree that is no prefix of ``x``.
    """
    who = "with_sharding_constraint"
    leaves, treedef = tree.flatten(x)
    wanted = each(shardings, x, who, "shardings")
    return treedef.unflatten(
        [obey_sharding(who, leaf, s, "shardings") for leaf, s in zip(leaves, wanted, strict=True)]
    )


__all__ = ["with_sharding_constraint"]
