"""Compiled functions in programs: values, attributes, layouts, aliases, effects, and vmap against a loop."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import ffi, lax
from rabbet.errors import MissingRule
from rabbet.extend.primitive import Primitive
from rabbet.ffi.lowering import attribute

pytestmark = pytest.mark.needs("jit", "vmap", "grad")
F32 = np.float32
X = np.linspace(-2, 3, 12, dtype=F32).reshape(3, 4)


def like(*shape):
    return rb.ShapeDtypeStruct(shape, F32)


def norm(x, method="legacy_vectorized"):
    *rows, _ = x.shape
    return ffi.ffi_call("rabbet_test_norm", [like(*x.shape), like(*rows)], vmap_method=method)(
        x, eps=F32(0.5)
    )


def exact(x, eps=0.5):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps), np.abs(x).max(-1)


def test_eager_and_compiled(library):
    for run in (norm, rb.jit(norm)):
        for found, wanted in zip(run(X), exact(X), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert "rabbet_test_norm" in rb.jit(norm).lower(X).as_text()


def test_attributes(library):
    one = ffi.ffi_call("rabbet_test_attributes", like(2))
    given = {"n": 3, "vector": np.float32([1.5, 2.5]), "flip": False, "text": 'a "b"\\é', "number": 0.25}
    x = lax.full((2,), 10.0, "float32")
    length = len('a "b"\\é'.encode())
    np.testing.assert_allclose(one(x, **given), 10 + 3 + 4 + length + 0.25)
    np.testing.assert_allclose(
        rb.jit(lambda x: one(x, **{**given, "flip": True}))(x), 10 + 3 - 4 + length + 0.25
    )
    with pytest.raises(Exception, match="n must not be negative"):
        rb.block_until_ready(one(x, **{**given, "n": -1}))
    with pytest.raises(TypeError, match="an attribute is a bool, a number"):
        one(x, **{**given, "n": object()})


def test_attributes_as_text():
    assert attribute(True) == "true" and attribute(3) == "3 : i64" and attribute(np.uint8(3)) == "3 : ui8"
    assert attribute(1.0) == "0x3FF0000000000000 : f64" and attribute(F32(-np.inf)) == "0xFF800000 : f32"
    assert attribute(np.int32([1, -2])) == "array<i32: 1, -2>" and attribute(np.zeros(0, F32)) == "array<f32>"
    assert attribute({"a": (1, "x")}) == '{"a" = [1 : i64, "x"]}'


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "broadcast_all", "legacy_vectorized"]
)
def test_vmap_is_a_loop(library, method):
    many = np.stack([X, 2 * X, X - 1])
    for run in (lambda f: f, rb.jit):
        for axis, batch in ((0, many), (2, np.moveaxis(many, 0, 2))):
            found = run(rb.vmap(lambda x: norm(x, method), in_axes=axis))(batch)
            for i, x in enumerate(many):
                for one, wanted in zip(found, exact(x), strict=True):
                    np.testing.assert_allclose(one[i], wanted, rtol=1e-6)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "broadcast_all"])
def test_vmap_of_no_examples_has_no_results(library, method):
    call = ffi.ffi_call("rabbet_test_raw", like(3), vmap_method=method)
    assert rb.vmap(call)(np.zeros((0, 3), F32)).shape == (0, 3)


def test_vmap_without_a_method_says_what_to_give(library):
    with pytest.raises(MissingRule, match=r"(?s)'rabbet_test_norm'.*vmap_method: 'sequential'"):
        rb.vmap(lambda x: norm(x, None))(np.stack([X, X]))
    with pytest.raises(ValueError, match="vmap_method must be one of 'sequential'"):
        norm(X, "somehow")


def test_layouts(library):
    def raw(x, inputs=None, outputs=None):
        call = ffi.ffi_call("rabbet_test_raw", like(*x.shape), input_layouts=inputs, output_layouts=outputs,
                            vmap_method="broadcast_all")  # fmt: skip
        return call(x)

    np.testing.assert_array_equal(raw(X), X)
    np.testing.assert_array_equal(raw(X, [(1, 0)]), X.T.reshape(3, 4))
    np.testing.assert_array_equal(raw(X, [(1, 0)], (1, 0)), X)
    many = np.stack([X, -X])
    np.testing.assert_array_equal(
        rb.vmap(lambda x: raw(x, [(1, 0)]))(many), [x.T.reshape(3, 4) for x in many]
    )
    with pytest.raises(ValueError, match="is not a layout of f32"):
        raw(X, [(0, 0)])


@pytest.mark.forbidden("disable_jit")
def test_aliases_and_effects(library):
    shared = ffi.ffi_call("rabbet_test_raw", like(3, 4), input_output_aliases={0: 0})
    np.testing.assert_array_equal(rb.jit(lambda x: shared(x * 2))(X), 2 * X)
    with pytest.raises(ValueError, match="cannot share memory"):
        ffi.ffi_call("rabbet_test_raw", like(4, 3), input_output_aliases={0: 0})(X)

    def counted(effect):
        call = ffi.ffi_call("rabbet_test_count", like(1), has_side_effect=effect)
        before = library.rabbet_test_calls()
        rb.jit(lambda x: (call(x), x + 1)[1])(X[0, :1]).block_until_ready()
        rb.effects_barrier()
        return library.rabbet_test_calls() - before

    assert (counted(True), counted(False)) == (1, 0)


def test_derivatives_need_a_rule(library):
    with pytest.raises(MissingRule, match="no derivative of its own; give the function"):
        rb.grad(lambda x: norm(x)[1].sum())(X)

    @rb.custom_jvp
    def top(x):
        return norm(x)[1]

    slope = np.sign(X) * (np.abs(X) == exact(X)[1][:, None])
    top.defjvp(lambda p, t: (top(*p), (slope * t[0]).sum(-1)))
    np.testing.assert_array_equal(rb.jit(rb.grad(lambda x: top(x).sum()))(X), slope)


def test_a_rule_for_a_primitive_of_ones_own(library):
    mine = Primitive("mine_by_ffi", lambda x: x, doc="the same")
    mine.rule("lower")(ffi.ffi_lowering("rabbet_test_raw"))
    np.testing.assert_array_equal(rb.jit(mine)(X), X)


def test_what_is_not_registered_is_refused_when_it_is_compiled():
    call = rb.jit(ffi.ffi_call("nobody_knows", like(3)))
    assert "nobody_knows" in call.lower(X[0]).as_text()  # a program may be written where it is not run
    with pytest.raises(rb.errors.CompileError, match="'nobody_knows' is not registered; register_ffi"):
        call(X[0])
    with pytest.raises(TypeError, match="needs a capsule, as pycapsule"):
        ffi.register_ffi_target("nobody_knows", lambda x: x)
    with pytest.raises(TypeError, match="result_shape_dtypes holds objects with a shape"):
        ffi.ffi_call("nobody_knows", (3, 4))
    with pytest.raises(ValueError, match="for custom_call_api_version below 4"):
        ffi.ffi_call("nobody_knows", like(3), legacy_backend_config="x")
