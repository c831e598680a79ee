"""Permutations along several axes at once: against NumPy, under maps, and what is sent."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

grad = pytest.importorskip("rabbet_autodiff").grad
vmap = pytest.importorskip("rabbet_vmap").vmap

MESH = rb.make_mesh((4, 2), ("x", "y"))
CUBE = rb.make_mesh((2, 2, 2), ("x", "y", "z"))
HOST = np.arange(8 * 3, dtype=np.float32).reshape(8, 3) + 1
RING = [(i, (i + 3) % 8) for i in range(8)]
SOME = [(0, 5), (5, 2), (7, 0)]
ORDER = [3, 1, 2, 0, 7, 6, 5, 4]


def mapped(f, mesh=MESH, **options):
    names = mesh.axis_names
    return rb.shard_map(f, mesh=mesh, in_specs=P(names), out_specs=P(names), **options)


def sent(host, pairs):
    out = np.zeros_like(host)
    for source, destination in pairs:
        out[destination] = host[source]
    return out


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("pairs", [RING, SOME], ids=["ring", "some"])
def test_values_and_derivatives(pairs, check_vma):
    f = rb.jit(mapped(lambda x: lax.ppermute(x, ("x", "y"), pairs), check_vma=check_vma))
    np.testing.assert_array_equal(f(HOST), sent(HOST, pairs))
    text = f.lower(HOST).as_text()
    assert text.count("collective_permute") == 1 and "all_gather" not in text
    weights = HOST[::-1] / 7
    back = [(destination, source) for source, destination in pairs]
    gradient = rb.jit(grad(lambda x: (f(x) * weights).sum()))(HOST)
    np.testing.assert_array_equal(gradient, sent(weights, back))


def test_in_another_order_and_along_some():
    f = mapped(lambda x: lax.ppermute(x, ("y", "x"), RING))
    turned = HOST.reshape(4, 2, 3).swapaxes(0, 1).reshape(8, 3)
    wanted = sent(turned, RING).reshape(2, 4, 3).swapaxes(0, 1).reshape(8, 3)
    np.testing.assert_array_equal(rb.jit(f)(HOST), wanted)
    pairs = [(i, (i + 1) % 4) for i in range(4)]
    f = mapped(lambda x: lax.ppermute(x, ("x", "z"), pairs), CUBE)
    cube = HOST.reshape(2, 2, 2, 3)
    wanted = np.stack([sent(cube[:, j].reshape(4, 3), pairs).reshape(2, 2, 3) for j in range(2)], axis=1)
    np.testing.assert_array_equal(rb.jit(f)(HOST), wanted.reshape(8, 3))


def test_pshuffle():
    f = mapped(lambda x: lax.pshuffle(x, ("x", "y"), ORDER))
    np.testing.assert_array_equal(rb.jit(f)(HOST), HOST[ORDER])


@pytest.mark.parametrize("pairs", [RING, SOME], ids=["ring", "some"])
def test_the_same_under_maps(pairs):
    f = lambda x: lax.ppermute(x, ("x", "y"), pairs)
    inner = vmap(vmap(f, axis_name="y"), axis_name="x")
    np.testing.assert_array_equal(inner(HOST.reshape(4, 2, 3)).reshape(8, 3), sent(HOST, pairs))
    mesh = rb.make_mesh((4,), ("x",), devices=rb.devices()[:4])
    half = vmap(f, axis_name="y", in_axes=1, out_axes=1)
    mixed = rb.jit(rb.shard_map(half, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
    np.testing.assert_array_equal(mixed(HOST.reshape(4, 2, 3)).reshape(8, 3), sent(HOST, pairs))
    rows = vmap(mapped(f), in_axes=2, out_axes=2)
    np.testing.assert_array_equal(rows(np.stack([HOST, HOST * 2], 2))[..., 1], 2 * sent(HOST, pairs))


def test_what_is_refused():
    with pytest.raises(ValueError, match="is not an index of the axis"):
        mapped(lambda x: lax.ppermute(x, ("x", "y"), [(0, 8)]))(HOST)
    with pytest.raises(ValueError, match="0 to 7, once"):
        mapped(lambda x: lax.pshuffle(x, ("x", "y"), [0, 1]))(HOST)
    with pytest.raises(rb.errors.ShardingError, match="may differ between devices along 'y'"):
        f = lambda x: lax.ppermute(x, ("x", "y"), RING)
        rb.shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(HOST)
