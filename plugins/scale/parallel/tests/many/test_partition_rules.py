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


def test_what_does_not_divide_stays_whole():
    """The compiler cuts what is made within a program into parts that are not equal, too."""
    p = product("product_of_odd_sizes", lambda op, a, b: "i j, j k -> i k")
    seen.clear()
    out = jit(lambda a, b: 2 * p(a[:13], b[:, :3]))(put(A, "x"), put(B, None, "y"))
    np.testing.assert_allclose(out, 2 * A[:13] @ B[:, :3], rtol=1e-5, atol=1e-6)
    assert seen[-1] == [(13, 8), (8, 3)]


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
    twice = {"rule": SdyShardingRule((("i",), ("j",)), (("i",),)), "reduction_factors": ("j",)}
    with pytest.raises(TypeError, match="reduction_factors beside an SdyShardingRule"):
        jit(product("product_with_two_answers", lambda op, a, b: twice))(put(A, "x"), put(B))
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


def test_a_dict_says_more_and_parts_know_where_they_begin():
    p = Primitive("numbered_rows", lambda a: a)
    p.rule("lower")(lambda op, a: op.write(lambda a: [rows_from(0, a)], [op.in_avals[0]], [a])[0])
    rows_from = lambda start, a: a + lax.convert_element_type(
        lax.add(np.int32(0) + start, lax.broadcasted_iota("int32", a.shape, 0)), a.dtype
    )
    begin = []

    def part(op, starts, a):
        begin.append((op.primitive.name, type(starts["j"]), a.shape))
        return rows_from(starts["i"], a)

    p.rule("partition")(lambda op, a: {"rule": "i j -> i j", "part": part})
    rows = A + np.arange(16, dtype=np.float32)[:, None]
    for spec in (("x",), (("y", "x"),), (("x", "y"),), ()):
        np.testing.assert_allclose(jit(p)(put(A, *spec)), rows, rtol=1e-6)
    assert begin[0] == ("numbered_rows", int, (4, 8))
    q = product("product_with_more", lambda op, a, b: {"rule": "i j, j k -> i k", "sum": "j"})
    with pytest.raises(TypeError, match="returned a dict with sum; its keys are rule, reduction_factors"):
        jit(q)(put(A, "x"), put(B))
    r = product("product_as_it_is_written", lambda op, a, b: None)
    np.testing.assert_allclose(jit(r)(put(A, "x"), put(B)), A @ B, rtol=1e-5, atol=1e-6)


def sent(f, *arrays):
    """The collective operations of a compiled program."""
    text = jit(f).lower(*arrays).compile().as_text()
    kinds = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute")
    return [kind for kind in kinds for _ in range(text.count(f" {kind}("))]


@pytest.mark.needs("grad", "lax.ragged_dot")
@pytest.mark.parametrize(
    ("rows", "groups", "kinds"),
    [
        (("x",), (), []), ((), (None, None, "x"), []), ((), ("x",), ["all-reduce"]),
        ((None, "x"), (None, "x"), ["all-reduce"]), (("x",), (None, None, "y"), []),
        (("y",), ("x",), ["all-reduce"]),
    ],
)  # fmt: skip
def test_products_of_groups_send_no_rows(rows, groups, kinds):
    """Rows, features and groups may be cut; no row is of the last group, and the last ones are of none."""
    x = np.random.default_rng(0).standard_normal((32, 8)).astype(np.float32)
    w = np.random.default_rng(1).standard_normal((4, 8, 16)).astype(np.float32)
    sizes = np.int32([13, 0, 16, 0])
    product = lambda x, w: lax.ragged_dot(x, w, sizes)
    at = np.repeat(np.arange(4), sizes)
    wanted = np.concatenate([np.einsum("mk,mkn->mn", x[:29], w[at]), np.zeros((3, 16), np.float32)])
    given = put(x, *rows), put(w, *groups)
    np.testing.assert_allclose(jit(product)(*given), wanted, rtol=1e-4, atol=1e-4)
    assert sent(product, *given) == kinds
    gradient = rb.grad(lambda x, w: (product(x, w) ** 2).sum(), (0, 1))
    for got, whole in zip(jit(gradient)(*given), gradient(x, w), strict=True):
        np.testing.assert_allclose(got, whole, rtol=1e-4, atol=1e-3)


@pytest.mark.needs("experimental.sparse")
def test_a_sparse_matrix_times_columns_that_are_cut_sends_nothing():
    from rabbet.experimental import sparse

    dense = np.where(np.random.default_rng(0).random((16, 16)) < 0.2, A[:, :1], 0).astype(np.float32)
    matrix, b = sparse.BCOO.fromdense(dense), np.concatenate([A, A], 1)
    out = jit(lambda b: matrix @ b)(put(b, None, "x"))
    np.testing.assert_allclose(out, dense @ b, rtol=1e-5, atol=1e-5)
    assert out.sharding.spec == P(None, "x") and not sent(lambda b: matrix @ b, put(b, None, "x"))
    np.testing.assert_allclose(jit(lambda b: matrix @ b)(put(b, "x")), dense @ b, rtol=1e-5, atol=1e-5)
    vector = put(b[:, 0], "x")
    np.testing.assert_allclose(jit(lambda v: matrix @ v)(vector), dense @ b[:, 0], rtol=1e-5, atol=1e-5)
