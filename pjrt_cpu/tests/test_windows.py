"""The gradient of maxima over windows: as the CPU writes it, it is what the definition says."""

import itertools

import numpy as np
import pytest
import rabbet as rb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rabbet import lax
from rabbet_pjrt_cpu.lowering import windows

pytest.importorskip("rabbet_convolution")
pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")


def by_definition(x, source, sizes, strides, padding, largest):
    """Each element of the source added where its window has its first extreme or NaN, in NumPy."""
    worst = -np.inf if largest else np.inf
    wide = np.pad(x, padding, constant_values=worst)
    out = np.zeros_like(wide)
    for place in np.ndindex(source.shape):
        window = tuple(
            slice(i * step, i * step + size) for i, step, size in zip(place, strides, sizes, strict=True)
        )
        seen = wide[window]
        best = np.nan if np.isnan(seen).any() else (seen.max() if largest else seen.min())
        first = next(at for at in np.ndindex(seen.shape) if seen[at] == best or np.isnan(seen[at]))
        out[tuple(w.start + i for w, i in zip(window, first, strict=True))] += source[place]
    return out[tuple(slice(low, low + n) for (low, _), n in zip(padding, x.shape, strict=True))]


def gradient(x, source, sizes, strides, padding, largest):
    worst, choose = (-np.inf, lax.max) if largest else (np.inf, lax.min)
    pool = lambda x: lax.reduce_window(x, worst, choose, sizes, strides, padding)
    return rb.vjp(pool, x)[1](source)[0]


def counts(x, sizes, strides, padding):
    return [
        (n + low + high - w) // s + 1
        for n, w, s, (low, high) in zip(x.shape, sizes, strides, padding, strict=True)
    ]


@pytest.mark.forbidden("debug_nans", "debug_infs")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_pooling_goes_back_as_the_definition_says(data):
    pick = lambda *values: data.draw(st.sampled_from(values))
    sizes = (1, *pick((2, 2), (3, 2), (1, 4), (2, 1)), pick(1, 2))
    strides = sizes if pick(True, True, False) else (1, 2, 1, 1)
    padding = ((0, 0), pick((0, 0), (1, 2)), pick((0, 0), (0, 1)), (0, 0))
    shape = 2, pick(4, 7), pick(5, 8), pick(2, 3)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = random.integers(-2, 3, shape).astype("float32")  # with ties
    if pick(True, False):
        x[tuple(random.integers(0, n) for n in shape)] = np.nan
    largest = pick(True, False)
    source = random.standard_normal(counts(x, sizes, strides, padding)).astype("float32")
    found = gradient(x, source, sizes, strides, padding, largest)
    wanted = by_definition(x, source, sizes, strides, padding, largest)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


CASES = {  # whether it goes by numbers of places: shape, window, strides, padding
    "apart": (True, (2, 6, 6, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "apart, padded": (True, (2, 5, 5, 3), (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
    "overlapping": (False, (2, 6, 6, 3), (1, 3, 3, 1), (1, 2, 2, 1), "VALID"),
    "of many places": (False, (2, 18, 18, 1), (1, 9, 9, 1), (1, 9, 9, 1), "VALID"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_form_is_chosen_where_windows_are_apart(case, monkeypatch):
    expected, shape, sizes, strides, padding = CASES[case]
    used, choose = [], windows.apart

    def seen(*arguments):
        used.append(choose(*arguments))
        return used[-1]

    monkeypatch.setattr(windows, "apart", seen)
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, sizes, strides, padding)
    slopes = rb.grad(lambda x: pool(x).sum())(x)
    assert used and set(used) == {expected}
    assert float(slopes.sum()) == np.prod(pool(x).shape)


def test_pooling_under_vmap_and_of_whole_numbers():
    x = np.random.default_rng(0).integers(0, 9, (3, 4, 6)).astype("float32")
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 3), (2, 3), "VALID")
    slopes = rb.grad(lambda x: (pool(x) ** 2).sum())
    pytest.importorskip("rabbet_vmap", reason="the package rabbet-vmap is not installed")
    for found, each in itertools.zip_longest(rb.vmap(slopes)(x), x):
        np.testing.assert_array_equal(found, slopes(each))
