"""Callbacks under jax and under rabbet: what is printed, how often functions are called, with what shapes."""

import contextlib
import io

import jax
import jax.experimental
import numpy as np
import pytest
import rabbet as rb

X = np.arange(6, dtype="f4").reshape(2, 3) / 2


def printed(framework, program):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        program(framework, framework.lax)
        framework.effects_barrier()
    return out.getvalue()


def in_a_loop(fw, lax):
    def step(c, x):
        fw.debug.print("{c} at {x}", c=c, x=x, ordered=True)
        return c + x[0], None

    fw.jit(lambda x: lax.scan(step, x[0, 0], x))(X)


def differentiated(fw, lax):
    def f(x):
        fw.debug.print("x {} of {shape}", x, shape=x.shape)
        return lax.sin(x)

    fw.grad(f)(1.0)
    fw.jit(fw.value_and_grad(f))(2.0)
    fw.jvp(f, (0.5,), (1.0,))


PROGRAMS = [
    in_a_loop,
    differentiated,
    lambda fw, lax: fw.jit(lambda x: fw.debug.print("{x} {{}} {0} {1:>4}", x[0], "s", x=x))(X),
    lambda fw, lax: fw.vmap(lambda x: fw.debug.print("row {}", x))(X),
    lambda fw, lax: fw.vmap(fw.vmap(lambda x: fw.debug.print("{:.1f}", x)))(X),
    lambda fw, lax: fw.vmap(lambda x: lax.cond(
        x[0] > 1, lambda v: fw.debug.print("large"), lambda v: fw.debug.print("small"), x))(X),
    lambda fw, lax: fw.debug.print("{} {}", np.arange(3), {"a": "b"}),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_lines_are_printed(program):
    assert printed(rb, program) == printed(jax, program)


METHODS = ["sequential", "expand_dims", "broadcast_all"]


@pytest.mark.parametrize("method", METHODS)
def test_functions_are_called_with_the_same_shapes(method):
    def calls(fw):
        shapes = []

        def host(x, y):
            shapes.append((x.shape, y.shape))
            return np.asarray(x) + np.asarray(y)

        def f(x, y):
            return fw.pure_callback(host, fw.ShapeDtypeStruct((), "float32"), x, y, vmap_method=method)

        out = fw.vmap(fw.vmap(f, in_axes=(0, None)), in_axes=(0, 0))(X, X[:, 0])
        return np.asarray(out), shapes

    (a, rb_shapes), (b, jax_shapes) = calls(rb), calls(jax)
    np.testing.assert_array_equal(a, b)
    assert rb_shapes == jax_shapes


def test_io_callbacks_happen_once_per_step():
    def values(fw, io_callback):
        seen = []

        def step(i, c):
            return io_callback(
                lambda v: (seen.append(float(v)), np.float32(v * 2))[1],
                fw.ShapeDtypeStruct((), "float32"), c, ordered=True,
            )  # fmt: skip

        return float(fw.jit(lambda x: fw.lax.fori_loop(0, 4, step, x))(1.0)), seen

    assert values(rb, rb.experimental.io_callback) == values(jax, jax.experimental.io_callback)
