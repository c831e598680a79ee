"""What is spread over devices computes what one device does: every primitive under generated shardings.

A row of the conformance kit is mapped over eight examples, and these, with whatever else can be cut, are laid
over three meshes as chance has it.
"""

import os
import zlib

import numpy as np
import pytest
import rabbet as rb
from rabbet import dtypes, lax
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
grad = pytest.importorskip("rabbet_autodiff").grad
vmap = pytest.importorskip("rabbet_vmap").vmap
rows = pytest.importorskip("rabbet.testing.rows")
pytest.importorskip("rabbet.numpy", reason="methods of arrays are in the package rabbet-numpy")

MESHES = [
    rb.make_mesh((8,), ("a",)), rb.make_mesh((4, 2), ("a", "b")), rb.make_mesh((2, 2, 2), ("a", "b", "c")),
]  # fmt: skip
ROWS = [
    row for family in rows.families().values() for row in family if row.inputs and "batching" not in row.apart
]
# What the compiler would cut up wrongly, or refuse, if it were not kept whole.
WHOLE = {
    "conv_general_dilated-points", "conv_general_dilated-no places", "conv_general_dilated-image",
    "reduce_or-(0, 2)", "reduce_xor-(0, 1, 2)", "select_and_gather_add-wide", "cumprod-zeros0",
    "fft-RFFT-3x4",
}  # fmt: skip
FEW = [*ROWS[::32], *[row for row in ROWS[1:] if row.name in WHOLE]]


def everywhere(rows, few):
    """Some rows in every run; all of them, which takes minutes, with RABBET_SOAK=1. The page "Many devices"
    names those that fail.
    """
    chosen = rows if os.environ.get("RABBET_SOAK") else few
    return pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in chosen])


def some_sharding(shape, mesh, draw):
    """A sharding for this shape on a mesh: each axis on a dimension that it cuts evenly, or on none."""
    entries, left = [()] * len(shape), list(shape)
    for name in map(str, draw.permutation(mesh.axis_names)):
        places = [d for d, size in enumerate(left) if size and size % mesh.shape[name] == 0]
        if places and draw.random() < 0.9:
            d = int(draw.choice(places))
            left[d] //= mesh.shape[name]
            entries[d] = (*entries[d], name)
    return NamedSharding(mesh, P(*entries))


def examples(row, dtype, draw):
    """Eight examples of each operand, stacked."""
    drawn = [row.draw(dtype, int(draw.integers(2**31))) for _ in range(8)]
    stacked = [np.stack([np.asarray(x) for x in xs]) for xs in zip(*drawn, strict=True)]
    return [lax.convert_element_type(x, x.dtype) for x in stacked]  # 64 bits stay 64 bits


def agree(found, wanted, row):
    for x, y in zip(found, wanted, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        x, y = np.asarray(x), np.asarray(y)
        if dtypes.kind(x.dtype) in "fc":
            limit = 50 * row.loose * float(dtypes.finfo(x.dtype).eps)
            scale = max(
                1.0, float(np.nanmax(np.abs(y.astype("complex128")), initial=0, where=np.isfinite(y)))
            )
            np.testing.assert_allclose(
                x.astype("complex128"), y.astype("complex128"), rtol=limit, atol=limit * scale
            )
        else:
            assert np.array_equal(x, y)


@everywhere(ROWS, FEW)
def test_values(row):
    draw = np.random.default_rng(zlib.crc32(row.name.encode()))
    dtype = row.main_dtype()
    args, f = examples(row, dtype, draw), jit(vmap(row.function(dtype)))
    wanted = f(*args)
    for mesh in MESHES:
        spread = [rb.device_put(x, some_sharding(x.shape, mesh, draw)) for x in args]
        found = f(*spread)
        assert all(out.sharding.device_set == set(rb.devices()) for out in found)
        agree(found, wanted, row)


def real(x):
    return lax.real(x) if dtypes.kind(x.dtype) == "c" else x


SMOOTH = [row for row in ROWS if row.orders and "float32" in row.dtypes]


@everywhere(SMOOTH, [*SMOOTH[::48], *[row for row in SMOOTH if row.name in WHOLE]])
def test_gradients(row):
    draw = np.random.default_rng(zlib.crc32(row.name.encode()))
    args = examples(row, "float32", draw)
    chosen = [i for i, x in enumerate(args) if x.dtype == np.float32]
    function = vmap(row.function("float32"))

    def total(*given):
        outs = function(*given)
        parts = [lax.sin(real(o)).sum() for o in outs if dtypes.kind(o.dtype) in "fc"]
        return sum(parts[1:], parts[0])

    gradient = jit(grad(total, chosen))
    wanted = gradient(*args)
    for mesh in MESHES[1:]:
        spread = [rb.device_put(x, some_sharding(x.shape, mesh, draw)) for x in args]
        agree(gradient(*spread), wanted, row)


# ------------------------------------------------------------------------- what the compiler does wrongly
def cut_alike(f, x, mesh, axis):
    """Whether a function of an array that is cut gives what it gives of a whole one."""
    spread = rb.device_put(x, NamedSharding(mesh, P(axis)))
    return np.array_equal(np.asarray(jit(f)(spread)), np.asarray(jit(f)(x)))


@pytest.mark.parametrize("low,high", [(0, 1), (1, -1), (-2, -1)])
def test_values_between_elements(low, high):
    """An interior pad that also cuts off ended the process; one of 3 elements in 4 parts gave wrong numbers,
    and so did the gradient of a slice with a stride.
    """

    def between(x, config=((low, high, 2),)):
        thirds = lax.slice(x, (0,), (x.shape[0] - 2,), (2,))  # 3 of 8 elements: unequal parts
        return lax.pad(thirds * 2.0, 0.0, config)

    x = np.arange(1, 9, dtype=np.float32)
    for mesh in MESHES[:2]:
        assert cut_alike(between, x, mesh, "a")
        assert cut_alike(lambda x: lax.pad(x, 0.0, [(low, high, 1)]), x, mesh, "a")
        assert cut_alike(grad(lambda x: lax.sin(between(x)).sum()), x, mesh, "a")


def test_where_devices_compute_by_themselves_along_one_axis():
    """The compiler cuts up the rest along the other one."""

    def between(x):
        return lax.pad(lax.slice(x, (0, 0), (2, 6), (1, 2)) * 2.0, 0.0, [(0, 0, 0), (1, -1, 2)])

    x = np.arange(32, dtype=np.float32).reshape(8, 4).T.reshape(4, 8)
    mesh = rb.make_mesh((2, 4), ("a", "b"))
    spread = rb.device_put(x, NamedSharding(mesh, P("a", "b")))
    part = rb.shard_map(between, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"})
    wanted = np.concatenate([np.asarray(jit(between)(x[:2])), np.asarray(jit(between)(x[2:]))])
    assert np.array_equal(np.asarray(jit(part)(spread)), wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_upper_halves_of_products(dtype):
    info = np.iinfo(dtype)
    some = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, info.max // 3, info.max // 2 + 7]
    x, y = [np.asarray(z.ravel(), dtype) for z in np.meshgrid(np.array(some, dtype), np.array(some, dtype))]
    wanted = [(int(a) * int(b)) >> info.bits for a, b in zip(x, y, strict=True)]
    at = NamedSharding(MESHES[0], P("a"))
    x, y = [rb.device_put(rb.numpy.asarray(z, dtype=dtype), at) for z in (x, y)]
    for found in (jit(lax.mulhi)(x, y), lax.mulhi(x, y)):
        assert found.dtype == dtype and [int(n) for n in np.asarray(found)] == wanted


def test_each_examples_own_places_are_on_one_device():
    """With jaxlib 0.10 a scatter whose places are cut within an example gave wrong numbers."""
    draw = np.random.default_rng(3)
    x, news = draw.normal(size=(8, 4)).astype("f4"), draw.normal(size=(8, 4)).astype("f4")
    places = draw.integers(0, 4, (8, 4)).astype("i4")
    for how in ("add", "multiply", "max"):
        update = vmap(lambda x, at, new, how=how: getattr(x.at[at], how)(new))
        wanted = np.asarray(jit(update)(x, places, news))
        for specs in (
            (P(("b", "c"), "a"), P("b", ("a", "c")), P("b", ("a", "c"))),
            (P("a", "b"), P("b", "a"), P(None, "b")),
        ):  # fmt: skip
            cut = [
                rb.device_put(v, NamedSharding(MESHES[2], s))
                for v, s in zip((x, places, news), specs, strict=True)
            ]
            np.testing.assert_allclose(np.asarray(jit(update)(*cut)), wanted, rtol=1e-5, atol=1e-6)
