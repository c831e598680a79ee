"""Interpreters of other packages go through ``shard_map``, constraints and types without a line for them."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.transform import Interpreter, RuleTable, run
from rabbet.sharding import AxisType, NamedSharding
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

jit = pytest.importorskip("rabbet_jit").jit
MESH = rb.make_mesh((4, 2), ("x", "y"))
EXPLICIT = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
HOST = np.linspace(0.5, 2, 32, dtype=np.float32).reshape(8, 4)

rules = RuleTable("boxes_of_test", doc="(op, *(low, high)) -> (low, high)")


@rules.kind("increasing", "structural", "linear")
def increasing(op, *boxes):
    return op(*[low for low, _ in boxes]), op(*[high for _, high in boxes])


@rules.primitive(lax.mul)
def mul(op, x, y):
    corners = [op(a, b) for a in x for b in y]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = lax.min(low, corner), lax.max(high, corner)
    return low, high


class Boxes(Interpreter):
    """Payload: a pair of arrays between which the value lies."""

    table = rules

    def lift(self, value):
        return value, value

    def type_of(self, box):
        return rb.typeof(box[0])


def boxed(f):
    return lambda low, high: run(Boxes(), f, [(low, high)])


def mapped(f, ins, outs):
    return rb.shard_map(f, mesh=MESH, in_specs=ins, out_specs=outs)


PROGRAMS = {
    "shard_map": (
        mapped(lambda x: lax.psum(lax.exp(x) * x, "x"), P("x", "y"), P(None, "y")),
        lambda x: (lax.exp(x) * x).reshape(4, 2, 4).sum(0),
    ),
    "gathered": (
        mapped(lambda x: lax.psum(lax.all_gather(x, "y", axis=1, tiled=True) * 2.0, "x"), P("x", "y"), P()),
        None,
    ),
    "a constraint": (
        lambda x: lax.with_sharding_constraint(lax.exp(x), NamedSharding(MESH, P("y", "x"))), lax.exp,
    ),
    "moved": (mapped(lambda x: lax.ppermute(x * x, "x", [(0, 1), (1, 0)]), P("x"), P("x")), None),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_intervals(name):
    f, _ = PROGRAMS[name]
    low, high = HOST - 0.25, HOST + 0.25
    found = jit(boxed(f))(low, high)
    exact = [np.asarray(jit(f)(x)) for x in (low, HOST, high)]
    assert (np.asarray(found[0]) <= exact[1] + 1e-5).all() and (exact[1] - 1e-5 <= np.asarray(found[1])).all()
    np.testing.assert_allclose(found[0], exact[0], rtol=1e-5)  # all numbers are positive: corners are exact
    np.testing.assert_allclose(found[1], exact[2], rtol=1e-5)


@pytest.mark.parametrize("name", ["shard_map", "a constraint"])
def test_taylor_series(name):
    jet = pytest.importorskip("rabbet.experimental.jet").jet
    f, plain = PROGRAMS[name]
    series = [HOST, 0 * HOST]
    value, terms = jit(lambda x, s: jet(f, (x,), (s,)))(HOST, series)
    wanted, of_plain = jit(lambda x, s: jet(plain, (x,), (s,)))(HOST, series)
    for a, b in zip([value, *terms], [wanted, *of_plain], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5)


def test_types_that_say_how_values_lie():
    x = rb.device_put(HOST, NamedSharding(EXPLICIT, P("x", "y")))
    low, high = jit(boxed(lambda x: lax.exp(x).sum(0)))(x, x + 1.0)
    assert rb.typeof(low).str_short() == rb.typeof(high).str_short() == "f32[4@y]"
    np.testing.assert_allclose(high, np.exp(HOST + 1).sum(0), rtol=1e-5)
