"""Parts of JAX's ode and jet that its modules show, and programs that are cut in two."""

import math

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_jax.overlay.core import Primitive, jaxpr_as_fun
from rabbet_jax.overlay.experimental import jet, ode
from rabbet_jax.overlay.interpreters import ad, partial_eval

pytestmark = pytest.mark.needs("jit", "grad", "jvp", "experimental.jet")


def test_a_step_and_its_polynomial_follow_the_solution():
    f = lambda y, t: -y * t
    exact = lambda t: np.exp(-(t**2) / 2) * np.exp(0.125)  # 1 at t = 0.5
    y0 = rnp.array([1.0, 2.0])
    y1, f1, error, k = ode.runge_kutta_step(f, y0, f(y0, 0.5), rnp.float32(0.5), rnp.float32(0.1))
    assert np.allclose(y1, exact(0.6) * y0, rtol=1e-6) and np.allclose(f1, f(y1, 0.6), rtol=1e-6)
    assert float(abs(error).max()) < 1e-6
    coefficients = ode.interp_fit_dopri(y0, y1, k, rnp.float32(0.1))
    for x in (0.0, 0.3, 0.5, 1.0):
        assert np.allclose(rnp.polyval(coefficients, x), exact(0.5 + 0.1 * x) * y0, rtol=1e-5)


def test_steps_grow_and_shrink_within_limits():
    found = [float(ode.optimal_step_size(rnp.float32(1), rnp.float32(e))) for e in (0, 1e-9, 0.5, 1, 1e9)]
    expected = [10, 10, max(1, 0.9 * 0.5**-0.2), 0.9, 0.2]
    assert np.allclose(found, expected)


def test_rules_of_jet_take_and_give_derivatives():
    cube = Primitive("cube_of_a_library")
    cube.def_impl(lambda x: x**3)
    cube.def_abstract_eval(lambda x: x)
    jet.def_deriv(cube, lambda x: 3 * x**2)
    out, series = jet.jet(cube.bind, (2.0,), ([1.0, 0.0, 0.0, 0.0],))
    assert float(out) == 8 and [float(s) for s in series] == [12, 12, 6, 0]
    by_steps = Primitive("cube_by_steps")
    by_steps.def_impl(lambda x: x**3)
    by_steps.def_abstract_eval(lambda x: x)
    jet.def_comp(by_steps, lambda x: x * x * x)
    _, series = jet.jet(by_steps.bind, (2.0,), ([1.0, 0.0, 0.0, 0.0],))
    assert [float(s) for s in series] == [12, 12, 6, 0]
    _, sines = jet.jet(rnp.sin, (0.0,), ([1.0, 0.0, 0.0],))
    assert np.allclose(sines, [math.cos(0), 0, -math.cos(0)])


def test_a_program_is_cut_by_what_is_known():
    program = rb.make_jaxpr(lambda x, y: (rnp.sin(x) * y, y + 1, x))(1.0, 2.0)
    known, rest, unknown, residuals = partial_eval.partial_eval_jaxpr_nounits(program, [False, True], False)
    assert unknown == [True, True, False] and len(residuals) == 1
    x, held = jaxpr_as_fun(known)(0.5)
    found = jaxpr_as_fun(rest)(held, 3.0)
    assert np.allclose([*found, x], jaxpr_as_fun(program)(0.5, 3.0))
    moved = partial_eval.move_binders_to_back(program, [True, False])
    assert np.allclose(jaxpr_as_fun(moved)(3.0, 0.5), jaxpr_as_fun(program)(0.5, 3.0))
    fewer = partial_eval.prune_closed_jaxpr_outputs(program, [False, True, False])
    assert float(*jaxpr_as_fun(fewer)(0.5, 3.0)) == 4.0


def test_a_program_of_tangents_has_those_that_move():
    program = rb.make_jaxpr(lambda x, y: (rnp.sin(x) * y, y + 1))(1.0, 2.0)
    forward, moves = ad.jvp_jaxpr(program, [True, False], False)
    assert moves == [True, False]
    out, plus, tangent = jaxpr_as_fun(forward)(0.5, 3.0, 1.0)
    assert np.allclose([out, plus, tangent], [math.sin(0.5) * 3, 4, math.cos(0.5) * 3])
