"""Strangers' primitives along axes of type Auto: a rule ``partition`` says which dimensions go together."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.experimental.custom_partitioning import SdyShardingRule
from rabbet.extend.backend import Backend
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
pytest.importorskip("rabbet.numpy")

MESH = rb.make_mesh((4, 2), ("x", "y"))
A = np.linspace(-1, 1, 16 * 8, dtype=np.float32).reshape(16, 8)
B = np.linspace(-1, 1, 8 * 4, dtype=np.float32).reshape(8, 4)
seen = []


def put(x, *spec):
    return rb.device_put(x, NamedSharding(MESH, P(*spec)))


def product(name, rule):
    """A product whose lowering only works on the parts that it is told of."""
    p = Primitive(name, lambda a, b: ShapedArray((a.shape[0], b.shape[1]), a.dtype), doc="a @ b")

    @p.rule("lower")
    def lower(op, a, b):
        seen.append([x.shape for x in op.in_avals])
        (x, y), out = op.in_avals, op.out
        return op.emit(
            f"stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : "
            f"({x.mlir}, {y.mlir}) -> {out.mlir}"
        )

    p.rule("partition")(rule)
    return p


def test_dimensions_of_one_factor_are_cut_alike_and_nothing_is_gathered():
    p = product("product_by_rows", lambda op, a, b: "i j, j k -> i k")
    seen.clear()
    out = jit(p)(put(A, "x"), put(B, None, "y"))
    np.testing.assert_allclose(out, A @ B, rtol=1e-5, atol=1e-6)
    assert out.sharding.spec == P("x", "y") and seen[-1] == [(4, 8), (8, 2)]


def test_factors_that_nobody_adds_up_stay_whole():
    p = product("product_of_whole_rows", lambda op, a, b: "i j, j k -> i k")
    seen.clear()
    np.testing.assert_allclose(jit(p)(put(A, "x", "y"), put(B, "y")), A @ B, rtol=1e-5, atol=1e-6)
    assert seen[-1] == [(4, 8), (8, 4)]


def test_reduction_factors_are_added_up():
    rule = SdyShardingRule((("i", "j"), ("j", "k")), (("i", "k"),), reduction_factors=("j",))
    p = product("product_of_parts", lambda op, a, b: rule)
    seen.clear()
    out = jit(p)(put(A, "x", "y"), put(B, "y"))
    np.testing.assert_allclose(out, A @ B, rtol=1e-5, atol=1e-6)
    assert seen[-1] == [(4, 4), (4, 4)] and out.sharding.spec in (P("x"), P("x", None))


def test_on_one_device_and_within_shard_map_the_rule_is_not_asked():
    p = product("product_asked_for_nothing", lambda op, a, b: 1 / 0)
    np.testing.assert_allclose(p(A, B), A @ B, rtol=1e-5, atol=1e-6)
    mapped = rb.shard_map(p, mesh=MESH, in_specs=(P("x"), P()), out_specs=P("x"))
    np.testing.assert_allclose(jit(mapped)(A, B), A @ B, rtol=1e-5, atol=1e-6)


def test_what_is_no_rule_is_refused_by_name():
    p = product("product_with_a_number", lambda op, a, b: 5)
    with pytest.raises(
        TypeError, match=r"'partition' rule for primitive 'product_with_a_number' \(.*returned int"
    ):
        jit(p)(put(A, "x"), put(B))
    q = product("product_of_three", lambda op, a, b: "i, j, k -> i")
    with pytest.raises(ValueError, match="'product_of_three'"):
        jit(q)(put(A, "x"), put(B))


@pytest.mark.parametrize("spec", [("x",), ("y",), (None, "x"), ("x", "y"), (("x", "y"),)])
def test_the_kit_compares_parts_with_the_whole(spec):
    from rabbet.testing.partitions import check_partition

    p = product(f"product_of_the_kit_{len(str(spec))}_{spec[0]}", lambda op, a, b: "i j, j k -> i k")
    check_partition(p, [put(A, *spec), put(B)])


def test_the_kit_finds_a_wrong_rule():
    from rabbet.testing import LawError
    from rabbet.testing.partitions import check_partition

    total = Primitive("total_with_a_wrong_rule", lambda x: x)
    total.rule("lower:cpu")(
        lambda op, x: op.write(lambda x: [x - lax.reduce_max(x, (0, 1))], [op.in_avals[0]], [x])[0]
    )
    total.rule("partition")(lambda op, x: "i j -> i j")
    with pytest.raises(LawError, match="differ"):
        check_partition(total, [put(A, "x")])


def test_a_function_that_only_the_parts_call_is_provided(monkeypatch):
    """The program's own text does not name it."""
    provided = []
    provide = Backend.provide
    noting = lambda self, targets: (provided.append(targets), provide(self, targets))[1]
    monkeypatch.setattr(Backend, "provide", noting)
    p = Primitive("called_by_parts", lambda x: x)

    @p.rule("lower")
    def lower(op, x):
        (whole,) = op.in_avals
        outs = [whole, ShapedArray(whole.shape[:1], "int32")]
        return op.custom_call("lapack_spotrf_ffi", [x], outs, attributes={"uplo": "L"})[0]

    p.rule("partition")(lambda op, x: "b n m -> b n m")
    x = np.broadcast_to(np.eye(4, dtype=np.float32) * 4, (8, 4, 4))
    out = jit(p)(put(x, "x"))
    np.testing.assert_array_equal(out, np.eye(4) * 2 + 0 * x)
    assert out.sharding.spec == P("x") and {"lapack_spotrf_ffi"} in provided
