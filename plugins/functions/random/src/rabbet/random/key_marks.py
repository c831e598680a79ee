"""What programs say of keys while ``config.debug_key_reuse`` is on: here one is used up, here it is a clone.

Both primitives return their operand. They stand in programs only while the setting is on.
"""

from rabbet.extend.dtype import lowers_stored
from rabbet.extend.primitive import Batched, Primitive, no_tangent


def same(x, **params):
    return x


key_use = Primitive(
    "key_use", same, kinds=("shapeless",), doc="keys, used up here",
    parameters={"who": "str: the function that draws from them"},
)  # fmt: skip
key_clone = Primitive("key_clone", same, kinds=("shapeless",), doc="keys, as others that may be used again")


def lower_same(op, x):
    return x


def batch_same(op, x):
    return Batched(op(x.value), x.axis)


for mark in (key_use, key_clone):
    mark.rule("lower")(lower_same)
    mark.rule("extended")(lowers_stored)
    mark.rule("batch")(batch_same)
    mark.rule("jvp")(no_tangent)

__all__ = ["key_clone", "key_use"]
