"""Callbacks: what they get, what is checked of what they return."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.extend.backend import compile_program, lower_program
from rabbet.extend.passes import stage
from rabbet.extend.transform import typeof

from .programs import jit


def struct(shape=(), dtype="float32"):
    return rb.ShapeDtypeStruct(shape, dtype)


def both(f):
    """Eagerly, then compiled."""
    return [f, jit(f)]


X = np.arange(6, dtype="f4").reshape(2, 3)


# ---------------------------------------------------------------------------------- what goes in and out
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "int64", "float16", "float64", "complex64"]
)
def test_values_of_every_dtype_arrive_and_return(dtype):
    x = rb.device_put(np.arange(6).reshape(2, 3).astype(dtype))
    for f in both(lambda x: rb.pure_callback(lambda v: np.asarray(v)[::-1], struct(x.shape, x.dtype), x)):
        out = f(x)
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(out, np.asarray(x)[::-1])


@pytest.mark.narrow
def test_arguments_and_results_are_pytrees():
    def host(pair, *, scale):
        assert type(pair["a"]) is rb.Array and pair["a"].shape == (2, 3)
        return {"sum": np.asarray(pair["a"]) + np.asarray(pair["b"]), "rest": [scale, None]}

    def f(a, b):
        result = {"sum": struct((2, 3)), "rest": [struct(dtype="int32"), None]}
        return rb.pure_callback(host, result, {"a": a, "b": b}, scale=3)

    for g in both(f):
        out = g(X, X)
        np.testing.assert_array_equal(out["sum"], 2 * X)
        assert out["rest"][0] == 3 and out["rest"][1] is None


def test_arguments_stay_valid_after_the_call():
    kept = []
    f = jit(lambda x: rb.io_callback(kept.append, None, x + 1.0))
    for i in range(3):
        f(np.full(1000, i, np.float32))
    assert [float(x[0]) for x in kept] == [1.0, 2.0, 3.0]
    assert all(np.ptp(x) == 0 for x in kept)


def test_results_are_copied():
    shared = np.ones(64, np.float32)

    for f in both(lambda: rb.io_callback(lambda: shared, struct((64,)))):
        shared[:] = 1
        out = f()
        shared[:] = 2
        assert out.tolist() == [1.0] * 64


@pytest.mark.forbidden("explicit_x64_dtypes")
@pytest.mark.narrow
def test_not_contiguous_results_and_numbers_of_numpy():
    for f in both(lambda x: rb.pure_callback(lambda v: np.asarray(v).T, struct((3, 2)), x)):
        np.testing.assert_array_equal(f(X), X.T)
    # NumPy computes in 64 bits where nobody asked for it.
    for f in both(lambda x: rb.pure_callback(lambda v: np.float64(np.asarray(v).sum()), struct(), x)):
        assert f(X) == 15.0
    for f in both(lambda x: rb.pure_callback(lambda v: 3, struct(), x)):
        assert f(X) == 3.0
    for f in both(lambda x: rb.pure_callback(lambda v: np.float64(1) / 3, struct(dtype="float64"), x)):
        assert float(f(X)) == 1 / 3


@pytest.mark.parametrize("call", [rb.pure_callback, rb.io_callback])
def test_lists_count_as_tuples_and_none_as_an_empty_one(call):
    for f in both(lambda x: call(lambda v: [v, (v + 1, None)], (struct((2, 3)), [struct((2, 3)), ()]), x)):
        first, (second, empty) = f(X)
        np.testing.assert_array_equal(first, X)
        np.testing.assert_array_equal(second, X + 1)
        assert empty == ()
    for f in both(lambda x: call(lambda v: None, (), x)):
        assert f(X) == ()


# ---------------------------------------------------------------------------------------- what is refused
REFUSED = [
    (lambda v: np.ones((3, 3), np.float32), ValueError, r"shape \(3, 3\).*promised f32\[2,3\]"),
    (
        lambda v: np.ones((2, 3), np.int32),
        TypeError,
        r"dtype int32.*promised f32\[2,3\].*astype\('float32'\)",
    ),
    (lambda v: np.ones((2, 3), np.float16), TypeError, "dtype float16"),
    (lambda v: (v, v), TypeError, r"structure .*promised"),
    (lambda v: (v,), TypeError, r"structure .*promised"),
    (lambda v: "text", TypeError, "not an array, str 'text'"),
    (lambda v: None, TypeError, "structure PyTreeDef"),
    (lambda v: np.ones((2, 3)) * 1j, TypeError, "dtype complex128"),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("host, error, message", REFUSED)
def test_another_result_than_promised_names_the_function_and_both_types(host, error, message, compiled):
    f = both(lambda x: rb.pure_callback(host, struct((2, 3)), x))[compiled]
    with pytest.raises(
        error, match=r"pure_callback: <lambda> \(.*test_callbacks.py:\d+\) returned .*" + message
    ):
        f(X)


def test_the_leaf_that_is_wrong_is_named():
    result = {"a": struct(), "b": struct((2,))}
    with pytest.raises(ValueError, match=r"at \['b'\] an array of shape \(3,\)"):
        rb.pure_callback(lambda: {"a": 1.0, "b": np.ones(3, "f4")}, result)


def test_what_is_no_callback_and_what_is_no_array():
    with pytest.raises(TypeError, match="pure_callback takes a function, got int: 3"):
        rb.pure_callback(3, struct())
    with pytest.raises(TypeError, match=r"argument for host_of .* not an array: str 'x'.*functools.partial"):
        rb.io_callback(host_of, struct(), "x")
    with pytest.raises(TypeError, match=r"what host_of .* returns.*ShapeDtypeStruct.*got float 1.0"):
        rb.io_callback(host_of, 1.0, 1.0)
    with pytest.raises(TypeError, match="sharding is a SingleDeviceSharding"):
        rb.pure_callback(host_of, struct(), 1.0, sharding=object())


def host_of(x):
    return x


# ------------------------------------------------------------------------------------------------ programs
def test_a_pure_callback_that_nobody_needs_is_not_called():
    calls = []
    f = jit(lambda x: (rb.pure_callback(lambda v: (calls.append(1), v)[1], struct(), x), x)[1])
    f(np.float32(1))
    assert calls == []


def test_programs_with_callbacks_are_kept_on_disk_with_their_callbacks_left_out(tmp_path):
    def made(offset):
        # The same program each time, but for what the callback is.
        host = lambda v: np.asarray(v) + np.float32(offset)
        jaxpr = stage(lambda x: [rb.pure_callback(host, struct(), lax.sin(x))], [typeof(np.float32(0))]).jaxpr
        return compile_program(lower_program(jaxpr))

    with rb.config.override(cache=True, cache_dir=str(tmp_path)):
        first, second = made(1), made(2)
    zero = [rb.device_put(np.float32(0))]
    assert (first.cached, second.cached) == (False, True)
    assert (first.runner(False)(zero)[0], second.runner(False)(zero)[0]) == (1.0, 2.0)


def test_another_platform_says_that_it_has_no_callbacks():
    jaxpr = stage(lambda x: [rb.pure_callback(host_of, struct(), x)], [typeof(np.float32(0))]).jaxpr
    with pytest.raises(MissingRule, match=r"(?s)host_of .*the platform 'tpu' does not offer"):
        lower_program(jaxpr, "tpu")
