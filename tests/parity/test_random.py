"""The same key draws the same numbers under jax and under rabbet: integers bit for bit, floats within two
units in the last place."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import rabbet as rb  # noqa: E402
import rabbet.random  # noqa: E402

SHAPES = [(), (3, 5), (20_000,), (0, 3)]
# What a distribution makes of random bits it makes of each alone; which bits, is tried in all shapes.
FEW_SHAPES = [(3, 5)]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
UNITS = 2
# A difference of two logarithms: near 0 jax differs by this much from itself when it draws another shape. The
# length of a vector of three normals: each may differ by 2 units, and the sum is taken in another order.
LOOSE = {"logistic": 8, "maxwell": 4}


def draw(framework, function, seed, args, kwargs, *, wide, legacy=False):
    """What a framework draws, as a NumPy array; ``wide``: with 64-bit numbers by default."""
    module = framework.random
    switch = jax.enable_x64(wide) if framework is jax else rb.config.override(enable_x64=wide)
    with switch:
        key = (module.PRNGKey if legacy else module.key)(seed)
        if framework is jax:
            args = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
        out = getattr(module, function)(key, *args, **kwargs)
        dtypes = jax.dtypes if framework is jax else rb.dtypes
        return np.asarray(module.key_data(out) if dtypes.issubdtype(out.dtype, dtypes.prng_key) else out)


def agree(function, *args, seed=42, wide=False, legacy=False, **kwargs):
    """Both frameworks draw the same."""
    theirs = draw(jax, function, seed, args, kwargs, wide=wide, legacy=legacy)
    ours = draw(rb, function, seed, args, kwargs, wide=wide, legacy=legacy)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    if ours.dtype.kind in "biu":
        assert (ours == theirs).all()
        return
    if ours.dtype.kind == "c":
        ours, theirs = (np.stack([x.real, x.imag]) for x in (ours, theirs))
    # Two floats are n units apart if their bits, read as integers in order, differ by n.
    apart = np.abs(in_order(ours) - in_order(theirs))
    assert apart.max(initial=0) <= LOOSE.get(function, UNITS)


def in_order(floats):
    """Integers in the order of the floats, one apart where these are neighbours."""
    bits = floats.view(f"i{floats.dtype.itemsize}").astype(object if floats.dtype.itemsize == 8 else np.int64)
    return np.where(bits < 0, -(2 ** (8 * floats.dtype.itemsize - 1)) - bits, bits)


of_few_shapes = pytest.mark.parametrize("shape", FEW_SHAPES, ids=str)
of_floats = pytest.mark.parametrize("dtype", FLOATS)


@pytest.mark.parametrize("name", "uniform normal exponential gumbel laplace logistic cauchy maxwell".split())
@of_floats
@of_few_shapes
def test_continuous(name, dtype, shape):
    agree(name, shape, dtype, wide=dtype == "float64")


PARAMETERS = {
    "uniform": lambda shape, dtype: (shape, dtype, -3.7, 2.1),
    "truncated_normal": lambda shape, dtype: (-1.5, 0.7, shape, dtype),
    "lognormal": lambda shape, dtype: (0.7, shape, dtype),
    "pareto": lambda shape, dtype: (2.5, shape, dtype),
    "rayleigh": lambda shape, dtype: (2.5, shape, dtype),
    "weibull_min": lambda shape, dtype: (1.5, 0.7, shape, dtype),
    "triangular": lambda shape, dtype: (1.5, 2.7, 5.0, shape, dtype),
}


@pytest.mark.parametrize("name", PARAMETERS)
@of_floats
@of_few_shapes
def test_with_parameters(name, dtype, shape):
    agree(name, *PARAMETERS[name](shape, dtype), wide=dtype == "float64")


@pytest.mark.parametrize(
    ("shape", "wide"), [(s, False) for s in SHAPES] + [((20_000,), True)], ids=str
)
def test_defaults(shape, wide):
    for name in ("uniform", "normal", "bits", "rademacher", "exponential"):
        agree(name, shape, wide=wide)
    agree("randint", shape, -7, 1000, wide=wide)
    agree("normal", shape, "complex128" if wide else "complex64", wide=wide)
    agree("bernoulli", 0.3, shape, wide=wide)
    agree("geometric", 0.3, shape, wide=wide)
    agree("bernoulli", 0.3, shape, mode="high", wide=wide)
    agree("gumbel", shape, "float32", mode="high", wide=wide)


# Signed integers are made of the bits of unsigned ones.
@pytest.mark.parametrize(
    ("dtype", "shape"), [(d, s) for d in INTEGERS for s in (SHAPES if d[0] == "u" else FEW_SHAPES)], ids=str
)
def test_integers(dtype, shape):
    limits, wide = np.iinfo(dtype), dtype in ("int64", "uint64")
    most = min(limits.max, 2**63 - 1)  # jax takes no larger Python int
    if dtype[0] == "u":
        agree("bits", shape, dtype, wide=wide)
    ranges = [(3, 100), (limits.min, most), (5, 5), (7, 3), (0, most)]
    if not wide:
        ranges += [
            (limits.min, limits.max + 1), (limits.min - 5, 10), (limits.max, limits.max + 1),
            (limits.max + 3, limits.max + 7), (limits.min - 7, limits.min - 2), (3, limits.max + 1000),
        ]  # fmt: skip
    for low, high in ranges:
        agree("randint", shape, low, high, dtype, wide=wide or not -(2**31) <= low <= high < 2**31)


SEEDS = [
    0, 1, -1, 2**31, 2**32 - 1, 2**32 + 7, -(2**40), 2**63 - 1, -(2**63), np.int64(-3), np.uint32(2**32 - 1),
    np.int8(-1), np.int64(2**40 + 3), np.uint64(2**63 + 5),
]  # fmt: skip


@pytest.mark.parametrize("legacy", [False, True], ids=["typed", "legacy"])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_keys(seed, wide, legacy):
    common = {"seed": seed, "wide": wide, "legacy": legacy}
    agree("key_data", **common)
    agree("split", **common)
    agree("split", (2, 3), **common)
    agree("fold_in", 77, **common)
    agree("fold_in", 2**32 - 1, **common)


GRID = np.arange(24, dtype=np.int32).reshape(4, 6)
WEIGHTS = np.float32([0.1, 0.2, 0.3, 0.4])
LOGITS = np.log(np.random.RandomState(0).rand(3, 5)).astype(np.float32)


@pytest.mark.parametrize("wide", [False, True])
def test_permutation(wide):
    for size in (0, 1, 2, 10, 1000, 5000):
        agree("permutation", size, wide=wide)
    for more in ({}, {"axis": 1}, {"axis": -1, "independent": True}, {"independent": True}):
        agree("permutation", GRID, wide=wide, **more)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
def test_choice(shape, wide):
    for population in (4, GRID):
        for more in ({}, {"replace": False}, {"p": WEIGHTS}, {"p": WEIGHTS, "replace": False}):
            agree("choice", population, shape, wide=wide, **more)
    agree("choice", 4, shape, replace=False, p=WEIGHTS, mode="high", wide=wide)
    agree("choice", GRID, shape, axis=1, wide=wide)


def test_choice_of_many():
    agree("choice", 4, (20_000,), p=WEIGHTS)
    weights = np.random.RandomState(1).rand(1000).astype(np.float32)
    agree("choice", 1000, (2000,), p=weights / weights.sum())


@pytest.mark.parametrize("wide", [False, True])
def test_categorical(wide):
    for more in (
        {}, {"axis": 0}, {"shape": (7, 3)}, {"axis": 0, "shape": (7, 5)}, {"shape": (7, 3), "mode": "high"},
        {"shape": (2, 3), "replace": False}, {"axis": 0, "shape": (2, 5), "replace": False},
    ):  # fmt: skip
        agree("categorical", LOGITS, wide=wide, **more)


def test_arrays_of_bounds():
    agree("randint", (3,), np.int32([0, 1, 2]), 10)
    agree("randint", (5, 3), np.int32([0, 1, 2]), np.int32([10, 200, 2**31 - 1]), np.uint8)
    agree("uniform", (5, 3), minval=np.float32([0, 1, 2]))
    agree("bernoulli", np.float32([0, 0.1, 0.9]))
    agree("truncated_normal", np.float32([[-1], [0]]), np.float32([1, 2, 3]))


def test_same_under_vmap_and_jit():
    theirs = jax.jit(jax.vmap(lambda k: jax.random.normal(k, (3,))))(jax.random.split(jax.random.key(1), 4))
    ours = rb.jit(rb.vmap(lambda k: rb.random.normal(k, (3,))))(rb.random.split(rb.random.key(1), 4))
    assert np.abs(in_order(np.asarray(ours)) - in_order(np.asarray(theirs))).max() <= UNITS
