"""The compiler's own random generators: ``rng_bit_generator`` and ``rng_uniform``.

``rabbet.random`` does not use them: its generator is made of ordinary operations and gives the same bits
everywhere. These are here for programs that ask for a backend's generator by name.
"""

import enum

import numpy as np

from rabbet.primitives import batching, checks, loops, zeros
from rabbet.program.avals import ShapedArray
from rabbet.rules.payloads import Batched
from rabbet.rules.primitive import Primitive
from rabbet.rules.tables import refusing
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage


class RandomAlgorithm(enum.IntEnum):
    """The generators of StableHLO's ``rng_bit_generator``; the default one differs between platforms."""

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
    checks.accept("rng_bit_generator, as dtype,", checks.INTEGERS, out)
    return key, out


rng_bit_generator = Primitive(
    "rng_bit_generator", rng_bit_generator_aval, multiple_results=True,
    doc="random integers from a key, and the key to use next",
)  # fmt: skip


@rng_bit_generator.rule("lower")
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


rng_bit_generator.rule("jvp")(zeros.no_tangent)


# -------------------------------------------------------------------------------------------- rng_uniform
def rng_uniform_aval(a, b, shape):
    checks.accept("rng_uniform", checks.REALS, a, b)
    checks.same_dtype("rng_uniform", a, b)
    if a.shape or b.shape:
        raise TypeError(f"rng_uniform: the bounds must be scalars, got {a.str_short()}, {b.str_short()}")
    return ShapedArray(shape, a.dtype)


rng_uniform = Primitive(
    "rng_uniform", rng_uniform_aval, adopt=0, doc="random numbers from a to b, new ones at each call"
)
rng_uniform.rule("jvp")(
    refusing(
        "the numbers of a generator with hidden state have no derivative; use rabbet.random.uniform, or "
        "stop_gradient on the bounds"
    )
)


@rng_uniform.rule("lower")
def lower_rng_uniform(op, a, b):
    sizes = ShapedArray((len(op.out.shape),), np.dtype("int64"))
    extent = op.constant(np.array(op.out.shape, np.int64), sizes)
    types = ", ".join([aval.mlir for aval in (*op.in_avals, sizes)])
    return op.emit(f"stablehlo.rng {a}, {b}, {extent}, distribution = UNIFORM : ({types}) -> {op.out.mlir}")


@rng_bit_generator.rule("batch")
@rng_uniform.rule("batch")
def one_by_one(op, *operands):
    """Each example's own numbers: a loop, so that mapping over keys gives what each key gives."""
    rows = batching.at_front(*operands)
    several = op.primitive.multiple_results
    body = stage(
        lambda *args: list(op(*args)) if several else [op(*args)],
        [typeof(x).update(shape=typeof(x).shape[1:]) for x in rows],
        op.primitive.name,
    ).jaxpr
    outs = loops.scan(*rows, jaxpr=body, length=batching.size_of(*operands), reverse=False, consts=0, carry=0)
    return [Batched(x, 0) for x in outs] if several else Batched(outs[0], 0)


__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]
