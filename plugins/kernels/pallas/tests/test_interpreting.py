"""Kernels computed by ordinary operations where hardware would have its own."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.experimental.pallas as pl
from rabbet.experimental.pallas import tpu

pytestmark = pytest.mark.needs("jit", "numpy")
STRUCT = rb.ShapeDtypeStruct((4,), "float32")


def half(x, out):
    out[:2] = x[:2]


def text(f):
    """What is compiled for a TPU."""
    return rb.jit(f).trace(np.ones(4, "float32")).lower(platforms=("tpu",)).as_text()


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_params_say_what_is_not_written():
    x = np.ones(4, "float32")
    found = [
        pl.pallas_call(half, STRUCT, interpret=tpu.InterpretParams(uninitialized_memory=word))(x)
        for word in ("nan", "zero")
    ]
    np.testing.assert_array_equal(found, [[1, 1, np.nan, np.nan], [1, 1, 0, 0]])


def test_they_are_for_every_platform():
    assert "tpu_custom_call" not in text(pl.pallas_call(half, STRUCT, interpret=tpu.InterpretParams()))


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_force_within_a_block():
    f = lambda x: pl.pallas_call(half, STRUCT)(x)
    jitted = rb.jit(f)
    x = np.ones(4, "float32")
    before = jitted(x)
    with tpu.force_tpu_interpret_mode():
        assert "tpu_custom_call" not in text(f)
        within = jitted(x)
    np.testing.assert_array_equal(before, [1, 1, 0, 0])
    np.testing.assert_array_equal(within, [1, 1, np.nan, np.nan])
    np.testing.assert_array_equal(jitted(x), before)


@pytest.mark.parametrize(
    "given", [{"detect_races": True}, {"num_cores_or_threads": 2}, {"uninitialized_memory": "ones"}]
)
def test_what_is_not_offered_is_refused(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        tpu.InterpretParams(**given)
