"""What is drawn: its distribution, shape, dtype and bounds, and what is refused."""

import numpy as np
import pytest
from rabbet import random

KEY = random.key(20260801)
MANY = 50_000


def drawn(function, *args, **kwargs):
    return np.asarray(function(KEY, *args, **kwargs))


# --------------------------------------------------------------------------------------- distributions
stats = pytest.importorskip("scipy.stats")

# Kolmogorov and Smirnov's test on fixed draws: a wrong distribution has a probability of practically 0.
CONTINUOUS = {
    "uniform": (lambda: drawn(random.uniform, (MANY,), minval=-1.0, maxval=3.0), stats.uniform(-1, 4)),
    "normal": (lambda: drawn(random.normal, (MANY,)), stats.norm()),
    "truncated_normal": (lambda: drawn(random.truncated_normal, -1.0, 2.0, (MANY,)), stats.truncnorm(-1, 2)),
    "exponential": (lambda: drawn(random.exponential, (MANY,)), stats.expon()),
    "gumbel": (lambda: drawn(random.gumbel, (MANY,)), stats.gumbel_r()),
    "gumbel, high": (lambda: drawn(random.gumbel, (MANY,), mode="high"), stats.gumbel_r()),
    "laplace": (lambda: drawn(random.laplace, (MANY,)), stats.laplace()),
    "logistic": (lambda: drawn(random.logistic, (MANY,)), stats.logistic()),
    "cauchy": (lambda: drawn(random.cauchy, (MANY,)), stats.cauchy()),
    "maxwell": (lambda: drawn(random.maxwell, (MANY,)), stats.maxwell()),
    "lognormal": (lambda: drawn(random.lognormal, 0.7, (MANY,)), stats.lognorm(0.7)),
    "pareto": (lambda: drawn(random.pareto, 2.5, (MANY,)), stats.pareto(2.5)),
    "rayleigh": (lambda: drawn(random.rayleigh, 2.0, (MANY,)), stats.rayleigh(scale=2)),
    "weibull_min": (lambda: drawn(random.weibull_min, 2.0, 1.5, (MANY,)), stats.weibull_min(1.5, scale=2)),
    "triangular": (lambda: drawn(random.triangular, 1.0, 2.0, 5.0, (MANY,)), stats.triang(0.25, 1, 4)),
    "real part": (lambda: drawn(random.normal, (MANY,), "complex64").real, stats.norm(scale=np.sqrt(0.5))),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution(name):
    draw, wanted = CONTINUOUS[name]
    assert stats.kstest(draw().astype(np.float64), wanted.cdf).pvalue > 1e-3


COUNTED = {
    "randint": (lambda: drawn(random.randint, (MANY,), 0, 7), np.full(7, 1 / 7)),
    "randint, narrow": (lambda: drawn(random.randint, (MANY,), -3, 4, "int8") + 3, np.full(7, 1 / 7)),
    "bits": (lambda: drawn(random.bits, (MANY,), "uint8") >> 4, np.full(16, 1 / 16)),
    "choice": (lambda: drawn(random.choice, 5, (MANY,)), np.full(5, 1 / 5)),
    "choice by weight": (
        lambda: drawn(random.choice, 3, (MANY,), p=np.float32([0.2, 0.7, 0.1])),
        [0.2, 0.7, 0.1],
    ),
    "categorical": (
        lambda: drawn(random.categorical, np.log(np.float32([2, 7, 1])), shape=(MANY,)),
        [0.2, 0.7, 0.1],
    ),
    "bernoulli": (lambda: drawn(random.bernoulli, 0.3, (MANY,)).astype(int), [0.7, 0.3]),
    "rademacher": (lambda: drawn(random.rademacher, (MANY,)) // 2 + 1, [0.5, 0.5]),
    "geometric": (
        lambda: np.minimum(drawn(random.geometric, 0.4, (MANY,)), 4) - 1,
        [0.4, 0.24, 0.144, 0.216],
    ),
    "permutation": (
        lambda: drawn(random.permutation, np.tile(np.arange(3), (MANY, 1)), 1, True)[:, 0],
        np.full(3, 1 / 3),
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counts(name):
    draw, probabilities = COUNTED[name]
    counts = np.bincount(draw(), minlength=len(probabilities))
    assert stats.chisquare(counts, np.asarray(probabilities) * MANY).pvalue > 1e-3


def test_small_probabilities_count_in_high_mode():
    """In the usual mode, 0 is drawn once in 2**23 times: far more often than an event of this probability
    occurs.
    """
    least, many = np.float32(2**-45), (3 * 2**23,)
    assert drawn(random.bernoulli, least, many).any()
    assert not drawn(random.bernoulli, least, many, mode="high").any()


def test_draws_are_independent_of_each_other():
    x = drawn(random.normal, (MANY,))
    y = np.asarray(random.normal(random.fold_in(KEY, 1), (MANY,)))
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.02
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.02


# ----------------------------------------------------------------------------------- shapes and dtypes
FLOATING = ["uniform", "normal", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell"]


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.narrow
def test_float_dtypes(name):
    function = getattr(random, name)
    assert drawn(function).shape == ()
    assert drawn(function).dtype == np.float32
    assert not function(KEY).weak_type
    for dtype in ("float16", "float32", "float64", np.float64, float):
        x = function(KEY, [2, 3], dtype)
        assert (x.shape, x.dtype) == ((2, 3), np.float32 if dtype is float else np.dtype(dtype))
    assert drawn(function, 3).shape == (3,)
    assert drawn(function, (0, 2)).shape == (0, 2)


@pytest.mark.parametrize("name", FLOATING)
def test_dtypes_that_are_no_floats(name):
    with pytest.raises(ValueError, match=f"{name}: dtype must be float.*, got i32"):
        getattr(random, name)(KEY, (), "int32")


@pytest.mark.needs("bfloat16")
@pytest.mark.parametrize("name", FLOATING)
def test_dtypes_of_plugins(name):
    x = getattr(random, name)(KEY, (1000,), "bfloat16")
    assert x.dtype.name == "bfloat16"
    assert np.isfinite(np.asarray(x).astype("f4")).all()


def test_float64_draws_64_bits():
    x = drawn(random.uniform, (1000,), "float64")
    assert (x.astype("f4").astype("f8") != x).mean() > 0.9
    assert drawn(random.uniform, (), "float64", 0.1, 0.1).tolist() == 0.1
    assert drawn(random.uniform, (2,), "float64", np.float64([0.1, 0.2]), 0.2).dtype == np.float64


def test_bounds_are_kept():
    for low, high in ((0.0, 1.0), (-3.0, -2.5), (1e-3, 1e3)):
        x = drawn(random.uniform, (MANY,), minval=low, maxval=high)
        assert low <= x.min() and x.max() <= high
    x = drawn(random.truncated_normal, -0.5, 0.25, (MANY,))
    assert x.min() > -0.5 and x.max() < 0.25
    for name in ("gumbel", "logistic", "laplace", "normal", "exponential"):
        assert np.isfinite(drawn(getattr(random, name), (200_000,))).all()


def test_parameters_broadcast():
    one = random.uniform(random.key(0), (), None, np.zeros(1, np.float32), np.ones((1, 1), np.float32))
    assert one.shape == (1, 1) and one[0, 0] == random.uniform(random.key(0))
    with pytest.raises(ValueError, match="does not broadcast"):
        random.uniform(random.key(0), (), None, np.zeros(2, np.float32))
    low = np.float32([0, 10, 20])
    x = drawn(random.uniform, (2, 3), minval=low, maxval=low + 1)
    assert ((x >= low) & (x < low + 1)).all()
    assert drawn(random.truncated_normal, low, low + 1).shape == (3,)
    assert drawn(random.pareto, low[:, None] + 1).shape == (3, 1)
    assert drawn(random.bernoulli, np.float32([0, 1])).tolist() == [False, True]
    assert drawn(
        random.triangular, low[:, None], low[:, None] + 1, low[:, None] + np.float32([2, 3])
    ).shape == (3, 2)
    with pytest.raises(
        ValueError, match=r"uniform: minval of the shape \(3,\) does not broadcast to the shape \(2,\)"
    ):
        random.uniform(KEY, (2,), minval=low)


def test_shapes_that_are_none():
    with pytest.raises(ValueError, match=r"normal: a dimension cannot be negative, got the shape \(-1,\)"):
        random.normal(KEY, (-1,))
    with pytest.raises(TypeError, match=r"normal: shape is a tuple of ints, got \(2.5,\)"):
        random.normal(KEY, (2.5,))


# --------------------------------------------------------------------------------------------- randint
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_randint_stays_in_range(dtype):
    limits = np.iinfo(dtype)
    for low, high in (
        (3, 11),
        (limits.min, limits.max),
        (limits.min - 5, limits.max + 5),
        (limits.max - 1, limits.max + 1),
    ):
        x = drawn(random.randint, (1000,), low, high, dtype)
        assert x.dtype == dtype
        assert x.min() >= low and x.max() < high
    assert set(drawn(random.randint, (1000,), limits.max - 1, limits.max + 1, dtype).tolist()) == {
        limits.max - 1,
        limits.max,
    }
    assert drawn(random.randint, (1000,), limits.min, limits.max + 1, dtype).std() > 0.25 * 2.0**limits.bits


def test_empty_ranges_give_the_least():
    assert drawn(random.randint, (3,), 5, 5).tolist() == [5, 5, 5]
    assert drawn(random.randint, (3,), 7, 3).tolist() == [7, 7, 7]
    assert drawn(random.randint, (3,), 130, 140, "int8").tolist() == [127] * 3


def test_randint_of_arrays():
    high = np.int32([1, 10, 2**31 - 1])
    x = drawn(random.randint, (100, 3), np.int32([0, 5, 0]), high)
    assert (x < high).all() and (x[:, 0] == 0).all() and (x[:, 1] >= 5).all()
    assert drawn(random.randint, (100, 3), 0, high, "uint8").max() <= 255
    with pytest.raises(ValueError, match="randint: maxval of the shape"):
        random.randint(KEY, (2,), 0, high)


def test_randint_takes_integers():
    with pytest.raises(TypeError, match="randint: dtype must be signed integer or unsigned integer, got f32"):
        random.randint(KEY, (), 0, 3, "float32")
    with pytest.raises(TypeError, match=r"randint: maxval is an integer, got c64\[\]"):
        random.randint(KEY, (), 0, np.zeros((), "complex64"))


@pytest.mark.narrow
def test_bits_are_unsigned():
    with pytest.raises(ValueError, match="bits: dtype must be unsigned integer, got i32"):
        random.bits(KEY, (), "int32")
    assert drawn(random.bits).dtype == np.uint32
    whole = np.bitwise_or.reduce(drawn(random.bits, (100,), "uint64"))
    assert whole == 2**64 - 1


# --------------------------------------------------------------------------- order, choice, categories
def test_permutation_keeps_the_elements():
    x = np.arange(24).reshape(4, 6)
    assert sorted(drawn(random.permutation, 100).tolist()) == list(range(100))
    rows = drawn(random.permutation, x)
    assert sorted(rows.tolist()) == x.tolist() and rows.tolist() != x.tolist()
    columns = drawn(random.permutation, x, axis=-1)
    assert sorted(columns.T.tolist()) == x.T.tolist()
    each = drawn(random.permutation, x, axis=1, independent=True)
    assert np.sort(each, 1).tolist() == x.tolist() and len({tuple(r % 6) for r in each}) > 1
    assert drawn(random.permutation, 0).shape == drawn(random.permutation, np.zeros(0)).shape == (0,)


def test_permutation_of_keys():
    keys = random.split(KEY, 5)
    mixed = np.asarray(random.key_data(random.permutation(KEY, keys))).tolist()
    assert sorted(mixed) == sorted(np.asarray(random.key_data(keys)).tolist())


def test_choice_without_replacement():
    assert sorted(drawn(random.choice, 10, (10,), replace=False).tolist()) == list(range(10))
    weights = np.float32([0.5, 0, 0.25, 0.25])
    assert sorted(drawn(random.choice, 4, (3,), replace=False, p=weights).tolist()) == [0, 2, 3]
    x = np.arange(12).reshape(3, 4)
    assert drawn(random.choice, x, (2, 2), replace=False, axis=1).shape == (3, 2, 2)


def test_choice_never_takes_the_impossible():
    weights = np.float32([0, 0.3, 0, 0.7, 0])
    assert set(drawn(random.choice, 5, (MANY,), p=weights).tolist()) == {1, 3}


@pytest.mark.narrow
def test_what_choice_refuses():
    with pytest.raises(ValueError, match="choice: there are no elements to draw 1 from"):
        random.choice(KEY, 0)
    assert drawn(random.choice, 0, (0,)).shape == (0,)
    with pytest.raises(
        ValueError, match="choice: 4 draws without replacement need as many elements, a has 3"
    ):
        random.choice(KEY, 3, (4,), replace=False)
    with pytest.raises(ValueError, match=r"p is one probability for each of 3 elements, got f32\[4\]"):
        random.choice(KEY, 3, p=np.ones(4))
    with pytest.raises(ValueError, match="choice: axis 3 is out of range for an array of 2 dimensions"):
        random.choice(KEY, np.zeros((2, 2)), axis=3)
    with pytest.raises(TypeError, match=r"expected an array with dimensions or an integer, got float 3.5"):
        random.choice(KEY, 3.5)


def test_categories():
    logits = np.float32([[0, -np.inf, 0], [-np.inf, 5, -np.inf]])
    x = drawn(random.categorical, logits, shape=(100, 2))
    assert set(x[:, 0].tolist()) == {0, 2} and set(x[:, 1].tolist()) == {1}
    assert drawn(random.categorical, logits, axis=0).shape == (3,)
    once = drawn(random.categorical, np.zeros((2, 5), "f4"), shape=(5, 2), replace=False)
    assert np.sort(once, 0).tolist() == [[i, i] for i in range(5)]
    with pytest.raises(ValueError, match=r"shape \(4,\) must end in the shape of the distributions, \(2,\)"):
        random.categorical(KEY, logits, shape=(4,))
    with pytest.raises(ValueError, match="8 draws without replacement need as many categories, there are 3"):
        random.categorical(KEY, logits, shape=(8, 2), replace=False)


@pytest.mark.narrow
def test_bernoulli_takes_floats():
    with pytest.raises(TypeError, match=r"bernoulli: the probability p must be a float, got i32\[\]"):
        random.bernoulli(KEY, 1)
    with pytest.raises(ValueError, match="mode is 'low' or 'high', got 'best'"):
        random.bernoulli(KEY, 0.5, mode="best")


@pytest.mark.parametrize("function", [
    random.normal, random.uniform, random.exponential, random.gumbel, random.cauchy, random.maxwell,
])  # fmt: skip
@pytest.mark.narrow
def test_64_bits_are_those_of_the_setting(function):
    import rabbet as rb

    wide = function(KEY, (3,), np.float64)
    assert wide.dtype == np.float64
    with rb.config.override(explicit_x64_dtypes="warn"):
        with pytest.warns(UserWarning, match="it becomes float32"):
            narrow = function(KEY, (3,), np.float64)
        np.testing.assert_array_equal(narrow, function(KEY, (3,)))


def test_gamma_numbers_of_small_shapes_to_the_last_bit():
    drawn = np.asarray(random.gamma(random.key(0), np.float32([0.0, 0.1, 2.0])))
    assert drawn[0] == 0 and drawn[1] == np.float32(0.32044244)


def test_choice_takes_a_sequence_as_its_shape():
    with pytest.raises(TypeError, match=r"shape must be a sequence of ints, as \(2,\), got 2"):
        random.choice(random.key(0), 5, 2)


def test_a_dtype_that_cannot_be_is_of_both_classes():
    for call in (
        lambda: random.poisson(random.key(0), 1.0, dtype=float),
        lambda: random.uniform(random.key(0), dtype=int),
    ):
        for error in (TypeError, ValueError):
            with pytest.raises(error, match="dtype must be"):
                call()
