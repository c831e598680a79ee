"""``jax.interpreters.partial_eval``: what is known is computed, the rest is a program."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet_jax.overlay.core import eval_jaxpr
from rabbet_jax.overlay.extend.linear_util import wrap_init
from rabbet_jax.overlay.interpreters import partial_eval as pe

SCALAR = rb.typeof(np.float32(0))


def test_known_and_unknown_results():
    runs = []

    def f(x, y):
        runs.append(type(x))
        z = rnp.sin(x) * 2.0
        return [z, lax.cond(y > 0, lambda v: v * z, lambda v: v, y), 3.0]

    values = [pe.PartialVal.known(rnp.float32(0.5)), pe.PartialVal.unknown(SCALAR)]
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(wrap_init(f), values)
    assert [out.is_known() for out in outs] == [True, False, True] and len(runs) == 1
    np.testing.assert_allclose(outs[0].get_known(), 2 * np.sin(0.5), rtol=1e-6)
    assert outs[1].get_aval() is SCALAR and outs[1].get_known() is None
    assert not [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "sin"]
    (found,) = eval_jaxpr(jaxpr, consts, rnp.float32(3.0))
    np.testing.assert_allclose(found, 6 * np.sin(0.5), rtol=1e-6)


def test_known_results_as_outputs_on_request():
    f = wrap_init(lambda x, y: [x + 1, x + y])
    values = [pe.PartialVal.known(2.0), pe.PartialVal.unknown(SCALAR)]
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(f, values, instantiate=True)
    assert not any(out.is_known() for out in outs)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, consts, 5.0), [3, 7])


@pytest.mark.forbidden("enable_x64")
def test_custom_derivatives_stay_in_the_program():
    @rb.custom_jvp
    def f(x):
        return x * x

    f.defjvp(lambda primals, tangents: (f(*primals), 100.0 * tangents[0]))
    jaxpr, _, consts = pe.trace_to_jaxpr_nounits(wrap_init(lambda x: [f(x)]), [pe.PartialVal.unknown(SCALAR)])
    assert float(rb.grad(lambda x: eval_jaxpr(jaxpr, consts, x)[0])(3.0)) == 100.0


def test_dead_code_and_the_inputs_that_are_left():
    captured = rnp.arange(3.0)
    jaxpr, types, consts = pe.trace_to_jaxpr_dynamic(
        wrap_init(lambda x, y, z: [x + 1, lax.sin(lax.cos(y)) * captured, z]), [SCALAR] * 3
    )
    assert [t.shape for t in types] == [(), (3,), ()] and consts[0] is captured
    left, used = pe.dce_jaxpr(jaxpr, [True, False, False])
    assert used == [True, False, False] and [eqn.primitive.name for eqn in left.eqns] == ["add"]
    left, used = pe.dce_jaxpr(jaxpr, [False, False, True], instantiate=[True, False, False])
    assert used == [True, False, True] and not left.eqns
    left, used_consts, used = pe.dce_jaxpr_consts(jaxpr, [True, False, False])
    assert used_consts == [False] and left.constvars == []
    opened = pe.convert_constvars_jaxpr(jaxpr)
    assert len(opened.invars) == 4 and not opened.constvars
    assert len(pe.convert_invars_to_constvars(opened, 2).constvars) == 2


def test_what_tracers_are():
    seen = []
    look = lambda x: [seen.append([isinstance(x, c) for c in (pe.DynamicJaxprTracer, pe.JaxprTracer)]) or x]
    pe.trace_to_jaxpr_dynamic(wrap_init(look), [SCALAR])
    pe.trace_to_jaxpr_nounits(wrap_init(look), [pe.PartialVal.unknown(SCALAR)])
    assert seen == [[True, False], [False, True]]
