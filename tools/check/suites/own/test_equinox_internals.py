"""Cases written for Equinox: what other libraries take from its internals."""

# ruff: noqa: B017
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.mark.parametrize("kind", ["lax", "checkpointed", "bounded"])
def test_while_loops(kind):
    def run(x):
        out = eqxi.while_loop(
            lambda c: c[0] < 5,
            lambda c: (c[0] + 1, c[1] * x),
            (0, x),
            max_steps=16,
            kind=kind,
            checkpoints=4 if kind == "checkpointed" else None,
        )
        return out[1]

    np.testing.assert_allclose(jax.jit(run)(2.0), 64)
    if kind != "lax":
        np.testing.assert_allclose(jax.jit(jax.grad(run))(2.0), 6 * 2.0**5, rtol=1e-5)
    np.testing.assert_allclose(jax.jvp(run, (2.0,), (1.0,))[1] if kind == "lax" else 192.0, 192, rtol=1e-5)


def test_while_loop_buffers_and_vmap():
    def run(n):
        def body(c):
            i, buffer = c
            return i + 1, buffer.at[i].set(i * 2.0)

        return eqxi.while_loop(
            lambda c: c[0] < n,
            body,
            (0, jnp.zeros(8)),
            max_steps=8,
            kind="checkpointed",
            buffers=lambda c: c[1],
        )[1]

    np.testing.assert_allclose(jax.jit(run)(3), [0, 2, 4, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(jax.vmap(run)(jnp.array([1, 2]))[1], [0, 2, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("kind", ["lax", "checkpointed"])
def test_scans(kind):
    def run(x):
        return eqxi.scan(
            lambda c, y: (c * y, c),
            x,
            jnp.arange(1.0, 5.0),
            kind=kind,
            checkpoints=2 if kind == "checkpointed" else None,
        )[0]

    np.testing.assert_allclose(jax.jit(jax.grad(run))(2.0), 24)


def test_noinline():
    f = eqxi.noinline(lambda x, y: jnp.sin(x) * y)
    x, y = jnp.array(0.5), jnp.array(2.0)
    np.testing.assert_allclose(eqx.filter_jit(f)(x, y), 2 * np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(eqx.filter_jit(eqx.filter_grad(f))(x, y), 2 * np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(jnp.ones(2), jnp.ones(2)), np.sin([1, 1]), rtol=1e-6)


def test_nontraceable_and_nondifferentiable():
    with pytest.raises(Exception):
        jax.jvp(eqxi.nondifferentiable, (1.0,), (1.0,))
    assert float(eqxi.nondifferentiable(jnp.array(1.0))) == 1
    with pytest.raises(Exception):
        jax.grad(lambda x: eqxi.nondifferentiable_backward(x))(1.0)
    assert float(jax.jit(eqxi.nontraceable)(jnp.array(2.0))) == 2


def test_unvmap():
    some = jax.vmap(
        lambda x: (eqxi.unvmap_any(x > 1), eqxi.unvmap_all(x > 1), eqxi.unvmap_max(x)), out_axes=None
    )
    found = some(jnp.arange(3.0))
    assert (bool(found[0]), bool(found[1]), float(found[2])) == (True, False, 2)
    assert jax.jit(some)(jnp.arange(3.0))[0]


def test_nextafter_and_misc():
    assert float(eqxi.nextafter(jnp.array(1.0))) > 1
    assert float(eqxi.prevbefore(jnp.array(1.0))) < 1
    assert float(eqxi.left_broadcast_to(jnp.array([1.0, 2.0]), (2, 3))[1, 2]) == 2
    assert eqxi.ω([1.0, 2.0]).ω == [1.0, 2.0]


def test_omega():
    x, y = [jnp.array(1.0), jnp.array(2.0)], [jnp.array(3.0), jnp.array(4.0)]
    assert [float(v) for v in (eqxi.ω(x) + 2 * eqxi.ω(y)).ω] == [7, 10]
    assert [float(v) for v in eqxi.ω(x).call(jnp.square).ω] == [1, 4]


def test_custom_primitives_are_filtered():
    p = eqxi.create_vprim(
        "eco_scale",
        lambda x: [3 * x],
        lambda x: [x],
        lambda primals, tangents: ([3 * primals[0]], [3 * tangents[0]]),
        lambda inputs, cts: [3 * cts[0]],
    )
    assert float(p.bind(jnp.array(2.0))[0]) == 6
    np.testing.assert_allclose(jax.jit(jax.vmap(lambda x: p.bind(x)[0]))(jnp.arange(3.0)), [0, 3, 6])


def test_finalise():
    def f(x):
        return eqxi.nontraceable(jnp.sin(x)) + 1

    closed = jax.make_jaxpr(f)(1.0)
    final = eqxi.finalise_jaxpr(closed)
    assert "sin" in str(final)
    np.testing.assert_allclose(eqxi.finalise_fn(f)(1.0), np.sin(1) + 1, rtol=1e-6)


def test_checkpointed_loop_inside_vmap_of_grad():
    def run(x):
        step = lambda c: (c[0] + 1, jnp.sin(c[1]) * x)
        return eqxi.while_loop(
            lambda c: c[0] < 3, step, (0, x), max_steps=4, kind="checkpointed", checkpoints=2
        )[1]

    found = jax.vmap(jax.grad(run))(jnp.array([0.5, 1.0]))
    step = 1e-3
    wanted = [(run(x + step) - run(x - step)) / (2 * step) for x in (0.5, 1.0)]
    np.testing.assert_allclose(found, wanted, rtol=1e-2)
