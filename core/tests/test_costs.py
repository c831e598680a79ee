"""What programs cost before they are compiled: rules by kind, by hand, and by strangers."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.cost import Cost, cost_of
from rabbet.extend.passes import stage
from rabbet.extend.primitive import Primitive

X = rb.ShapeDtypeStruct((4, 8), "float32")


def program(f, *types):
    return stage(lambda *xs: [f(*xs)], [rb.typeof(np.zeros(t.shape, t.dtype)) for t in types or (X,)]).jaxpr


def test_kinds_give_defaults():
    assert cost_of(program(lambda x: lax.mul(x, x))) == Cost(32.0, 3 * 128.0, 0.0, True)
    assert cost_of(program(lax.exp)) == Cost(0.0, 256.0, 32.0, True)
    assert cost_of(program(lambda x: lax.reduce_sum(x, (1,))))[:2] == (28.0, 144.0)
    assert cost_of(program(lambda x: lax.transpose(x, (1, 0))))[:2] == (0.0, 256.0)
    assert cost_of(program(lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))))).flops == 2 * 4 * 4 * 8


def test_loops_count_as_often_as_they_run_and_branches_by_the_dearest():
    loop = lambda x: lax.scan(lambda c, _: (lax.mul(c, c), None), x, None, length=5)[0]
    assert cost_of(program(loop)).flops == 5 * 32.0
    assert cost_of(program(loop), rounds=False).flops == 32.0
    branch = lambda x: lax.cond(lax.reduce_sum(x, (0, 1)) > 0, lambda x: x * x * x, lambda x: x, x)
    assert cost_of(program(branch)).flops == 31 + 1 + 64.0


def native(name, rule=None):
    p = Primitive(f"{name}_of_test_costs", lambda x: x, doc="a call")
    p.rule("lower")(lambda op, x: op.custom_call("nobody_has_it", [x], [op.out])[0])
    if rule is not None:
        p.rule("cost")(rule)
    return p


def test_strangers_primitives_cost_what_they_say_and_their_parts_else():
    p = native("told", lambda op, x: Cost(flops=100.0 * x.size, bytes=7.0))
    assert cost_of(program(p))[:2] == (3200.0, 7.0)
    assert cost_of(program(native("silent")))[:2] == (0.0, 256.0)
    parts = Primitive("parts_of_test_costs", lambda x: x)
    parts.decompose(lambda op, x: lax.mul(lax.add(x, x), x))
    assert cost_of(program(parts)).flops == 64.0
    assert cost_of(program(lambda x: p(x) * x), own_only=True)[:2] == (3200.0, 7.0)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.needs("cpu", "jit")
def test_the_analysis_before_compiling_counts_native_functions_by_their_rules(rounds):
    p = native("analysed", lambda op, x: Cost(flops=1000.0, bytes=7.0, transcendentals=5.0))
    x = np.zeros((4, 8), np.float32)

    def often(x):
        for _ in range(rounds):
            x = p(x) * x
        return x

    found = rb.jit(often).lower(x).cost_analysis()
    assert found["flops"] == rounds * (32.0 + 1000.0)
    assert found["bytes accessed"] == rounds * (3 * 128.0 + 7.0)
    assert found["transcendentals"] == rounds * 5.0
    plain = rb.jit(lambda x: native("plain")(x) * x).lower(x).cost_analysis()
    assert (plain["flops"], plain["bytes accessed"]) == (32.0, 3 * 128.0)
    loop = lambda x: lax.scan(lambda c, _: (p(c) * c, None), x, None, length=5)[0]
    bare = lambda x: lax.scan(lambda c, _: (c * c, None), x, None, length=5)[0]
    told, others = [rb.jit(f).lower(x).cost_analysis()["flops"] for f in (loop, bare)]
    assert told == others + 1000.0


def test_a_rule_that_raises_or_returns_no_cost_is_named():
    with pytest.raises(AttributeError) as failed:
        cost_of(program(native("raises", lambda op, x: op.nothing)))
    assert "in the 'cost' rule for primitive 'raises_of_test_costs'" in failed.value.__notes__[0]
    assert "test_costs.py" in failed.value.__notes__[0]
    with pytest.raises(TypeError, match=r"the 'cost' rule .* returned 5\.0; it returns a Cost"):
        cost_of(program(native("a_number", lambda op, x: 5.0)))


@pytest.mark.needs("jit", "cpu", "lax.reduce", "lax.cumsum", "lax.fft")
def test_counts_of_arrays_are_those_of_the_compiler():
    """Within what it fuses or lays out otherwise; a transform by the count that FFTW's authors give."""
    x = np.zeros((16, 32), np.float32)
    images, kernel = np.zeros((2, 4, 9, 9), np.float32), np.zeros((6, 2, 3, 3), np.float32)
    grouped = lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "VALID", feature_group_count=2)
    two = lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 4), (1, 4), "VALID")
    by_hand = lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b, (1,))
    for f, args in ((grouped, (images, kernel)), (two, (x,)), (by_hand, (x,))):
        told = rb.jit(f).lower(*args).cost_analysis()["flops"]
        assert cost_of(program(f, *args)).flops == pytest.approx(told, rel=0.07)
    transform = program(lambda x: lax.fft(x, "fft", (32,)), x.astype(np.complex64))
    assert cost_of(transform).flops == 16 * 5 * 32 * 5
    assert cost_of(program(lax.cumsum, x)).flops == 16 * 32


@pytest.mark.needs("lax.custom_linear_solve")
def test_programs_that_do_not_run_cost_nothing():
    halved = lambda matvec, b: b * 0.5
    solved = lambda x: lax.custom_linear_solve(lambda v: v * 2.0, x, halved, symmetric=True)
    assert cost_of(program(solved)).flops == 32.0


def test_a_rule_that_says_how_often_is_named_where_it_is_wrong():
    p = Primitive("runs_of_test_costs", lambda x, *, jaxpr: x, kinds=("body",), doc="a program")
    said = {"jaxpr": 3}
    p.rule("runs")(lambda op, x: said)
    inner = program(lambda x: lax.mul(x, x))
    outer = program(lambda x: p(x, jaxpr=inner))
    assert cost_of(outer).flops == 3 * 32.0
    said["jaxrp"] = 1
    with pytest.raises(TypeError, match=r"'runs' rule for primitive 'runs_of_test.* names 'jaxrp'; its"):
        cost_of(outer)
    said = [3]
    with pytest.raises(TypeError, match=r"'runs' rule .* returned \[3\]; it returns a dict"):
        cost_of(outer)
