"""rabbet.scipy.ndimage: filters made of the caller's functions, against SciPy in all modes."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.ndimage as theirs
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import ndimage

RNG = np.random.default_rng(6)
IMAGE = RNG.normal(size=(5, 4))
LINE = RNG.normal(size=6)
MODES = ["reflect", "constant", "nearest", "mirror", "wrap"]
CROSS = np.array([[False, True, False], [True, False, True]])


def weighed(xp):
    """Not the same for windows in another order."""
    return lambda x: xp.sum(x * xp.arange(1, 1 + x.shape[0], dtype=x.dtype)) + xp.max(x)


WINDOWS = {
    "box": {"size": (3, 2)},
    "one size": {"size": 2},
    "footprint": {"footprint": CROSS},
    "origin": {"size": 3, "origin": (1, -1)},
    "origins of a footprint": {"footprint": CROSS, "origin": (-1, 0)},
}


@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window):
    for mode in MODES:
        wanted = theirs.generic_filter(IMAGE, weighed(np), mode=mode, cval=0.3, **WINDOWS[window])
        found = ndimage.generic_filter(ours(IMAGE), weighed(rnp), mode=mode, cval=0.3, **WINDOWS[window])
        close(found, wanted)


@pytest.mark.parametrize("axis", [0, -1])
def test_lines(axis):
    def moved(xp, n):
        return lambda line: line[:n] * xp.arange(1, n + 1, dtype=line.dtype) - line[-n:] + xp.max(line)

    def written(line, out):
        out[:] = moved(np, out.shape[0])(line)

    for mode in MODES:
        for size, origin in ((3, 0), (4, 1), (1, 0)):
            settings = {"axis": axis, "mode": mode, "cval": 0.3, "origin": origin}
            wanted = theirs.generic_filter1d(IMAGE, written, size, **settings)
            n = IMAGE.shape[axis]
            close(ndimage.generic_filter1d(ours(IMAGE), moved(rnp, n), size, **settings), wanted)


def second(module):
    def derivative(x, axis, output, mode, cval, factor, shift=0.0):
        found = factor * module.correlate1d(x, np.array([1.0, -2.0, 1.5]), axis, None, mode, cval) + shift
        if isinstance(output, np.ndarray):  # SciPy's is written to along the first axis
            output[...] = found
        return found

    return derivative


@pytest.mark.parametrize("name", ["generic_laplace", "generic_gradient_magnitude"])
def test_sums_over_axes(name):
    for mode in [*MODES, ["wrap", "nearest"]]:
        how = {"mode": mode, "cval": 0.3, "extra_arguments": (2.0,), "extra_keywords": {"shift": 0.1}}
        wanted = getattr(theirs, name)(IMAGE, second(theirs), **how)
        close(getattr(ndimage, name)(ours(IMAGE), second(ndimage), **how), wanted)
    wanted = theirs.generic_gradient_magnitude(IMAGE, theirs.sobel)
    close(ndimage.generic_gradient_magnitude(ours(IMAGE), ndimage.sobel), wanted)


def test_some_axes():
    found = ndimage.generic_filter(ours(IMAGE), weighed(rnp), 3, axes=1)
    close(found, np.stack([theirs.generic_filter(row, weighed(np), 3) for row in IMAGE]))
    found = ndimage.generic_laplace(ours(IMAGE), second(ndimage), extra_arguments=(1.0,), axes=0)
    column = [theirs.generic_laplace(row, second(theirs), extra_arguments=(1.0,)) for row in IMAGE.T]
    close(found, np.stack(column).T)


def test_more_arguments_and_dtypes():
    whole = np.arange(12, dtype="int32").reshape(3, 4) ** 2
    power = lambda xp: lambda window, p, scale: scale * xp.sum(window**p)
    how = {"extra_arguments": (2,), "extra_keywords": {"scale": 0.125}}
    found = ndimage.generic_filter(rnp.asarray(whole), power(rnp), 3, **how)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, theirs.generic_filter(whole, power(np), 3, **how))
    assert ndimage.generic_filter(rnp.asarray(whole), rnp.ptp, 3, output="float32").dtype == "float32"
    nothing = ndimage.generic_filter(rnp.zeros((0, 3)), rnp.ptp, 3)
    assert nothing.shape == (0, 3)
    assert ndimage.generic_filter1d(rnp.zeros((0, 3)), lambda line: line[1:-1], 3).shape == (0, 3)


def test_a_function_is_traced_once():
    seen = []
    ndimage.generic_filter(ours(IMAGE), lambda window: seen.append(window.shape) or window.sum(), (3, 2))
    assert seen == [(6,)]


@pytest.mark.needs("jit")
def test_derivatives():
    check_gradient(lambda x: ndimage.generic_filter(x, lambda w: rnp.sum(w**3), 3), IMAGE[:3], second=True)
    check_gradient(lambda x: ndimage.generic_filter1d(x, lambda line: line[2:] * line[:-2], 3), LINE)
    check_gradient(lambda x: ndimage.generic_gradient_magnitude(x, ndimage.prewitt), IMAGE)
    slope = rb.grad(lambda x: ndimage.generic_gradient_magnitude(x, ndimage.sobel).sum())(rnp.zeros(5))
    np.testing.assert_array_equal(slope, np.zeros(5))


@pytest.mark.needs("jit", "vmap")
def test_batches():
    check_batches(lambda x: ndimage.generic_filter(x, rnp.median, 3), RNG.normal(size=(2, 3, 3)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ndimage.generic_filter(LINE, lambda w: None, 3), TypeError, "returned None\n.*returns the"),
        (lambda: ndimage.generic_filter(LINE, lambda w: w, 3), ValueError, r"shape \(\), .* returned \(3,\)"),
        (lambda: ndimage.generic_filter(LINE, rnp.ptp), ValueError, "size or footprint"),
        (lambda: ndimage.generic_filter(LINE + 1j, rnp.ptp, 3), TypeError, "complex numbers"),
        (lambda: ndimage.generic_filter(LINE, rnp.ptp, 3, output=LINE), TypeError, "not written to"),
        (lambda: ndimage.generic_filter1d(LINE, lambda v: v, 3), ValueError, r"\(6,\), .* returned \(8,\)"),
        (lambda: ndimage.generic_filter1d(LINE, lambda v: v, 0), ValueError, "filter_size must be 1"),
        (lambda: ndimage.generic_laplace(LINE, lambda *a: 1.0), ValueError, r"derivative2 .* \(6,\)"),
    ],
)  # fmt: skip
@pytest.mark.narrow
def test_errors_say_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()
