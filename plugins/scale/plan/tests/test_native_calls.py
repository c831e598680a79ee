"""Native functions in plans: what rules say of the part that each device does."""

import pytest
import rabbet as rb
from rabbet import lax, planning
from rabbet.extend.cost import Cost
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.sharding import NamedSharding, PartitionSpec
from rabbet_plan.native_calls import targets

pytestmark = pytest.mark.needs("jit", "cpu")
N, M, K = 16, 8, 4


def native(name, *, partition=None, cost=None):
    """A primitive that calls a function which every CPU has; nothing is run here."""
    p = Primitive(f"{name}_of_test_plan", lambda x, y: ShapedArray((x.shape[0], y.shape[0]), x.dtype))
    p.rule("lower")(lambda op, x, y: op.custom_call("lapack_spotrf_ffi", [x, y], [op.out])[0])
    if partition:
        p.rule("partition")(lambda op, x, y: partition)
    if cost:
        p.rule("cost")(cost)
    return p


def by_size(op, x, y):
    flops = 2.0 * x.shape[0] * y.shape[0] * x.shape[1]
    return Cost(flops, float(x.nbytes + y.nbytes), transcendentals=1.0)


def planned(fn, spec_x=("a",), spec_y=("b",)):
    mesh = planning.topology("cpu:8").mesh({"a": 4, "b": 2})
    made = [
        rb.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, PartitionSpec(*spec)))
        for shape, spec in (((N, K), spec_x), ((M, K), spec_y))
    ]
    return planning.plan(fn, *made)


def test_a_call_that_is_cut_up_costs_what_its_part_costs():
    found = planned(native("cut", partition="i k, j k -> i j", cost=by_size))
    (call,) = found.native_calls
    n, m = N // 4, M // 2
    assert (call.target, call.count) == ("lapack_spotrf_ffi", 1)
    assert (call.flops, call.bytes) == (2.0 * n * m * K + 1.0, 4.0 * (n * K + m * K))
    assert (found.flops, found.traffic) == (call.flops, call.bytes)
    assert "1 x lapack_spotrf_ffi: 129 FLOP, 128 B by the rule of its primitive" in str(found)
    assert found.as_dict()["native_calls"][0]["flops"] == call.flops


def test_a_call_that_is_not_cut_is_done_whole_by_each_device():
    (call,) = planned(native("whole", cost=by_size)).native_calls
    assert call.flops == 2.0 * N * M * K + 1.0


def test_a_call_in_a_loop_counts_as_often_as_it_runs():
    p = native("often", partition="i k, j k -> i j", cost=by_size)

    def loop(x, y):
        step = lambda c, _: (lax.mul(c, lax.reduce_sum(p(c, y), (0, 1))), None)
        return lax.scan(step, x, None, length=5)[0]

    (call,) = planned(loop).native_calls
    assert call.count == 5 and call.flops == 5 * (2.0 * (N // 4) * (M // 2) * K + 1.0)


def test_what_nobody_says_is_said():
    found = planned(native("silent", partition="i k, j k -> i j"))
    (call,) = found.native_calls
    assert (call.flops, call.bytes) == (None, None) and found.flops == 0
    assert "1 x lapack_spotrf_ffi: no rule cost says what it does" in str(found)


def test_programs_without_native_calls_have_none():
    found = planned(lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ()))))
    assert found.native_calls == () and "  native  " not in str(found)


def test_the_names_in_a_text():
    text = '%1 = stablehlo.custom_call @f(%0) {} : x\n custom_call @"a b"(%0)\n custom_call @Sharding(%1)'
    assert targets(text) == {"f", "a b"}
