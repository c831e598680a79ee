"""Random numbers in kernels: by seeds and programs, through loops, and their distribution."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.experimental.pallas as pl
from rabbet import lax
from rabbet.experimental.pallas import tpu

pytestmark = pytest.mark.needs("jit", "numpy")


def drawn(draw, dtype="float32", shape=(8, 128), programs=4, seeds=lambda i: (3, i)):
    """What programs draw, each a block of rows."""

    def kernel(out):
        tpu.prng_seed(*seeds(pl.program_id(0)))
        out[...] = draw(shape)

    rows = shape[0] * programs
    call = pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((rows, shape[1]), dtype), grid=programs,
        out_specs=pl.BlockSpec(shape, lambda i: (i, 0)),
    )  # fmt: skip
    return np.asarray(rb.jit(call)())


def test_programs_and_seeds():
    bits = drawn(tpu.prng_random_bits, "int32")
    assert len(np.unique(bits)) > 0.99 * bits.size
    np.testing.assert_array_equal(bits, drawn(tpu.prng_random_bits, "int32"))
    one = drawn(tpu.prng_random_bits, "int32", seeds=lambda i: (3,))
    np.testing.assert_array_equal(one[:8], one[8:16])
    many = drawn(tpu.prng_random_bits, "int32", seeds=lambda i: (3, i, 5, i))
    assert not (many == bits).any()


def test_distributions():
    x = drawn(tpu.stateful_uniform)
    assert 0 <= x.min() < 0.01 and 0.99 < x.max() < 1
    assert abs(x.mean() - 0.5) < 0.02 and abs(x.var() - 1 / 12) < 0.005
    heads = drawn(lambda s: tpu.stateful_bernoulli(0.3, s).astype("float32"))
    assert abs(heads.mean() - 0.3) < 0.03
    ones = drawn(lambda s: lax.population_count(tpu.stateful_bits(s)), "uint32")
    assert abs(ones.mean() - 16) < 0.2


def test_a_loop_goes_on():
    def three(shape):
        return lax.fori_loop(0, 3, lambda i, c: c * 3 + tpu.prng_random_bits(shape), np.zeros(shape, "int32"))

    def unrolled(shape):
        found = np.zeros(shape, "int32")
        for _ in range(3):
            found = found * 3 + tpu.prng_random_bits(shape)
        return found

    np.testing.assert_array_equal(drawn(three, "int32"), drawn(unrolled, "int32"))


def test_stochastic_rounding_keeps_the_mean():
    x = np.full((64, 64), 1.0 + 0.3 * 2.0**-7, "float32")
    bits = np.random.default_rng(0).integers(0, 1 << 32, x.shape, dtype="uint32")
    rounded = np.asarray(tpu.stochastic_round(x, bits, target_dtype="bfloat16")).astype("float32")
    assert set(np.unique(rounded)) == {np.float32(1.0), np.float32(1.0 + 2.0**-7)}
    assert abs((rounded > 1).mean() - 0.3) < 0.03
    with pytest.raises(ValueError, match="stochastic_round: from float32 to float16\n  to fix"):
        tpu.stochastic_round(x, bits, target_dtype="float16")


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_stochastic_rounding_keeps_what_is_not_finite():
    special = np.array([np.inf, -np.inf, np.nan], "float32")
    out = np.asarray(tpu.stochastic_round(special, np.full(3, 0xFFFF, "uint32"), target_dtype="bfloat16"))
    np.testing.assert_array_equal(out.astype("float32"), special)


def test_a_generator_without_a_seed():
    with pytest.raises(ValueError, match="prng_seed outside a kernel\n  to fix"):
        tpu.prng_seed(1)

    def kernel(out):
        out[...] = tpu.prng_random_bits((8,))

    with pytest.raises(ValueError, match="before prng_seed in this kernel\n  to fix"):
        pl.pallas_call(kernel, rb.ShapeDtypeStruct((8,), "int32"))()


def test_what_is_written_for_tpus_and_refused_for_gpus():
    pytest.importorskip("rabbet_pallas_tpu")
    from rabbet_pallas_tpu import kernel as writer

    def kernel(out):
        tpu.prng_seed(3, pl.program_id(0))
        step = lambda i, c: c + tpu.prng_random_bits((8, 128))
        out[...] = lax.fori_loop(0, 3, step, np.zeros((8, 128), "int32"))

    block = pl.BlockSpec((8, 128), lambda i: (0, 0))
    call = pl.pallas_call(kernel, rb.ShapeDtypeStruct((8, 128), "int32"), grid=1, out_specs=block)
    program = rb.make_jaxpr(call)().jaxpr
    (found,) = [e.op.params["call"] for e in program.equations if e.op.primitive.name == "pallas_call"]
    text = writer.module(found, "k")
    assert text.count("tpu.prng_set_seed_32") == 1 and text.count("tpu.prng_random_bits") == 1
    pytest.importorskip("rabbet_pallas_triton")
    with pytest.raises(rb.errors.NotOfferedError, match=r"prng_seed[\s\S]*random.bits"):
        rb.jit(call).trace().lower(platforms=("cuda",))
