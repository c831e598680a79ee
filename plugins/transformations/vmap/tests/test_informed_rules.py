"""Rules of primitives that are told which interpreter asks (``with_interpreter``)."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.extend.primitive import Batched, Dual, Primitive
from rabbet.extend.transform import with_interpreter

X = np.arange(6, dtype="f4").reshape(3, 2)
SEEN = []

scaled = Primitive("test_scaled", lambda x, y: x)
scaled.decompose(lambda op, x, y: x * y)


@scaled.rule("batch")
@with_interpreter
def scaled_batched(op, interpreter, x, y):
    SEEN.append((interpreter.size, interpreter.name, x.axis, y.axis))
    return Batched(scaled(x.value, y.value), x.axis)


split = Primitive("test_split", lambda x: [x, x], multiple_results=True)
split.decompose(lambda op, x: [x, x + 1])


@split.rule("batch")
@with_interpreter
def split_batched(op, interpreter, x):
    return [Batched(x.value, x.axis), Batched(x.value + interpreter.size, x.axis)]


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def test_the_rule_is_told_of_the_map():
    out = rb.vmap(lambda x: scaled(x, 2.0), axis_name="rows")(X)
    assert SEEN == [(3, "rows", 0, None)]
    np.testing.assert_array_equal(out, 2 * X)


def test_each_map_asks_for_itself():
    out = rb.vmap(rb.vmap(lambda x: scaled(x, 2.0)), in_axes=1, axis_name="columns")(X)
    assert [seen[:2] for seen in SEEN] == [(3, None), (2, "columns")]
    np.testing.assert_array_equal(out, 2 * X.T)


@pytest.mark.needs("jit", "grad")
def test_within_other_transformations():
    f = rb.jit(rb.vmap(lambda x: scaled(x, 3.0).sum()))
    np.testing.assert_array_equal(f(X), 3 * X.sum(1))
    np.testing.assert_array_equal(rb.grad(lambda x: rb.vmap(lambda r: scaled(r, 3.0))(x).sum())(X), 3 + 0 * X)
    jacobian = rb.jacfwd(lambda x: scaled(x, 3.0))(X[0])
    np.testing.assert_array_equal(jacobian, 3 * np.eye(2))


def test_several_results():
    first, second = rb.vmap(split)(X)
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, X + 3)


def test_a_rule_that_returns_the_wrong_number_is_named():
    bad = Primitive("test_split_badly", lambda x: [x, x], multiple_results=True)
    bad.rule("batch")(with_interpreter(lambda op, interpreter, x: [x]))
    with pytest.raises(TypeError, match=r"'batch' rule .*'test_split_badly' .*test_informed_rules"):
        rb.vmap(lambda x: bad(x))(X)


def test_the_contract_holds_for_it_too():
    bad = Primitive("test_unboxed", lambda x: x)
    bad.rule("batch")(with_interpreter(lambda op, interpreter, x: x.value))
    with rb.enable_checks(), pytest.raises(TypeError, match="'batch' rule for primitive 'test_unboxed'"):
        rb.vmap(lambda x: bad(x))(X)
    with pytest.raises(TypeError, match="'batch' rule for primitive 'test_unboxed'"):
        rb.vmap(lambda x: bad(x))(X)


@pytest.mark.needs("grad")
def test_other_tables_have_such_rules_too():
    seen = []
    doubled = Primitive("test_doubled", lambda x: x)

    @doubled.rule("jvp")
    @with_interpreter
    def doubled_jvp(op, interpreter, x):
        seen.append(type(interpreter).__name__)
        return Dual(2 * x.primal, 2 * x.tangent)

    np.testing.assert_array_equal(rb.jvp(lambda x: doubled(x), (X,), (X,))[1], 2 * X)
    assert len(seen) == 1


def test_called_with_payloads_alone_it_says_what_it_lacks():
    with pytest.raises(TypeError, match=r"'test_scaled' at .*test_informed_rules.py:\d+ needs the inter"):
        scaled.rules["batch"](scaled.op(), Batched(X, 0), Batched(2.0, None))


@pytest.mark.needs("jit")
def test_a_lowering_has_no_interpreter():
    lowered = Primitive("test_lowered", lambda x: x)
    lowered.rule("lower")(with_interpreter(lambda op, interpreter, x: x))
    with pytest.raises(TypeError, match=r"'test_lowered' at .*test_informed_rules.py:\d+ .*without one"):
        rb.jit(lambda x: lowered(x))(X)
