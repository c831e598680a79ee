"""``jax.experimental.fused``: one kernel of the operations of a function, with results in chosen memories."""

import rabbet as rb
from rabbet import device_put, tree
from rabbet.extend.wrapping import wraps


def fused(*, out_spaces):
    """A decorator: the compiler is asked to make one kernel of the function's operations.

    The request is the attribute ``MUST_FUSE`` of a call; compilers that do not know it, XLA:CPU among them,
    fuse as they do anyway.

    Args:
      out_spaces: a tree like the result, or a prefix, of ``memory.Space``: where each result is put.
    """

    def wrap(f):
        called = rb.experimental.xla_metadata.must_fuse_call("0")(f)

        @wraps(f)
        def call(*args, **kwargs):
            out = called(*args, **kwargs)
            spaces = tree.broadcast_prefix(out_spaces, out)
            leaves, structure = tree.flatten(out)
            usual = rb.memory.Space.Device
            return structure.unflatten(
                [x if s == usual else device_put(x, s) for x, s in zip(leaves, spaces, strict=True)]
            )

        return call

    return wrap


ABSENT = "fused_p"
__all__ = ["fused"]
