"""``check_tracer_leaks`` and derivatives: what the library holds is no leak, what a function keeps is one."""

import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.ad_checkpoint import saved_residuals
from rabbet.custom_derivatives import closure_convert, linear_call

pytestmark = pytest.mark.needs("jit", "vmap", "custom_vjp")

X = np.arange(3, dtype="float32")


@rb.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (doubled(x), x), lambda x, ct: (2 * ct,))


def pair(x):
    return x * x, {"aux": x * 3}


def of_map(x):
    return lax.reduce_sum(rb.vmap(doubled)(x), (0,))


@functools.partial(rb.custom_vjp, nondiff_argnums=(0,))
def evaluated(f, x, *consts):
    return f(x, *consts)


evaluated.defvjp(
    lambda f, x, *consts: (f(x, *consts), consts), lambda f, held, ct: (ct, *[2 * ct * c for c in held])
)


def converted(a):
    function, consts = closure_convert(lambda x: x * a, 3.0)
    return evaluated(function, 3.0, *consts)


def sixfold(x):
    return linear_call(lambda _, x: x, lambda _, ct: 6.0 * ct, (), x)


def slope_of_map(x):
    return lax.reduce_sum(rb.grad(of_map)(x) * x, (0,))


def sixth_power(x):
    return lax.while_loop(lambda v: v > 0, lambda v: v * x, x, max_steps=5, checkpoints=4)


def square_root(x):
    """Of a number that the equation, its solver and that of the tangents close over."""
    start = lax.full_like(x, 3)
    turns = lambda f, v: lax.fori_loop(0, 2, lambda _, v: v - f(v) / (x / 3 + v), v)
    return lax.custom_root(lambda v: v * v - x, start, turns, lambda g, y: y / g(lax.full_like(y, 1)))


def both_passes():
    fwd, bwd = rb.fwd_and_bwd(lambda x, w: x * w, argnums=0)
    return bwd(fwd(2.0, 3.0)[1], 2.0)


PROGRAMS = {
    "grad, aux": lambda: rb.grad(pair, has_aux=True)(2.0)[1]["aux"],
    "grad of grad, aux": lambda: rb.grad(lambda x: rb.grad(pair, has_aux=True)(x)[1]["aux"])(2.0) + 3,
    "jit of grad, aux": lambda: rb.jit(rb.grad(pair, has_aux=True))(2.0)[1]["aux"],
    "vmap of grad, aux": lambda: rb.vmap(rb.grad(pair, has_aux=True))(X)[1]["aux"][2],
    "jacfwd, aux": lambda: rb.jacfwd(pair, has_aux=True)(2.0)[1]["aux"],
    "jacrev, aux": lambda: rb.jacrev(pair, has_aux=True)(2.0)[1]["aux"],
    "vjp, aux": lambda: rb.vjp(pair, 2.0, has_aux=True)[2]["aux"],
    "jvp, aux": lambda: rb.jvp(pair, (2.0,), (1.0,), has_aux=True)[2]["aux"],
    "grad of a mapped rule": lambda: rb.grad(of_map)(X)[0] + 4,
    "grad of a mapped rule's grad": lambda: rb.grad(slope_of_map)(X)[0] + 4,
    "grad of a mapped rule, compiled": lambda: rb.jit(rb.grad(lambda x: of_map(lax.broadcast(x, (3,)))))(1.0),
    "linear_call": lambda: rb.grad(sixfold)(2.0),
    "closure_convert": lambda: rb.grad(converted)(3.0),
    "fwd_and_bwd": both_passes,
    "a loop of kept states": lambda: rb.grad(sixth_power)(1.0),
    "custom_root, compiled": lambda: rb.jit(square_root)(9.0) + 3,
    "grad of custom_root, compiled": lambda: 36 * rb.jit(rb.grad(square_root))(9.0),
    "what is kept": lambda: len(saved_residuals(lambda x: lax.sin(x) * 2.0, 1.0)) + 5.0,
}


@pytest.mark.parametrize("which", PROGRAMS)
def test_what_the_library_holds_is_no_leak(which):
    with rb.config.override(check_tracer_leaks=True):
        assert float(PROGRAMS[which]()) == 6.0


@pytest.mark.parametrize("transform", [rb.grad, rb.jacfwd, lambda f: lambda x: rb.vjp(f, x)])
def test_what_a_function_keeps_is_one(transform):
    kept = []

    def keeping(x):
        kept.append(x * 2)
        return x

    found = pytest.raises(rb.errors.UnexpectedTracerError, match=r"keeping.* has finished")
    with rb.config.override(check_tracer_leaks=True), found:
        transform(keeping)(1.0)
