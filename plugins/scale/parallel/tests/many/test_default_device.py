"""``default_device``: where what is not committed is computed, whatever was computed there before."""

import gc
import weakref

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.extend.primitive import reshape

FIRST, SECOND, THIRD = rb.devices()[:3]
FREE = rb.device_put(np.arange(4, dtype=np.float32))
FUNCTIONS = {
    "x + y": lambda x: x + x,
    "x + 1": lambda x: x + 1,
    "tanh": rnp.tanh,
    "x[0]": lambda x: x[0],
    "x[1:]": lambda x: x[1:],
    "sum": lambda x: x.sum(),
    "where": lambda x: rnp.where(x > 1, x, 0),
    "x.at": lambda x: x.at[0].set(3),
    "scan": lambda x: lax.scan(lambda c, v: (c + v, v), 0.0, x)[1],
    "sort": rnp.sort,
    "jit": rb.jit(lambda x: x * 2),
    "jit of a tree": lambda x: DOUBLE({"x": x})["x"],
    "grad": rb.grad(lambda x: (x * x).sum()),
    "vmap": rb.vmap(lambda x: x * 3),
}
DOUBLE = rb.jit(lambda t: {"x": t["x"] * 2})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_committed_is_computed_there(name):
    function = FUNCTIONS[name]
    wanted = np.asarray(function(FREE))
    with rb.default_device(SECOND):
        there = rnp.arange(4.0)
    for _ in range(2):
        for device in (SECOND, None, THIRD, FIRST, None):
            with rb.default_device(device):
                for x in (FREE, there):
                    out = function(x)
                    assert out.device is (device or FIRST) and not out.committed
                    np.testing.assert_array_equal(out, wanted)
                put = function(rb.device_put(FREE, rb.devices()[5]))
                assert put.device is rb.devices()[5] and put.committed
    assert there.device is SECOND and rb.device_put(there).device is SECOND


def test_what_was_compiled_stays_where_it_was_compiled_for():
    double = rb.jit(lambda x: x * 2)
    here = double.lower(FREE).compile()
    with rb.default_device(SECOND):
        there = double.lower(FREE).compile()
        assert here(FREE).device is FIRST and there(FREE).device is SECOND
    assert there(FREE).device is SECOND and not there(FREE).committed


def test_a_setting_of_the_process():
    rb.config.update("default_device", THIRD)
    try:
        assert (FREE + 1).device is THIRD and rb.jit(lambda x: x)(FREE).device is THIRD
    finally:
        rb.config.update("default_device", None)
    assert (FREE + 1).device is FIRST


def test_operators_are_given_back():
    with rb.default_device(SECOND):
        op = reshape.op(new_sizes=(2, 2))
        op(FREE)
    gone = weakref.ref(op)
    op.primitive.forget()
    gc.disable()
    try:
        del op
        assert gone() is None
    finally:
        gc.enable()
