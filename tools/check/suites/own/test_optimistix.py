"""Cases written for Optimistix, whose source distribution has no tests: its documented solvers."""

# ruff: noqa: B017, B023
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest


def rosenbrock(x, args):
    return jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


@pytest.mark.parametrize("solver", [optx.Newton(1e-5, 1e-5), optx.Chord(1e-5, 1e-5)], ids=["newton", "chord"])
def test_root_finding(solver):
    f = lambda y, c: jnp.array([y[0] ** 2 - c, y[1] - y[0]])
    run = lambda c: optx.root_find(f, solver, jnp.array([1.2, 1.0]), c, max_steps=128).value
    np.testing.assert_allclose(run(2.0), [2**0.5] * 2, rtol=1e-3)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda c: run(c)[0]))(2.0), 0.5 / 2**0.5, rtol=1e-3)


def test_bisection():
    solution = optx.root_find(
        lambda y, _: y**3 - 2, optx.Bisection(1e-6, 1e-6), 1.0, options={"lower": 0, "upper": 2}
    )
    np.testing.assert_allclose(solution.value, 2 ** (1 / 3), rtol=1e-4)


def test_fixed_points():
    solution = optx.fixed_point(
        lambda y, a: jnp.cos(a * y), optx.FixedPointIteration(1e-5, 1e-5), jnp.array(0.5), 1.0
    )
    np.testing.assert_allclose(solution.value, 0.7390851, rtol=1e-3)
    f = lambda a: (
        optx.fixed_point(
            lambda y, a: jnp.cos(a * y), optx.FixedPointIteration(1e-6, 1e-6), jnp.array(0.5), a
        ).value
    )
    step = 1e-2
    np.testing.assert_allclose(jax.grad(f)(1.0), (f(1 + step) - f(1 - step)) / (2 * step), rtol=2e-2)


@pytest.mark.parametrize(
    "solver",
    [optx.LevenbergMarquardt(1e-5, 1e-5), optx.GaussNewton(1e-5, 1e-5), optx.Dogleg(1e-5, 1e-5)],
    ids=["lm", "gn", "dogleg"],
)
def test_least_squares(solver):
    solution = optx.least_squares(rosenbrock, solver, jnp.array([-1.2, 1.0]), max_steps=500)
    np.testing.assert_allclose(solution.value, [1, 1], rtol=1e-2)
    assert solution.result == optx.RESULTS.successful


@pytest.mark.parametrize(
    "solver",
    [optx.BFGS(1e-5, 1e-5), optx.NelderMead(1e-5, 1e-5), optx.NonlinearCG(1e-5, 1e-5)],
    ids=["bfgs", "nm", "cg"],
)
def test_minimise(solver):
    f = lambda y, args: jnp.sum((y - jnp.array([1.0, 2.0])) ** 2) + 0.1 * jnp.sum(y**4)
    solution = optx.minimise(f, solver, jnp.zeros(2), max_steps=1000)
    assert float(jnp.max(jnp.abs(jax.grad(f)(solution.value, None)))) < 0.05


def test_optax_minimiser_and_batches():
    import optax

    solver = optx.OptaxMinimiser(optax.adam(0.1), 1e-4, 1e-4)
    f = lambda y, c: (y - c) ** 2
    found = jax.vmap(lambda c: optx.minimise(f, solver, jnp.array(0.0), c, max_steps=2000).value)(
        jnp.array([1.0, 2.0])
    )
    np.testing.assert_allclose(found, [1, 2], atol=1e-2)


def test_auxiliary_output_and_failure():
    solution = optx.root_find(
        lambda y, _: (y**2 - 2, "aux"), optx.Newton(1e-5, 1e-5), jnp.array(1.0), has_aux=True
    )
    assert solution.aux == "aux"
    failed = optx.root_find(
        lambda y, _: y**2 + 1, optx.Newton(1e-5, 1e-5), jnp.array(1.0), max_steps=8, throw=False
    )
    assert failed.result != optx.RESULTS.successful
    with pytest.raises(Exception):
        jax.block_until_ready(
            optx.root_find(lambda y, _: y**2 + 1, optx.Newton(1e-5, 1e-5), jnp.array(1.0), max_steps=8).value
        )


def test_adjoints():
    f = lambda y, c: y**2 - c
    for adjoint in (optx.ImplicitAdjoint(), optx.RecursiveCheckpointAdjoint()):
        run = lambda c: (
            optx.root_find(f, optx.Newton(1e-6, 1e-6), jnp.array(1.0), c, adjoint=adjoint, max_steps=32).value
        )
        np.testing.assert_allclose(jax.jit(jax.grad(run))(4.0), 0.25, rtol=1e-3)
