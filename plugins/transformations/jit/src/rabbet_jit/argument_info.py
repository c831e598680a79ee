"""``ArgInfo``, loaded by those who ask: making a dataclass takes half a millisecond."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ArgInfo:
    """What a program knows of one array among its arguments.

    Example:
      >>> rb.jit(lambda x: x).lower(rnp.ones(2)).args_info
      ((ArgInfo(shape=(2,), dtype=dtype('float32'), donated=False),), {})
    """

    shape: tuple
    dtype: object
    donated: bool
