"""``unreduced`` and ``reduced``: sums that are not added up yet, and what goes with them."""

import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import AxisType, NamedSharding
from rabbet.sharding import PartitionSpec as P

MESH = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
A = np.arange(128, dtype=np.float32).reshape(8, 16)
B = np.ones((16, 8), np.float32)


@pytest.fixture(autouse=True)
def mesh():
    with rb.set_mesh(MESH):
        yield


def operands():
    return rb.device_put(A, P(None, "x")), rb.device_put(B, P("x"))


def product(a, b):
    return rnp.einsum("ij,jk->ik", a, b, out_sharding=P(unreduced={"x"}))


def types_of(f):
    """The type of what a function makes of the product's addends."""
    found = []
    rb.make_jaxpr(lambda a, b: found.append(rb.typeof(f(product(a, b)))) or a)(*operands())
    return found[0].str_short()


def test_specs_are_values():
    spec = P("x", unreduced={"y"})
    assert spec.unreduced == {"y"} and spec.reduced == frozenset() and spec != P("x")
    assert repr(spec) == "P('x', unreduced={'y'})" and repr(P(reduced={"x"})) == "P(reduced={'x'})"
    assert pickle.loads(pickle.dumps(spec)) == spec and hash(P("x", unreduced={"y"})) == hash(spec)
    assert spec.update(partitions=("x", None)) == P("x", None, unreduced={"y"})
    for wrong in (
        lambda: P("x", unreduced={"x"}), lambda: P(unreduced={"x"}, reduced={"x"}),
        lambda: NamedSharding(MESH, P(unreduced={"z"})),
        lambda: NamedSharding(rb.make_mesh((8,), ("x",)), P(unreduced={"x"})),
    ):  # fmt: skip
        with pytest.raises(ShardingError, match="unreduced"):
            wrong()
    with pytest.raises(TypeError, match="got None"):
        P(unreduced={None})


@pytest.mark.parametrize("spec", [P("x"), P(), P(None, "x"), P("y", "x")])
def test_a_sum_is_added_up_where_one_says_so(spec):
    out = rb.jit(lambda a, b: rb.reshard(product(a, b), spec))(*operands())
    np.testing.assert_allclose(out, A @ B)
    assert out.sharding.is_equivalent_to(NamedSharding(MESH, spec), 2)


def test_the_compiler_is_told():
    from rabbet_parallel.unreduced_sums import COMPILER_KNOWS

    text = rb.jit(lambda a, b: rb.reshard(product(a, b), P("x"))).lower(*operands()).as_text()
    assert text.count('unreduced={"x"}') == COMPILER_KNOWS


def test_what_goes_with_sums():
    assert types_of(lambda u: u) == "f32[8,8]{U:x}"
    assert types_of(lambda u: u + u - (-u)) == "f32[8,8]{U:x}"
    assert types_of(lambda u: u.T.reshape(64)[:8]) == "f32[8]{U:x}"
    assert types_of(lambda u: u.sum()) == "f32[]{U:x}"
    assert types_of(lambda u: u * 2.0) == "f32[8,8]{U:x}"
    assert types_of(lambda u: rb.reshard(u, P("y"))) == "f32[8@y,8]"
    assert types_of(lambda u: rb.reshard(rnp.ones((8, 8)), P(unreduced={"x"})) + u) == "f32[8,8]{U:x}"
    told = lambda u: rb.reshard(rnp.ones((8, 8)), P(reduced={"x"}))
    assert types_of(told) == "f32[8,8]{R:x}" and types_of(lambda u: rnp.sin(told(u))) == "f32[8,8]{R:x}"
    assert types_of(lambda u: u * told(u)) == "f32[8,8]{U:x}"
    looped = lambda u: lax.scan(lambda c, _: (c + u, None), u, None, length=3)[0]
    assert types_of(looped) == "f32[8,8]{U:x}"


@pytest.mark.parametrize(
    "f", [rnp.sin, lambda u: u * u, lambda u: u + 1.0, lambda u: u + rnp.ones((8, 8)), lambda u: 1 / u,
          lambda u: u @ rnp.ones((8, 3))],
    ids=["sin", "square", "plus one", "plus added up", "inverse", "product"],
)  # fmt: skip
def test_what_would_count_addends_twice_is_refused(f):
    with pytest.raises(ShardingError, match="not added up yet") as raised:
        types_of(f)
    assert "rb.reshard" in str(raised.value)


def test_values_and_gradients_are_those_of_the_plain_program():
    def summed(a, b):
        u = product(a, b)
        for _ in range(2):
            u = u + product(a, b)
        return rb.reshard(u * 2.0, P("x"))

    def plain(a, b):
        return 6.0 * (a @ b)

    np.testing.assert_allclose(rb.jit(summed)(*operands()), plain(A, B))
    loss = lambda f: lambda a, b: (f(a, b) ** 2).sum()
    with rb.set_mesh(None):
        want = rb.grad(loss(plain), (0, 1))(A, B)
    for got, right in zip(rb.jit(rb.grad(loss(summed), (0, 1)))(*operands()), want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5)


def test_they_stay_within_a_program():
    with pytest.raises(ShardingError, match="a result of a compiled function"):
        rb.jit(product)(*operands())
    with pytest.raises(ShardingError, match="these live within a program"):
        rb.device_put(B, P(unreduced={"x"}))
