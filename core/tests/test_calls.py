"""checkpoint and custom_rules by core alone: strangers' transformations go through them or have a say."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import ad_checkpoint, lax
from rabbet.errors import MissingPluginError
from rabbet.extend.passes import stage
from rabbet.extend.transform import typeof

from . import toys
from .toys import Box, enclose, slope


def wave(x):
    return lax.mul(lax.sin(x), 2.0)


def program(fn, *args):
    return stage(lambda *xs: [fn(*xs)], [typeof(x) for x in args])


# ---------------------------------------------------------------------------------------------- checkpoint
def test_checkpoint_changes_no_value():
    f = rb.checkpoint(wave)
    assert float(f(0.5)) == pytest.approx(2 * np.sin(0.5))
    assert float(toys.jit(f)(0.5)) == pytest.approx(2 * np.sin(0.5))
    assert float(slope(f)(0.5)) == pytest.approx(2 * np.cos(0.5))
    assert float(slope(toys.jit(f))(0.5)) == pytest.approx(2 * np.cos(0.5))
    assert rb.remat is rb.checkpoint


def test_a_stranger_goes_through_checkpoint():
    f = rb.checkpoint(lambda x, y: lax.sub(lax.exp(x), y))
    plain = enclose(lambda x: lax.sub(lax.exp(x), 2.0))((0.0, 1.0))
    assert enclose(lambda x: f(x, 2.0))((0.0, 1.0)) == plain
    assert enclose(toys.jit(lambda x: f(x, 2.0)))((0.0, 1.0)) == plain


def test_checkpoint_is_one_equation():
    (eqn,) = program(rb.checkpoint(wave, policy=rb.checkpoint_policies.dots_saveable), 1.0).jaxpr.equations
    assert eqn.primitive.name == "checkpoint"
    assert eqn.params["prevent_cse"] and not eqn.params["differentiated"]
    assert eqn.params["policy"] is rb.checkpoint_policies.dots_saveable
    assert [e.primitive.name for e in eqn.params["jaxpr"].equations] == ["sin", "mul"]


def test_a_name_is_an_identity():
    named = lambda x: ad_checkpoint.checkpoint_name({"x": x, "n": 3}, "a name")["x"]
    assert float(named(0.5)) == 0.5
    assert float(toys.jit(named)(0.5)) == 0.5
    assert enclose(named)((0.0, 1.0)) == Box(0.0, 1.0)
    assert float(slope(lambda x: lax.mul(named(x), 3.0))(0.5)) == 3
    (first, *_) = program(named, 1.0).jaxpr.equations
    assert repr(first.op) == "name[name=a name]"


def test_what_looks_at_reverse_mode_says_where_it_comes_from(monkeypatch):
    monkeypatch.setattr("rabbet.plugins.api._installed", lambda distribution: False)

    class Nobody:
        def get(self, group, name):
            raise MissingPluginError("nobody offers it")

        def records(self, group, name):
            return []

        def names(self, group):
            return []

    monkeypatch.setattr("rabbet.plugins.api._default", Nobody)
    with pytest.raises(MissingPluginError, match=r"ad_checkpoint.print_saved_residuals .*rabbet-autodiff"):
        ad_checkpoint.print_saved_residuals  # noqa: B018
    with pytest.raises(AttributeError):
        ad_checkpoint.no_such_name  # noqa: B018


# --------------------------------------------------------------------------------------------- custom_rules
def test_a_rule_for_a_strangers_table():
    @rb.custom_rules
    def f(p, y):
        return {"out": lax.mul(lax.sin(p["x"]), y), "same": y}

    @f.def_rule("enclose")
    def f_enclose(p, y):
        most = lax.max(lax.abs(y.lo), lax.abs(y.hi))
        return {"out": Box(lax.neg(most), most), "same": y}

    for g in (f, rb.checkpoint(f)):
        assert enclose(lambda x, g=g: g({"x": x}, 3.0)["out"])((0.0, 1.0)) == Box(-3.0, 3.0)
        assert enclose(lambda x, g=g: g({"x": x}, x)["same"])((0.0, 1.0)) == Box(0.0, 1.0)
    assert float(f({"x": 0.5}, 3.0)["out"]) == pytest.approx(3 * np.sin(0.5))
    assert float(slope(lambda x: f({"x": x}, 3.0)["out"])(0.5)) == pytest.approx(3 * np.cos(0.5))


def test_an_output_that_a_rule_gives_as_an_array_is_lifted():
    f = rb.custom_rules(lambda x: (x, lax.sin(x)))
    f.def_rule("enclose", lambda box: (lax.full_like(box.lo, 7.0), box))
    assert enclose(lambda x: f(x)[0])((0.0, 1.0)) == Box(7.0, 7.0)


def test_the_function_does_not_run_where_its_rule_does():
    @rb.custom_rules
    def f(x):
        raise AssertionError("not this way")

    f.def_rule("enclose", lambda box: box)
    assert enclose(f)((0.0, 1.0)) == Box(0.0, 1.0)
