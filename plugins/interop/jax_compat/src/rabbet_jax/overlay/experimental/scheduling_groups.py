"""``jax.experimental.scheduling_groups``: operations that the compiler is asked to schedule together."""

import rabbet as rb

xla_metadata_call = rb.experimental.xla_metadata.xla_metadata_call


def scheduling_group(name):
    """A decorator: the operations of the function are one group, by an attribute of its call.

    Compilers that schedule groups (TPU, GPU) run them together; others ignore the attribute.

    Args:
      name: a str or a number.
    """
    return xla_metadata_call(scheduling_group=name)


__all__ = ["scheduling_group", "xla_metadata_call"]
