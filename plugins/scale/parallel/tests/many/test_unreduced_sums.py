"""``unreduced`` and ``reduced``: sums that are not added up yet, and what goes with them."""

import copy
import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import AxisType, NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_parallel.unreduced_sums import COMPILER_KNOWS

knows = pytest.mark.skipif(not COMPILER_KNOWS, reason="this compiler does not know the word")
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


@pytest.mark.skipif(COMPILER_KNOWS, reason="this compiler takes them out of programs")
def test_they_stay_within_a_program():
    with pytest.raises(ShardingError, match="a result of a compiled function"):
        rb.jit(product)(*operands())
    with pytest.raises(ShardingError, match="within a program"):
        rb.device_put(B, P(unreduced={"x"}))


def whole(x):
    return np.asarray(rb.reshard(x, P()))


@knows
def test_programs_return_and_take_them():
    u = rb.jit(product)(*operands())
    assert u.sharding.spec == P(None, None, unreduced={"x"}) and rb.typeof(u).str_short() == "f32[8,8]{U:x}"
    assert not u.is_fully_replicated and not u.sharding.is_fully_replicated
    addends = [np.asarray(s.data) for s in u.addressable_shards if s.device.id % 2 == 0]
    np.testing.assert_allclose(sum(addends), A @ B)
    for twice in (u + u, rb.jit(lambda u: u + u)(u), rb.jit(lambda u: u + u, donate_argnums=0)(rnp.copy(u))):
        np.testing.assert_allclose(whole(twice), 2 * A @ B)
    compiled = rb.jit(lambda u: u * 3.0).lower(u).compile()
    np.testing.assert_allclose(whole(compiled(u)), 3 * A @ B)
    np.testing.assert_allclose(whole(copy.deepcopy(u)), A @ B)
    out = rb.jit(lambda u: rb.reshard(u, P("x")))(u)
    np.testing.assert_allclose(out, A @ B)


@knows
def test_their_addends_are_looked_at_for_nan():
    a, b = operands()
    with rb.config.override(debug_nans=True):
        np.testing.assert_allclose(whole(rb.jit(product)(a, b)), A @ B)
        with pytest.raises(FloatingPointError, match="a NaN"):
            rb.jit(product)(a, rb.device_put(np.full_like(B, np.nan), P("x")))


@knows
def test_arrays_become_them_and_back():
    for spec in (P(unreduced={"x"}), P("y", unreduced={"x"}), P(unreduced={"x", "y"})):
        np.testing.assert_allclose(whole(rb.device_put(B, spec)), B)
        np.testing.assert_allclose(whole(rb.jit(lambda b: b, out_shardings=spec)(B)), B)
    u = rb.device_put(B, P(unreduced={"x"}))
    few = NamedSharding(rb.make_mesh((4,), ("z",), devices=rb.devices()[:4]), P("z"))
    for place in (P(), P("x"), P(unreduced={"y"}), P("y", unreduced={"x"}), rb.devices()[3], few):
        there = rb.device_put(u, place)
        np.testing.assert_allclose(whole(there) if there.sharding.addends else there, B)
    np.testing.assert_allclose(rb.jit(lambda u: u, out_shardings=P("x"))(u), B)
    assert rb.device_put(u).sharding == u.sharding
    np.testing.assert_allclose(whole(rnp.ones(4, out_sharding=P(unreduced={"x"}))), np.ones(4))
    parts = [s.data for s in u.addressable_shards]
    again = rb.make_array_from_single_device_arrays(u.shape, u.sharding, parts)
    np.testing.assert_allclose(whole(again), B)


@knows
def test_loops_use_them():
    u = rb.jit(product)(*operands())
    f = rb.jit(lambda u: lax.fori_loop(0, 3, lambda i, c: c + u, u))  # captured by the body
    np.testing.assert_allclose(whole(f(u)), 4 * A @ B)
    g = rb.jit(lambda u: lax.cond(u.shape[0] > 3, lambda: u * 2.0, lambda: u))
    np.testing.assert_allclose(whole(g(u)), 2 * A @ B)


@knows
@pytest.mark.parametrize(
    "f", [np.asarray, lambda u: float(u[0, 0]), pickle.dumps, np.from_dlpack, lambda u: u.tolist(),
          rb.device_get, lambda u: rb.make_array_from_callback(u.shape, u.sharding, lambda index: A[index]),
          lambda u: rb.shard_map(lambda v: v, in_specs=P(), out_specs=P())(u),
          lambda u: rb.shard_map(lambda v: v, in_specs=P(), out_specs=P(unreduced={"x"}))(B)],
    ids=["asarray", "float", "pickle", "dlpack", "tolist", "device_get", "callback", "mapped", "out_specs"],
)  # fmt: skip
def test_nobody_reads_addends_for_values(f):
    with pytest.raises(ShardingError, match="unreduced"):
        f(rb.device_put(B, P(unreduced={"x"})))


@knows
def test_no_file_has_addends_for_values(tmp_path):
    u = rb.device_put(B, P(unreduced={"x"}))
    assert "8" in repr(u)
    store = pytest.importorskip("rabbet.store")
    with pytest.raises(ShardingError, match="before it is saved"):
        store.Checkpoints(tmp_path).save(1, {"u": u}, wait=True)
    export = pytest.importorskip("rabbet.export")
    for f in (rb.jit(lambda u: u * 2.0), rb.jit(lambda b: rb.reshard(b * 2.0, P("x")))):
        with pytest.raises(NotImplementedError, match="unreduced"):
            export.export(f)(u)
    with pytest.raises(NotImplementedError, match="unreduced"):
        export.export(rb.jit(product))(*operands())


@pytest.mark.parametrize(
    "f", [lambda u: u.astype(np.int32), lambda u: rnp.pad(u, 1, constant_values=1.0), rnp.fft.fft,
          lambda u: rnp.take(u, np.array([1, 100]), axis=0, fill_value=1.0),
          lambda u: lax.div(rb.reshard(rnp.ones((8,), int), P(unreduced={"x"})), 2)],
    ids=["to integers", "pad", "fft", "fill", "integer division"],
)  # fmt: skip
def test_what_is_not_linear_in_addends_is_refused(f):
    with pytest.raises(ShardingError, match="not added up yet"):
        types_of(f)
    assert types_of(lambda u: rnp.take(u, np.array([1, 0]), axis=0)) == "f32[2,8]{U:x}"
    assert types_of(lambda u: u.astype(rnp.bfloat16)) == "bf16[8,8]{U:x}"


V = np.linspace(0.1, 2.0, 32, dtype=np.float32).reshape(8, 4)
UX = P(unreduced={"x"})


@knows
@pytest.mark.parametrize("spec", [P(), P("x"), P("y"), P(reduced={"x"})], ids=str)
@pytest.mark.parametrize(
    ("f", "want"),
    [
        (rnp.sin, np.sin(V)), (lambda v: v * v, V * V), (lambda v: v.sum(0), V.sum(0)),
        (lambda v: rb.reshard(v * 2, P()), V * 2),
        (lambda v: rnp.einsum("ij,ik->jk", v, v, out_sharding=P()), V.T @ V),
        (lambda v: rnp.cumsum(v, 1), V.cumsum(1)), (lambda v: rnp.ones((8, 4)), np.ones((8, 4))),
        (lambda v: lax.fori_loop(0, 2, lambda i, c: rnp.sin(c), v), np.sin(np.sin(V))),
    ],
    ids=["sin", "square", "sum", "moved", "product", "cumsum", "ones", "loop"],
)  # fmt: skip
def test_what_is_computed_whole_is_counted_once(f, want, spec):
    # A constraint alone makes each device compute all of it, and the sum has it once a device.
    out = rb.jit(lambda v: rb.reshard(f(v), UX))(rb.device_put(V, spec))
    assert rb.typeof(out).mat.unreduced == {"x"}
    np.testing.assert_allclose(whole(out), want, rtol=1e-5)


@knows
@pytest.mark.parametrize("specs", [("x", "x"), (None, None), ("y", "y"), ("x", None), (("x", "y"),) * 2])
def test_products_are_sums_whatever_cuts_them(specs):
    left, right = [rb.device_put(V, P(cut)) for cut in specs]
    f = lambda a, b: rnp.einsum("ij,ik->jk", a, b, out_sharding=UX)
    np.testing.assert_allclose(whole(rb.jit(f)(left, right)), V.T @ V, rtol=1e-5)
    if specs == ("x", "x"):
        assert "all-reduce" not in rb.jit(f).lower(left, right).compile().as_text()


@knows
@pytest.mark.parametrize("within", [rb.jit, lambda f: f], ids=["jit", "eager"])
def test_gradients_of_what_is_reduced_are_sums(within):
    rows, w = rb.device_put(V, P("x")), rb.device_put(V[:4, :3], P(reduced={"x"}))
    loss = lambda w, v: (rnp.sin(v @ w) ** 2).sum()
    of_w, of_v = within(rb.grad(loss, (0, 1)))(w, rows)
    assert rb.typeof(of_w).str_short() == "f32[4,3]{U:x}" and rb.typeof(of_v).str_short() == "f32[8@x,4]"
    with rb.set_mesh(None):
        right, other = rb.grad(loss, (0, 1))(V[:4, :3], V)
    # One of them is the small sum of eight terms near 1, which are added in another order.
    np.testing.assert_allclose(whole(of_w), right, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(of_v, other, rtol=1e-5)
    for f in (lambda r: (r * r).sum(), lambda r: (rnp.take(r, np.array([0, 3, 3]), axis=0) ** 2).sum(),
              lambda r: (r[:4] * 2.0).sum(), lambda r: (rnp.sin(r) * rows).sum()):  # fmt: skip
        got = within(rb.grad(f))(rb.device_put(V, P(reduced={"x"})))
        with rb.set_mesh(None):
            plain = rb.grad(f if f.__code__.co_freevars == () else lambda r: (rnp.sin(r) * V).sum())(V)
        assert rb.typeof(got).mat.unreduced == {"x"}
        np.testing.assert_allclose(whole(got), plain, rtol=1e-5)
    of_sum = within(rb.grad(lambda u: (rb.reshard(u, P("x")) ** 2).sum()))(rb.device_put(V, UX))
    assert rb.typeof(of_sum).str_short() == "f32[8,4]{R:x}"
    np.testing.assert_allclose(of_sum, 2 * V, rtol=1e-6)
    back = within(lambda u: rb.reshard(u, P(reduced={"x"})))(rb.device_put(V, UX))
    np.testing.assert_allclose(back, V)
