"""Solutions against SciPy and closed forms; derivatives against those of closed forms and differences."""

import gc
import weakref

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental.ode import odeint

integrate = pytest.importorskip("scipy.integrate")


def pendulum(y, t, friction, pull):
    angle, speed = y
    return speed, -friction * speed - pull * rnp.sin(angle) + 0.1 * t


def test_against_scipy():
    ts = np.linspace(0.0, 6.0, 13)
    angle, speed = odeint(
        pendulum, (np.pi - 0.1, 0.0), rnp.asarray(ts, "float32"), 0.25, 5.0, rtol=1e-6, atol=1e-6
    )
    exact = integrate.solve_ivp(
        lambda t, y: [y[1], -0.25 * y[1] - 5.0 * np.sin(y[0]) + 0.1 * t],
        (0, 6), (np.pi - 0.1, 0.0), t_eval=ts,
        rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    np.testing.assert_allclose(angle, exact.y[0], atol=2e-3)
    np.testing.assert_allclose(speed, exact.y[1], atol=5e-3)


def test_in_double_precision_it_is_exact_to_the_tolerance():
    with rb.enable_x64():
        ts = rnp.linspace(0.0, 5.0, 21)
        y = odeint(
            lambda y, t, rate: {"a": -rate * y["a"], "b": 1j * y["b"]}, {"a": 1.0, "b": 1 + 0j}, ts, 0.7
        )
        np.testing.assert_allclose(y["a"], np.exp(-0.7 * np.asarray(ts)), rtol=1e-7)
        np.testing.assert_allclose(y["b"], np.exp(1j * np.asarray(ts)), rtol=1e-6)
        between = odeint(lambda y, t: rnp.cos(t), 0.0, ts[:2])  # one long step, read inside
        np.testing.assert_allclose(between, np.sin(np.asarray(ts[:2])), atol=1e-8)


@pytest.mark.needs("jit")
def test_a_gradient_keeps_no_values_of_the_program_that_computes_it():
    times = rnp.array([0.0, 1.0])
    slope = rb.grad(lambda rate: odeint(lambda y, t, r, n: -r * y * n, 1.0, times, rate, 1)[1])
    with rb.config.override(check_tracer_leaks=True):
        assert float(rb.jit(slope)(1.0)) == pytest.approx(-np.exp(-1), rel=1e-3)


@pytest.mark.needs("jit")
def test_gradients_are_those_of_the_closed_form():
    with rb.enable_x64():
        ts = rnp.asarray([0.3, 0.5, 1.1])
        weights = rnp.asarray([1.0, -2.0, 0.5])

        def solved(y0, ts, rate):
            return rnp.sum(weights * odeint(lambda y, t, r: -r * y + 0 * captured, y0, ts, rate))

        def closed(y0, ts, rate):
            return rnp.sum(weights * y0 * rnp.exp(-rate * (ts - ts[0])))

        captured = rnp.asarray(2.0)
        for run in (lambda f: f, rb.jit):
            found = run(rb.grad(solved, argnums=(0, 1, 2)))(1.7, ts, 0.9)
            for x, y in zip(found, rb.grad(closed, argnums=(0, 1, 2))(1.7, ts, 0.9), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-8)


def test_gradients_of_what_func_closes_over_and_of_trees():
    with rb.enable_x64():
        ts = rnp.linspace(0.0, 1.0, 4)

        def loss(p):
            y = odeint(
                lambda y, t, n: (p["w"] @ y[0] + t, -p["c"] * y[1] * n), (rnp.ones(2), rnp.ones(())), ts, 2
            )
            return rnp.sum(y[0][-1] ** 2) + y[1][-1] + rnp.sum(y[1])

        p = {"w": rnp.asarray([[0.1, -0.4], [0.3, 0.2]]), "c": rnp.asarray(0.6)}
        found = rb.grad(loss)(p)
        for name, at in (("c", ()), ("w", (0, 1)), ("w", (1, 0))):
            h = np.zeros(p[name].shape)
            h[at] = 1e-5
            difference = (loss({**p, name: p[name] + h}) - loss({**p, name: p[name] - h})) / 2e-5
            np.testing.assert_allclose(found[name][at], difference, rtol=1e-6)


@pytest.mark.needs("vmap")
def test_vmap_is_a_loop():
    ts, rates = rnp.linspace(0.0, 2.0, 5), rnp.asarray([0.2, 1.0, 3.0])
    many = rb.vmap(lambda r: odeint(lambda y, t: -r * y, 1.0, ts, rtol=1e-5, atol=1e-6))(rates)
    np.testing.assert_allclose(many, np.exp(-np.outer(rates, ts)), atol=1e-4)


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_limits():
    ts = rnp.asarray([0.0, 1.0, 2.0])
    few = odeint(lambda y, t: -y, 1.0, ts, mxstep=2, hmax=0.1)
    assert few[0] == 1.0 and np.isnan(np.asarray(few[1:])).all()
    blowing_up = odeint(lambda y, t: y * y, 1.0, rnp.asarray([0.0, 0.5, 2.0]), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(blowing_up[:2], [1.0, 2.0], rtol=1e-3)
    assert not np.isfinite(blowing_up[2])


def test_times_and_derivatives_of_the_wrong_kind_are_refused():
    ts = rnp.asarray([0.0, 1.0, 2.0])
    with pytest.raises(TypeError, match="t must be a vector"):
        odeint(lambda y, t: -y, 1.0, 2.0)
    with pytest.raises(TypeError, match="must return a derivative like the state"):
        odeint(lambda y, t: (y, y), 1.0, ts)


@pytest.mark.forbidden("disable_jit")
def test_functions_are_traced_once_and_die():
    """Neither a function nor an object whose method it is lives longer because it was solved."""
    traced = []

    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def slope(self, y, t):
            traced.append(self)
            return -y * self.rate

    def calls(f):
        before = len(traced)
        odeint(f, np.float32(1), np.float32([0, 1]))
        return len(traced) - before

    decay = Decay(rnp.full(1000, 2.0)[0])
    rate = rnp.full(1000, 2.0)[0]

    def slope(y, t):
        traced.append(slope_name)
        return -y * rate

    slope_name = "slope"
    assert calls(decay.slope) and not calls(decay.slope)
    assert calls(slope) and not calls(slope)
    other = Decay(decay.rate * 2)
    assert odeint(other.slope, 1.0, np.float32([0, 1]))[1] < odeint(decay.slope, 1.0, np.float32([0, 1]))[1]
    alive = weakref.ref(decay), weakref.ref(slope)
    traced.clear()
    del decay, slope
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


def test_a_second_derivative_in_reverse():
    def last(a):
        return odeint(lambda y, t, a: -a * y, rnp.array(1.0), rnp.array([0.0, 1.0]), a)[-1]

    second = rb.grad(rb.grad(last))(0.5)
    assert abs(float(second) - float(np.exp(-0.5))) < 1e-3
