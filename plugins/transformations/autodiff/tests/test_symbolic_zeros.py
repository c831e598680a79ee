"""Derivative rules that are told which inputs and outputs are not differentiated."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)  # fmt: skip

X = np.array([-1.0, 0.5, 2.0], "f4")


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def product_with(seen):
    """A product whose jvp rule notes which tangents are zero, and has ten times the derivative."""

    @rb.custom_jvp
    def product(x, y):
        return x * y, x

    def rule(primals, tangents):
        (x, y), (s, t) = primals, tangents
        zero = [type(one) is SymbolicZero for one in tangents]
        seen.append(zero)
        if any(zero):
            assert tangents[zero.index(True)].shape == x.shape
        terms = [10 * dot * other for dot, other, z in ((s, y, zero[0]), (t, x, zero[1])) if not z]
        moved = sum(terms[1:], terms[0])
        return product(x, y), (moved, s if zero[0] else 10 * s)

    product.defjvp(rule, symbolic_zeros=True)
    return product


def test_jvp_rules_see_which_tangents_are_zero():
    seen = []
    f = product_with(seen)
    assert rb.grad(lambda x: f(x, 3.0)[0])(2.0) == 30
    assert rb.grad(lambda y: f(2.0, y)[0])(3.0) == 20
    assert rb.grad(lambda x: f(x, x)[0])(3.0) == 60
    assert seen == [[False, True], [True, False], [False, False]]


def test_a_zero_that_a_rule_returns_is_zero():
    seen = []
    f = product_with(seen)
    assert rb.grad(lambda y: f(2.0, y)[1])(3.0) == 0
    assert rb.jvp(lambda y: f(2.0, y)[1], (3.0,), (1.0,)) == (2, 0)


@pytest.mark.needs("jit")
def test_they_see_it_under_jit_and_maps_and_in_bodies():
    seen = []
    f = product_with(seen)
    by_first = lambda x: f(x, 3.0)[0]
    for body in (rb.jit(by_first), rb.checkpoint(by_first), lambda x: lax.cond(x > 0, by_first, by_first, x)):
        seen.clear()
        assert rb.grad(body)(2.0) == 30
        assert seen and all(zero == [False, True] for zero in seen)
    for mapped in (lambda x: total(rb.vmap(by_first)(x)), lambda x: total(rb.jit(rb.vmap(by_first))(x))):
        seen.clear()
        assert rb.grad(mapped)(X).tolist() == [30] * 3
        assert seen and all(zero == [False, True] for zero in seen)


def scaled_with(seen):
    """Two outputs, two inputs; the rules note what is perturbed and which cotangents are zero."""

    @rb.custom_vjp
    def f(p, y):
        return p["x"] * y, y * 2

    def fwd(p, y):
        assert type(y) is CustomVJPPrimal
        seen.append(("fwd", p["x"].perturbed, y.perturbed))
        p, y = custom_vjp_primal_tree_values((p, y))
        return f(p, y), (p["x"], y)

    def bwd(residuals, cts):
        x, y = residuals
        zero = [type(ct) is SymbolicZero for ct in cts]
        seen.append(("bwd", *zero))
        dx = cts[0] if zero[0] else 10 * cts[0] * y
        dy = 0 * y + sum(10 * ct * k for ct, k, z in zip(cts, (x, 2), zero, strict=True) if not z)
        return {"x": dx}, dy

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f


def test_vjp_rules_see_what_is_perturbed_and_which_cotangents_are_zero():
    seen = []
    f = scaled_with(seen)
    assert rb.grad(lambda x: f({"x": x}, 3.0)[0])(2.0) == 30
    assert seen == [("fwd", True, False), ("bwd", False, True)]
    seen.clear()
    assert rb.grad(lambda x, y: f({"x": x}, y)[1], (0, 1))(2.0, 3.0) == (0, 20)
    assert seen == [("fwd", True, True), ("bwd", True, False)]


@pytest.mark.needs("jit")
def test_they_see_it_under_jit_and_maps():
    seen = []
    f = scaled_with(seen)
    by_first = lambda x: f({"x": x}, 3.0)[0]
    for body in (rb.jit(by_first), rb.checkpoint(by_first)):
        seen.clear()
        assert rb.grad(body)(2.0) == 30
        assert seen == [("fwd", True, False), ("bwd", False, True)]
    for mapped in (lambda x: total(rb.vmap(by_first)(x)), lambda x: total(rb.vmap(rb.jit(by_first))(x))):
        seen.clear()
        assert rb.grad(mapped)(X).tolist() == [30] * 3
        assert ("fwd", True, False) in seen and ("bwd", False, True) in seen


def test_zeros_for_primals():
    assert zero_from_primal(1.0) == 0
    assert zero_from_primal(X).tolist() == [0] * 3
    assert zero_from_primal(3).dtype == rb.dtypes.float0
    zero = zero_from_primal(X, symbolic_zeros=True)
    assert (zero.shape, zero.dtype, zero.ndim) == ((3,), np.float32, 1)
    assert zero == SymbolicZero(zero.aval) and "f32[3]" in repr(zero)
