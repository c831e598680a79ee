"""What a stranger's rule, shape rule or interpreter does wrong is said with its name, place and package."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import PluginWarning, RuleConflict
from rabbet.extend.primitive import Op, Primitive
from rabbet.extend.transform import Interpreter, RuleTable, run


def failing(name, table=None):
    def boom(op, *args):
        raise RuntimeError("mine")

    p = Primitive(f"{name}_of_test_blame", lambda x: x, doc="fails")
    (p.decompose if table is None else p.rule(table))(boom)
    return p, boom.__code__.co_firstlineno


def notes_of(call, kind=RuntimeError):
    with pytest.raises(kind) as caught:
        call()
    return "\n".join(caught.value.__notes__)


@pytest.mark.needs("cpu", "jit", "grad", "vmap")
@pytest.mark.parametrize(
    "table,call",
    [
        (None, lambda p: p(1.0)),
        (None, lambda p: rb.jit(p)(1.0)),
        (None, lambda p: rb.vmap(p)(np.ones(2, np.float32))),
        ("lower", lambda p: rb.jit(p)(1.0)),
        ("evaluate", lambda p: p(1.0)),
        ("jvp", lambda p: rb.grad(p)(1.0)),
        ("batch", lambda p: rb.vmap(p)(np.ones(2, np.float32))),
    ],
)
def test_a_rule_that_raises_is_named(table, call, request):
    p, line = failing(f"raises_{sum(map(ord, request.node.callspec.id))}", table)
    said = notes_of(lambda: call(p))
    what = "the decomposition of" if table is None else f"the {table!r} rule for"
    assert f"in {what} primitive {p.name!r} (" in said and f"test_blame.py:{line})" in said
    assert said.count(p.name) == 1  # the innermost, once


@pytest.mark.needs("cpu", "jit")
def test_a_decomposition_that_calls_itself_is_named():
    p = Primitive("round_and_round", lambda x: x)
    p.decompose(lambda op, x: op(x))
    said = notes_of(lambda: rb.jit(p)(1.0), RecursionError)
    assert "'round_and_round'" in said and "calls itself without end" in said


@pytest.mark.needs("cpu", "vmap")
def test_rules_of_rabbet_are_not_blamed_for_what_they_refuse():
    with pytest.raises(rb.errors.AxisError) as caught:
        rb.vmap(lambda x: lax.dot_general(x, x, (((0,), (5,)), ((), ()))))(np.ones((2, 3), np.float32))
    assert not any("rule for primitive" in note for note in caught.value.__notes__)


@pytest.mark.needs("cpu")
def test_a_shape_rule_that_returns_an_array_is_told_what_is_expected():
    p = Primitive("shape_rule_of_arrays", lambda x: np.ones(3))
    p.decompose(lambda op, x: x)
    with pytest.raises(TypeError, match=r"rule of primitive 'shape_rule_of_arrays' \(.*expected is the type"):
        p(1.0)


def test_a_type_that_is_none_is_refused_where_the_interpreter_says_it():
    class Odd(Interpreter):
        table = RuleTable("odd_of_test_blame", doc="(op, *x) -> x")

        def lift(self, value):
            return value

        def type_of(self, payload):
            return 5

    with pytest.raises(TypeError, match=r"Odd.type_of \(.*test_blame.py:\d+\) returned 5"):
        run(Odd(), lambda x: x, [1.0])


def test_effects_of_parameters_are_asked_by_their_names():
    p = Primitive("noted_of_test_blame", lambda x, *, tag="": x, effects=lambda params: ())
    p.decompose(lambda op, x: x)
    with pytest.raises(TypeError, match=r"`effects` of primitive 'noted_of_test_blame'.*effects\(tag='a'\)"):
        p(1.0, tag="a")


def test_a_rule_for_a_misspelt_table_is_noticed_where_it_was_meant():
    p = Primitive("misspelt_of_test_blame", lambda x: x)
    p.decompose(lambda op, x: x)
    p.rule("bacth")(lambda op, x: x)
    table = rb.extend.transform.batch
    said = r"(?s)rule 'bacth' \(.*did you mean 'batch'.*rule\('batch'\)"
    with rb.config.override(enable_checks=False), pytest.warns(PluginWarning, match=said):
        table.lookup(p)
    q = Primitive("misspelt_too_of_test_blame", lambda x: x)
    q.decompose(lambda op, x: x)
    q.rule("bacth")(lambda op, x: x)
    with rb.config.override(enable_checks=True), pytest.raises(RuleConflict, match="'bacth'"):
        table.lookup(q)


def test_a_rule_for_a_table_that_is_not_installed_is_no_fault(recwarn):
    p = Primitive("for_others_of_test_blame", lambda x: x)
    p.decompose(lambda op, x: x)
    p.rule("enclose")(lambda op, x: x)
    rb.extend.transform.batch.lookup(p)
    assert not recwarn.list


def test_a_primitive_of_a_script_does_not_take_the_name_of_another():
    code = (
        "from rabbet import lax\nfrom rabbet.extend.primitive import Primitive\n"
        "from rabbet.extend.transform import RuleTable\nfrom rabbet.errors import RuleConflict\n"
        "for make in (lambda: Primitive('sin', lambda x: x), lambda: RuleTable('jvp')):\n"
        "    try:\n        make()\n    except RuleConflict as error:\n"
        "        print('made at' in str(error))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "True"]


def test_the_signatures_of_the_classes_can_be_read():
    assert "operands" in inspect.signature(Primitive).parameters
    assert list(inspect.signature(Op).parameters) == ["primitive", "params"]


def test_a_context_manager_that_nobody_enters_says_that_it_changed_nothing():
    with pytest.warns(RuntimeWarning, match=r"(?s)rb.enable_checks\(True\), changed nothing.*config.update"):
        rb.enable_checks(True)


def test_one_that_is_entered_or_decorates_says_nothing(recwarn):
    with rb.enable_checks(True):
        pass

    @rb.enable_checks(True)
    def f():
        return rb.config.enable_checks

    assert f() and not recwarn.list
