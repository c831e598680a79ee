"""Random numbers within a kernel: the generator of a TPU's core, and on the CPU ThreeFry.

A generator belongs to a program of the grid: what seeds it makes it, and what asks for bits changes it. On a
TPU it is the core's own. On the CPU bits are those of XLA's ThreeFry (``lax.rng_bit_generator``), the seeds
being its key: the same in each run, and others than a TPU's.
"""

import numpy as np
from rabbet import lax
from rabbet.extend.cells import read, write
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import program_ids
from rabbet_pallas.calls import Scratch
from rabbet_pallas.references import Ref
from rabbet_pallas.scopes import allocate

STATE = ShapedArray((4,), "uint32")
SCRATCH = Scratch(STATE, None, "generator")
SPREAD = np.int32(-1640531527)  # 2**32 over the golden ratio, as i32

prng_seed_p = Primitive(
    "prng_seed", lambda state, *seeds: STATE, doc="the state of a generator with these seeds"
)
prng_bits_p = Primitive(
    "prng_random_bits", lambda state, *, shape: (STATE, ShapedArray(shape, "int32")), multiple_results=True,
    doc="the state of a generator afterwards, and random bits",
)  # fmt: skip


@prng_seed_p.decompose
def seeded(op, state, *seeds):
    words = [lax.full((), 0, "int32")] * 2
    for i, seed in enumerate(seeds):
        words[i % 2] = lax.add(lax.mul(words[i % 2], SPREAD), seed)
    key = [lax.reshape(lax.bitcast_convert_type(w, np.dtype("uint32")), (1,)) for w in words]
    return lax.concatenate([*key, lax.full((2,), 0, "uint32")], 0)


@prng_bits_p.decompose
def bits_at_once(op, state):
    algorithm = lax.RandomAlgorithm.RNG_THREE_FRY
    after, bits = lax.rng_bit_generator(state, op.params["shape"], algorithm=algorithm)
    return [after, lax.bitcast_convert_type(bits, np.dtype("int32"))]


@folded
def prng_seed(*seeds):
    """Make a generator for this program of the grid, from seeds.

    Call it once in each program, outside of branches and loops, with something of ``program_id`` among the
    seeds where programs are to differ.

    Args:
      seeds: one or more integers, known or i32 scalars.

    Raises:
      ValueError: outside a kernel, or without a seed.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out):
      ...     tpu.prng_seed(7, pl.program_id(0))
      ...     out[...] = tpu.prng_random_bits((2,)) & 1
      >>> bits = pl.pallas_call(kernel, rb.ShapeDtypeStruct((8,), "int32"), grid=4,
      ...                       out_specs=pl.BlockSpec((2,), lambda i: (i,)))()
      >>> sorted(set(bits.tolist()))
      [0, 1]
    """
    kept = program_ids.kept("prng_seed")
    if not seeds:
        raise ValueError("prng_seed without a seed\n  to fix: one or more integers")
    numbers = []
    for seed in seeds:
        seed = np.int32(seed) if isinstance(seed, int) else array_or_tracer(seed)
        aval = typeof(seed)
        if aval.shape or aval.kind not in "iu":
            raise TypeError(f"prng_seed: a seed {aval.str_short()}\n  to fix: integers without dimensions")
        numbers.append(lax.convert_element_type(seed, "int32"))
    state = prng_seed_p(allocate(scratch=SCRATCH), *numbers)
    kept["generator"] = Ref(STATE, state, None, "generator")


@folded
def prng_random_bits(shape):
    """Random bits of the program's generator.

    Args:
      shape: sizes, known.

    Returns:
      an array of i32, all values alike often.

    Raises:
      ValueError: outside a kernel, or before ``prng_seed``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out):
      ...     tpu.prng_seed(7)
      ...     out[...] = (tpu.prng_random_bits((3,)) == tpu.prng_random_bits((3,))).astype("int32")
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((3,), "int32"))().tolist()
      [0, 0, 0]
    """
    generator = program_ids.kept("prng_random_bits").get("generator")
    if generator is None:
        raise ValueError(
            "prng_random_bits before prng_seed in this kernel\n"
            "  to fix: prng_seed(seed, ...) at the beginning of the kernel, outside of branches"
        )
    shape = tuple([int(n) for n in shape])
    after, bits = prng_bits_p(read(generator), shape=shape)
    write(generator, after)
    return bits


@folded
def stateful_bits(shape=(), dtype="uint32"):
    """``prng_random_bits`` as unsigned integers of 32 bits.

    Args:
      shape: sizes.
      dtype: ``"uint32"``.

    Raises:
      ValueError: for another dtype, outside a kernel, or before ``prng_seed``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out):
      ...     tpu.prng_seed(1)
      ...     out[...] = tpu.stateful_bits((2,))
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((2,), "uint32"))().shape
      (2,)
    """
    if str(np.dtype(dtype)) != "uint32":
        raise ValueError(f"stateful_bits: dtype {dtype}\n  to fix: uint32")
    return lax.bitcast_convert_type(prng_random_bits(shape), np.dtype("uint32"))


@folded
def stateful_uniform(shape=(), dtype="float32", minval=0.0, maxval=1.0):
    """Numbers from ``minval`` on and below ``maxval``, all alike often, of the program's generator.

    Args:
      shape: sizes.
      dtype: ``"float32"``.
      minval, maxval: numbers.

    Raises:
      ValueError: for another dtype, outside a kernel, or before ``prng_seed``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out):
      ...     tpu.prng_seed(1)
      ...     out[...] = tpu.stateful_uniform((2,))
      >>> x = pl.pallas_call(kernel, rb.ShapeDtypeStruct((2,), "float32"))()
      >>> bool((x >= 0).all() and (x < 1).all())
      True
    """
    if str(np.dtype(dtype)) != "float32":
        raise ValueError(f"stateful_uniform: dtype {dtype}\n  to fix: float32")
    # 23 bits behind the point of a number from 1 to 2.
    bits = prng_random_bits(shape)
    bits = lax.bitwise_or(lax.shift_right_logical(bits, like(bits, 9)), like(bits, 0x3F800000))
    found = lax.bitcast_convert_type(bits, np.dtype("float32"))
    found = lax.sub(found, like(found, 1.0))
    if (minval, maxval) == (0.0, 1.0):
        return found
    return lax.add(lax.mul(found, like(found, maxval - minval)), like(found, minval))


def like(x, value):
    """An array of one number, of another's type."""
    aval = typeof(x)
    return lax.full(aval.shape, value, aval.dtype)


@folded
def stateful_bernoulli(p=0.5, shape=()):
    """Booleans, each True with probability ``p``, of the program's generator.

    Args:
      p: a number.
      shape: sizes.

    Raises:
      ValueError: outside a kernel, or before ``prng_seed``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out):
      ...     tpu.prng_seed(1)
      ...     out[...] = tpu.stateful_bernoulli(1.0, (2,)).astype("int32")
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((2,), "int32"))().tolist()
      [1, 1]
    """
    found = stateful_uniform(shape)
    return lax.lt(found, like(found, p))


@folded
def stochastic_round(x, random_bits, *, target_dtype):
    """float32 as bfloat16, up or down at random so that the mean is kept.

    Args:
      x: an array of float32.
      random_bits: an array of its shape, of uint32 or int32.
      target_dtype: ``"bfloat16"``.

    Raises:
      ValueError: for other dtypes.

    Example:
      >>> from rabbet.experimental.pallas import tpu
      >>> x = rnp.full((4,), 1.0 + 2.0**-9, "float32")
      >>> bits = rnp.array([0, 0x3FFF, 0xBFFF, 0xFFFF], "uint32")
      >>> tpu.stochastic_round(x, bits, target_dtype="bfloat16").tolist()
      [1.0, 1.0, 1.0, 1.0078125]
    """
    x, random_bits = array_or_tracer(x), array_or_tracer(random_bits)
    given = str(typeof(x).dtype), str(np.dtype(target_dtype))
    if given != ("float32", "bfloat16"):
        said = " to ".join(given)
        raise ValueError(f"stochastic_round: from {said}\n  to fix: from float32 to bfloat16")
    bits = lax.bitcast_convert_type(x, np.dtype("uint32"))
    added = lax.convert_element_type(random_bits, "uint32")
    added = lax.bitwise_and(added, like(added, 0xFFFF))
    kept = lax.bitwise_and(lax.add(bits, added), like(bits, 0xFFFF0000))
    rounded = lax.bitcast_convert_type(lax.select(lax.is_finite(x), kept, bits), np.dtype("float32"))
    return lax.convert_element_type(rounded, "bfloat16")


__all__ = [
    "prng_random_bits", "prng_seed", "stateful_bernoulli", "stateful_bits", "stateful_uniform",
    "stochastic_round",
]  # fmt: skip
