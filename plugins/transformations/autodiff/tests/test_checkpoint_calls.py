"""checkpoint and strangers: it changes no value, is one equation, and any transformation goes through it."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import ad_checkpoint, lax
from rabbet.extend.passes import stage
from rabbet.extend.transform import typeof
from rabbet.testing.toys import slope


def wave(x):
    return lax.mul(lax.sin(x), 2.0)


def program(fn, *args):
    return stage(lambda *xs: [fn(*xs)], [typeof(x) for x in args])


def test_checkpoint_changes_no_value():
    f = rb.checkpoint(wave)
    assert float(f(0.5)) == pytest.approx(2 * np.sin(0.5))
    assert float(slope(f)(0.5)) == pytest.approx(2 * np.cos(0.5))
    assert float(rb.grad(f)(0.5)) == pytest.approx(2 * np.cos(0.5))
    assert rb.remat.__name__ == "remat"
    assert float(rb.grad(rb.remat(wave))(0.5)) == pytest.approx(2 * np.cos(0.5))


def test_checkpoint_is_one_equation():
    (eqn,) = program(rb.checkpoint(wave, policy=rb.checkpoint_policies.dots_saveable), 1.0).jaxpr.equations
    assert eqn.primitive.name == "checkpoint"
    assert eqn.params["policy"] is rb.checkpoint_policies.dots_saveable
    assert [e.primitive.name for e in eqn.params["jaxpr"].equations] == ["sin", "mul"]


def test_a_call_is_the_same_operator_each_time():
    f = rb.checkpoint(wave)
    ops = [program(f, 1.0).jaxpr.equations[0].op for _ in range(2)]
    assert ops[0] is ops[1]


def test_an_operator_with_another_program_is_found_again():
    (eqn,) = program(rb.checkpoint(wave), 1.0).jaxpr.equations
    body = program(lax.cos, 1.0).jaxpr
    again = eqn.op.replaced(jaxpr=body)
    assert again is eqn.op.replaced(jaxpr=body)
    assert again is not eqn.op.replaced(jaxpr=body, differentiated=True)
    assert again.params == {**eqn.params, "jaxpr": body}
    assert float(again(np.float32(0.5))[0]) == pytest.approx(np.cos(0.5))


def test_a_name_is_an_identity():
    named = lambda x: ad_checkpoint.checkpoint_name({"x": x, "n": 3}, "a name")["x"]
    assert float(named(0.5)) == 0.5
    assert float(slope(lambda x: lax.mul(named(x), 3.0))(0.5)) == 3
    (first, *_) = program(named, 1.0).jaxpr.equations
    assert repr(first.op) == "name[name=a name]"


def test_what_is_not_there():
    with pytest.raises(AttributeError):
        ad_checkpoint.no_such_name  # noqa: B018


def test_static_numbers_name_arguments_of_the_call():
    for numbers in (2, -3, (0, 7)):
        f = ad_checkpoint.checkpoint(lambda x, n: lax.mul(x, float(n)), static_argnums=numbers)
        with pytest.raises(ValueError, match=r"checkpoint of .*static_argnums has .*2 positional arguments"):
            f(0.5, 3)
    f = ad_checkpoint.checkpoint(lambda x, n: lax.mul(x, float(n)), static_argnums=-1)
    assert float(f(0.5, 3)) == 1.5
    named = ad_checkpoint.checkpoint(lambda x, n: lax.mul(x, float(n)), static_argnums=1, static_argnames="n")
    assert float(named(0.5, n=3)) == 1.5
