"""The backends' own random generators: ``lax.rng_bit_generator`` and ``lax.rng_uniform``.

Threefry, the standard generator of ``rabbet.random``, does not need them: it is made of ordinary operations
and gives the same bits everywhere. These are here for keys of ``impl="rbg"``, and for programs that ask for a
backend's generator by name.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import obeys_out_sharding
from rabbet.extend.primitive import Batched, Primitive, ShapedArray, move_axis, new_axis, no_tangent
from rabbet.extend.transform import refusing, typeof
from rabbet.random.arguments import shape_of

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import DTypeLike, Value


class RandomAlgorithm(enum.IntEnum):
    """The generators of StableHLO's ``rng_bit_generator``; the default one differs between platforms.

    Example:
      >>> threefry = lax.RandomAlgorithm.RNG_THREE_FRY
      >>> lax.rng_bit_generator(rnp.zeros(4, 'uint32'), (2,), algorithm=threefry)[1].shape
      (2,)
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


WORDS = np.dtype("uint32")
STATE = np.dtype("uint64")


# -------------------------------------------------------------------------------------- rng_bit_generator
def rng_bit_generator_aval(key, shape, dtype, algorithm):
    if (key.shape, key.dtype) not in (((4,), WORDS), ((2,), STATE)):
        raise TypeError(
            f"rng_bit_generator: the key must be uint32[4] or uint64[2], got {key.str_short()}; keys of "
            "rabbet.random are for rabbet.random.bits"
        )
    out = ShapedArray(shape, dtype)
    if dtypes.kind(out.dtype) not in "iu":
        raise TypeError(
            "rng_bit_generator, as dtype, takes signed integer or unsigned integer arrays, got "
            f"{out.str_short()}"
        )
    return key, out


bits_primitive = Primitive(
    "rng_bit_generator", rng_bit_generator_aval, multiple_results=True,
    doc="random integers from a key, and the key to use next",
)  # fmt: skip


@bits_primitive.rule("lower")
def lower_rng_bit_generator(op, key):
    (aval,) = op.in_avals
    state = ShapedArray((2,), STATE)
    if aval.dtype == WORDS:
        pairs = ShapedArray((2, 2), WORDS)
        key = op.emit(f"stablehlo.reshape {key} : ({aval.mlir}) -> {pairs.mlir}")
        key = op.emit(f"stablehlo.bitcast_convert {key} : ({pairs.mlir}) -> {state.mlir}")
    out = op.out_avals[1]
    # Generators make 32 or 64 bits at a time; of those, narrower integers are the lower ones.
    bits = max(32, 8 * out.dtype.itemsize)
    made = out.update(dtype=np.dtype(f"uint{bits}"))
    name = RandomAlgorithm(op["algorithm"]).name.removeprefix("RNG_")
    key, value = op.emit_many(
        f"stablehlo.rng_bit_generator {key}, algorithm = {name} : ({state.mlir}) -> "
        f"({state.mlir}, {made.mlir})",
        2,
    )
    if made != out:
        value = op.emit(f"stablehlo.convert {value} : ({made.mlir}) -> {out.mlir}")
    if aval.dtype == WORDS:
        key = op.emit(f"stablehlo.bitcast_convert {key} : ({state.mlir}) -> {pairs.mlir}")
        key = op.emit(f"stablehlo.reshape {key} : ({pairs.mlir}) -> {aval.mlir}")
    return key, value


bits_primitive.rule("jvp")(no_tangent)


# -------------------------------------------------------------------------------------------- rng_uniform
def rng_uniform_aval(a, b, shape):
    for bound in (a, b):
        if dtypes.kind(bound.dtype) not in "iuf":
            raise TypeError(f"rng_uniform takes bounds that are integers or floats, got {bound.str_short()}")
    if a.dtype != b.dtype:
        raise DTypeError(
            f"rng_uniform takes bounds of one dtype, got {a.str_short()}, {b.str_short()}; convert one of "
            "them with astype"
        )
    if a.shape or b.shape:
        raise ShapeError(f"rng_uniform: the bounds must be scalars, got {a.str_short()}, {b.str_short()}")
    return ShapedArray(shape, a.dtype)


uniform_primitive = Primitive(
    "rng_uniform",
    rng_uniform_aval,
    adopt=0,
    kinds=("distinct",),
    doc="random numbers from a to b, new ones at each call",
)
uniform_primitive.rule("jvp")(
    refusing(
        "the numbers of a generator with hidden state have no derivative; use rabbet.random.uniform, or "
        "stop_gradient on the bounds"
    )
)


@uniform_primitive.rule("lower")
def lower_rng_uniform(op, a, b):
    sizes = ShapedArray((len(op.out.shape),), np.dtype("int64"))
    extent = op.constant(np.array(op.out.shape, np.int64), sizes)
    types = ", ".join([aval.mlir for aval in (*op.in_avals, sizes)])
    return op.emit(f"stablehlo.rng {a}, {b}, {extent}, distribution = UNIFORM : ({types}) -> {op.out.mlir}")


@bits_primitive.rule("batch")
@uniform_primitive.rule("batch")
def one_by_one(op, *operands):
    """Each example's own numbers: a loop, so that mapping over keys gives what each key gives."""
    size = next(typeof(b.value).shape[b.axis] for b in operands if b.axis is not None)
    rows = [new_axis(b.value, 0, size) if b.axis is None else move_axis(b.value, b.axis, 0) for b in operands]
    _, outs = lax.scan(lambda carry, row: (carry, op(*row)), (), tuple(rows), length=size)
    return [Batched(x, 0) for x in outs] if op.primitive.multiple_results else Batched(outs, 0)


# -------------------------------------------------------------------------------- the functions of lax
@obeys_out_sharding
def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: DTypeLike | None = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> Any:
    """Random bits from a key.

    Args:
      key: ``uint32[4]`` or ``uint64[2]``.
      shape: of the result.
      dtype: an integer dtype; all its values are equally likely.
      algorithm: a ``RandomAlgorithm``; the default one is the platform's, so its bits differ between
        platforms.

    Returns:
      (key, bits): the key to use next, and an array of ``shape``. Mapped by ``vmap``, each key gives what it
      gives alone.

    Raises:
      TypeError: if the key or the dtype is of another kind.

    Example:
      >>> key, bits = lax.rng_bit_generator(rnp.zeros(4, 'uint32'), (3,))
      >>> key.shape, bits.shape, bits.dtype.name
      ((4,), (3,), 'uint32')
    """
    return tuple(
        bits_primitive(
            key,
            shape=shape_of(shape, "rng_bit_generator"),
            dtype=dtypes.requested(dtype),
            algorithm=RandomAlgorithm(algorithm),
        )
    )


def rng_uniform(a: Value, b: Value, shape: Any) -> Value:
    """Random numbers from ``a`` to below ``b`` (integers or floats, scalars of one dtype): other ones each
    time that the program runs, because the backend's generator keeps a state of its own.

    Example:
      >>> lax.rng_uniform(0.0, 1.0, (3,)).shape
      (3,)
    """
    return uniform_primitive(a, b, shape=shape_of(shape, "rng_uniform"))


__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]
