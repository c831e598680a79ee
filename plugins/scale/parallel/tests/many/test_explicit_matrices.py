"""Batches of matrices, keys and computed places over axes of type ``Explicit``."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import ShardingError
from rabbet.sharding import AxisType, NamedSharding
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

rnp = pytest.importorskip("rabbet.numpy")
pytest.importorskip("rabbet_jit")

MESH = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
HOST = np.stack([np.eye(3, dtype=np.float32) * (i + 2) for i in range(4)]) + np.float32(0.5)


@pytest.fixture(autouse=True)
def current_mesh():
    with rb.set_mesh(MESH):
        yield


@pytest.mark.parametrize("name", ["cholesky", "eigh", "inv", "qr", "slogdet", "svd"])
def test_results_are_cut_along_the_batch(name):
    function = getattr(rnp.linalg, name)
    cut = rb.device_put(HOST, NamedSharding(MESH, P("x")))
    for out, whole in zip(rb.tree.leaves(rb.jit(function)(cut)), rb.tree.leaves(function(HOST)), strict=True):
        assert out.sharding.spec[0] == "x"
        np.testing.assert_allclose(out, whole, rtol=2e-5, atol=1e-5)


def test_matrices_that_are_cut_are_refused():
    wide = rb.device_put(np.ones((2, 4, 4), np.float32), NamedSharding(MESH, P(None, "x")))
    with pytest.raises(ShardingError, match="it works on matrices that are cut"):
        rb.lax.linalg.lu(wide)


@pytest.mark.needs("random", "vmap")
def test_a_draw_for_each_of_the_keys():
    keys = rb.random.split(rb.random.key(0), 4)
    draw = rb.vmap(lambda k: rb.random.normal(k, (2,)))
    out = rb.jit(draw)(rb.reshard(keys, P("x")))
    assert out.sharding.spec[0] == "x"
    np.testing.assert_array_equal(out, draw(keys))


def test_places_that_are_cut_where_the_result_is_said():
    x = rb.device_put(np.zeros((4, 3), np.float32), NamedSharding(MESH, P()))
    at = rb.device_put(np.array([0, 1, 1, 3]), NamedSharding(MESH, P("x")))
    out = rb.jit(lambda x, i: x.at[i].add(rnp.ones(3), out_sharding=P()))(x, at)
    assert out[:, 0].tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_devices_work_on_their_matrices_alone(kind):
    if rb.default_backend() != "cpu":
        pytest.skip("how the CPU's calls are cut")
    mesh = rb.make_mesh((4,), ("x",), axis_types=kind)
    with rb.set_mesh(mesh):
        cut = rb.device_put(HOST, NamedSharding(mesh, P("x")))
        program = rb.jit(lambda a: (rnp.linalg.inv(a), rnp.linalg.svd(a), rnp.linalg.cholesky(a)))
        text = program.lower(cut).compile().as_text()
    assert not [word for word in ("all-gather(", "all-reduce(", "all-to-all(") if word in text]


@pytest.mark.needs("nn", "numpy")
@pytest.mark.parametrize("spec", [P("x"), P("x", None, "y")])
def test_attention_over_cut_batches_and_heads(spec):
    """By plain operations, whatever kernels are installed for other platforms."""
    values = np.random.default_rng(0).normal(size=(4, 8, 2, 6)).astype(np.float32)
    want = rb.nn.dot_product_attention(values, values, values, implementation="xla")
    mesh = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
    with rb.set_mesh(mesh):
        x = rb.device_put(values, spec)
        out = rb.jit(lambda x: rb.nn.dot_product_attention(x, x, x))(x)
    np.testing.assert_allclose(out, want, rtol=1e-6)
    assert out.sharding.is_equivalent_to(x.sharding, 4)
