"""Kernels under transformations: mapped, differentiated, in loops and branches, checkpointed, with rules."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu

ROWS = pl.BlockSpec((2, 3), lambda i: (i, 0))
SHARED = pl.BlockSpec((1, 3), lambda i: (0, 0))


def scaled(x, w):
    """``sin(x) * w``, by blocks of rows."""

    def kernel(x, w, out):
        out[...] = rnp.sin(x[...]) * w[...]

    return pl.pallas_call(kernel, rb.typeof(x), grid=3, in_specs=[ROWS, SHARED], out_specs=ROWS)(x, w)


def plain(x, w):
    return rnp.sin(x) * w


@pytest.fixture
def xw():
    random = np.random.default_rng(0)
    return [rnp.asarray(random.normal(size=s).astype("float32")) for s in ((6, 3), (1, 3))]


def calls_in(jaxpr):
    return [e.params["call"] for e in jaxpr.eqns if e.primitive.name == "pallas_call"]


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (2, 1)])
def test_a_mapped_kernel_stays_one_kernel(xw, axes):
    args = [x if a is None else rnp.stack([x, x * 2, -x, x + 1], a) for x, a in zip(xw, axes, strict=True)]
    mapped = rb.vmap(scaled, axes)
    np.testing.assert_allclose(mapped(*args), rb.vmap(plain, axes)(*args), rtol=1e-6)
    (call,) = calls_in(rb.make_jaxpr(mapped)(*args))
    assert call.grid == (4, 3) and call.semantics == ("parallel", "arbitrary")


def test_mapped_twice_with_scratch_and_aliases():
    def kernel(x, y, out, total):
        @pl.when(pl.program_id(0) == 0)
        def _():
            total[...] = rnp.zeros(2)

        total[...] += x[...]
        out[...] += total[...]

    call = pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((3, 2), "float32"), grid=3, input_output_aliases={1: 0},
        in_specs=[pl.BlockSpec((None, 2), lambda i: (i, 0))] * 2,
        out_specs=pl.BlockSpec((None, 2), lambda i: (i, 0)), scratch_shapes=[tpu.VMEM((2,), "float32")],
    )  # fmt: skip
    x, y = np.arange(60, dtype="float32").reshape(2, 5, 3, 2), np.ones((5, 3, 2), "float32")
    out = rb.vmap(rb.vmap(call), (0, None))(x, y)
    np.testing.assert_array_equal(out, x.cumsum(2) + y)
    np.testing.assert_array_equal(rb.vmap(call, (0, None))(x[0], y[0]), x[0].cumsum(1) + y[0])


def test_mapped_where_prefetched_scalars_differ():
    call = pl.pallas_call(
        lambda order, x, out: out.set(x[...]), rb.ShapeDtypeStruct((2, 2), "float32"),
        grid_spec=tpu.PrefetchScalarGridSpec(
            1, (2,), [pl.BlockSpec((1, 2), lambda i, order: (order[i], 0))],
            pl.BlockSpec((1, 2), lambda i, order: (i, 0)),
        ),
    )  # fmt: skip
    x, orders = np.arange(8, dtype="float32").reshape(4, 2), np.int32([[3, 0], [1, 1], [2, 3]])
    np.testing.assert_array_equal(rb.vmap(call, (0, None))(orders, x), x[orders])


def test_derivatives_of_both_modes_and_second_order(xw):
    for function in (scaled, rb.vmap(scaled, (0, None))):
        x, w = (xw[0][None], xw[1]) if function is not scaled else xw
        like = plain if function is scaled else rb.vmap(plain, (0, None))
        loss = lambda f: lambda x, w: (f(x, w) ** 2).sum()  # noqa: B023
        tangents = x * 0.5, w + 1
        for ours, theirs in [
            (rb.grad(loss(function), (0, 1))(x, w), rb.grad(loss(like), (0, 1))(x, w)),
            (rb.jvp(function, (x, w), tangents), rb.jvp(like, (x, w), tangents)),
            (rb.hessian(loss(function))(x, w), rb.hessian(loss(like))(x, w)),
        ]:
            rb.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), ours, theirs)


def test_only_what_moves_is_differentiated(xw):
    found = rb.grad(lambda w: scaled(xw[0], w).sum())(xw[1])
    np.testing.assert_allclose(found, np.sin(xw[0]).sum(0, keepdims=True), rtol=1e-5)


def test_within_loops_branches_and_checkpoints(xw):
    def through(f):
        def loss(x, w):
            x = lax.scan(lambda c, s: (f(c, w) * s, None), x, rnp.array([0.5, 2.0]))[0]
            x = lax.cond(x[0, 0] > 0, lambda x: f(x, w), lambda x: f(x, -w), x)
            return rb.checkpoint(f)(x, w).sum()

        return loss

    for ours, theirs in zip(
        rb.value_and_grad(through(scaled), (0, 1))(*xw)[1],
        rb.value_and_grad(through(plain), (0, 1))(*xw)[1],
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_rule_of_its_own():
    def kernel(x, out):
        out[...] = x[...] * 2

    double = lambda x: pl.pallas_call(kernel, rb.typeof(x))(x)

    @rb.custom_vjp
    def tripled_back(x):
        return double(x)

    tripled_back.defvjp(lambda x: (double(x), None), lambda _, g: (g * 3,))
    assert float(rb.grad(lambda x: tripled_back(x).sum())(rnp.ones(3))[0]) == 3


def test_rules_within_a_kernel():
    @rb.custom_jvp
    def odd(x):
        return x * 2

    odd.defjvp(lambda p, t: (odd(*p), t[0] * 5))

    def kernel(x, out):
        out[...] = odd(x[...])

    f = lambda x: pl.pallas_call(kernel, rb.typeof(x))(x).sum()
    assert rb.grad(f)(rnp.ones(2)).tolist() == [5, 5]


@pytest.mark.forbidden("enable_x64")
def test_other_transformations_go_through(xw):
    from rabbet.experimental.jet import jet

    terms = jet(lambda x: scaled(x, xw[1]), (xw[0],), ([rnp.ones((6, 3))],))[1]
    np.testing.assert_allclose(terms[0], np.cos(xw[0]) * xw[1], rtol=1e-5)
    rb.make_jaxpr(rb.linearize(scaled, *xw)[1])(*xw)


def test_printing_from_within(capfd):
    def kernel(x, out):
        pl.debug_print("program {} of {}", pl.program_id(0), pl.num_programs(0))
        pl.debug_print("first", x[0, 0])
        out[...] = x[...]

    x = rnp.arange(12.0).reshape(4, 3)
    rb.jit(pl.pallas_call(kernel, rb.typeof(x), grid=2, in_specs=[ROWS], out_specs=ROWS))(x)
    rb.effects_barrier()
    lines = capfd.readouterr().out.splitlines()
    assert lines == ["program 0 of 2", "first 0.0", "program 1 of 2", "first 6.0"]


def test_checks_within():
    def kernel(x, out):
        pl.debug_check(x[0, 0] < 5, lambda: "the first is too large")
        out[...] = x[...]

    x = rnp.arange(12.0).reshape(4, 3)
    call = lambda: pl.pallas_call(kernel, rb.typeof(x), grid=2, in_specs=[ROWS], out_specs=ROWS)(x)
    call().block_until_ready()
    with pl.enable_debug_checks(), pytest.raises(RuntimeError, match="the first is too large"):
        call().block_until_ready()
        rb.effects_barrier()
    rb.effects_barrier()
