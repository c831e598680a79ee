"""rabbet.scipy.ndimage: filters against SciPy in all modes, derivatives, batches."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.ndimage as theirs
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import ndimage

RNG = np.random.default_rng(4)
IMAGE = RNG.normal(size=(6, 5))
LINE = RNG.normal(size=7)
WEIGHTS = RNG.normal(size=(3, 2))
MODES = ["reflect", "constant", "nearest", "mirror", "wrap"]
THREE = np.array([1.0, -2.0, 0.5])
EVEN, LONG = np.array([1.0, 3.0]), RNG.normal(size=31)

CASES = {
    "correlate1d": [(LINE, THREE), (IMAGE, EVEN, 0), (RNG.normal(size=(40, 2)), LONG, 0)],
    "convolve1d": [(LINE, np.array([1.0, -2.0, 0.5])), (IMAGE, EVEN, 0)],
    "correlate": [(IMAGE, WEIGHTS), (RNG.normal(size=(9, 8)), RNG.normal(size=(6, 5)))],
    "convolve": [(IMAGE, WEIGHTS)],
    "uniform_filter1d": [(LINE, 4)],
    "uniform_filter": [(IMAGE, (3, 2))],
    "gaussian_filter1d": [(LINE, 0.7)],
    "gaussian_filter": [(IMAGE, 0.8), (IMAGE, (0.5, 0.0), (1, 0))],
    "sobel": [(IMAGE, 0)],
    "prewitt": [(IMAGE,)],
    "laplace": [(IMAGE,)],
    "gaussian_laplace": [(IMAGE, 0.8)],
    "gaussian_gradient_magnitude": [(IMAGE, 0.8)],
    "maximum_filter": [(IMAGE, (3, 2)), (IMAGE, None, [[True, False], [True, True]])],
    "minimum_filter": [(IMAGE, 3)],
    "maximum_filter1d": [(IMAGE, 4, 0)],
    "minimum_filter1d": [(IMAGE, 3)],
    "median_filter": [(IMAGE, 3), (IMAGE, (2, 2))],
    "rank_filter": [(IMAGE, -2, 3)],
    "percentile_filter": [(IMAGE, 30, 3)],
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    """In every mode, one after the other: eager operations of one shape are compiled once."""
    for args in CASES[name]:
        for mode in MODES:
            wanted = getattr(theirs, name)(*args, mode=mode, cval=0.3)
            close(getattr(ndimage, name)(*[ours(a) for a in args], mode=mode, cval=0.3), wanted, 1e-11, 1e-12)


def test_a_window_that_is_wider_than_the_image():
    for mode in MODES:
        wanted = theirs.gaussian_filter1d(LINE[:4], 3.0, mode=mode)
        close(ndimage.gaussian_filter1d(ours(LINE[:4]), 3.0, mode=mode), wanted)


def test_origins_and_axes():
    for origin in (-1, 1):
        wanted = theirs.correlate1d(LINE, [1.0, -2.0, 0.5], origin=origin)
        close(ndimage.correlate1d(ours(LINE), np.array([1.0, -2.0, 0.5]), origin=origin), wanted)
    wanted = theirs.convolve(IMAGE, WEIGHTS, origin=(1, 0))
    close(ndimage.convolve(ours(IMAGE), ours(WEIGHTS), origin=(1, 0)), wanted)
    wanted = theirs.maximum_filter(IMAGE, 3, origin=(1, -1))
    close(ndimage.maximum_filter(ours(IMAGE), 3, origin=(1, -1)), wanted)
    wanted = np.stack([theirs.gaussian_filter1d(row, 1.0) for row in IMAGE])
    close(ndimage.gaussian_filter(ours(IMAGE), 1.0, axes=1), wanted)
    wanted = np.stack([theirs.median_filter(row, 3) for row in IMAGE.T]).T
    close(ndimage.median_filter(ours(IMAGE), 3, axes=0), wanted)


def test_modes_of_each_axis():
    wanted = theirs.uniform_filter(IMAGE, 3, mode=["wrap", "nearest"])
    close(ndimage.uniform_filter(ours(IMAGE), 3, mode=["wrap", "nearest"]), wanted)


@pytest.mark.parametrize("name", CASES)
def test_images_of_no_points(name):
    args = [a for a in CASES[name][0][1:] if not isinstance(a, np.ndarray)]
    dims = CASES[name][0][0].ndim
    weights = [ours(a) for a in CASES[name][0][1:] if isinstance(a, np.ndarray)]
    nothing = getattr(ndimage, name)(rnp.zeros((0, 3)[:dims]), *weights, *args)
    assert nothing.shape == (0, 3)[:dims]


@pytest.mark.needs("bfloat16")
def test_dtypes():
    whole = np.arange(12, dtype="int32").reshape(3, 4) ** 2
    found = ndimage.correlate(rnp.asarray(whole), np.array([[0.5, 0.4]]))
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, theirs.correlate(whole, [[0.5, 0.4]]))
    assert ndimage.uniform_filter(rnp.asarray(whole), 3, output="float32").dtype == "float32"
    narrow = rnp.asarray(IMAGE, "bfloat16")
    assert ndimage.gaussian_filter(narrow, 1.0).dtype == "bfloat16"
    assert ndimage.median_filter(rnp.asarray(whole), 3).dtype == "int32"
    turned = ndimage.correlate1d(ours(LINE + 1j), np.array([1.0, 2.0]))
    close(turned, theirs.correlate1d(LINE + 1j, [1.0, 2.0]))


@pytest.mark.needs("jit")
def test_derivatives():
    check_gradient(lambda x, w: ndimage.correlate(x, w, mode="wrap"), IMAGE[:3, :3], WEIGHTS)
    check_gradient(lambda x, s: ndimage.gaussian_filter1d(x, s, radius=3) ** 2, LINE, 0.8, second=True)
    check_gradient(lambda x: ndimage.maximum_filter(x, 3), LINE)


@pytest.mark.needs("jit")
def test_the_gradient_of_a_length_at_zero_is_zero():
    slope = rb.grad(lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0).sum())(rnp.zeros(5))
    np.testing.assert_array_equal(slope, np.zeros(5))


@pytest.mark.needs("jit", "vmap")
def test_batches():
    check_batches(lambda x: ndimage.laplace(x), RNG.normal(size=(2, 3, 3)))


TURNS = {
    "affine_transform": (np.array([[0.9, 0.2], [-0.1, 1.1]]), np.array([0.3, -0.2])),
    "shift": ((0.7, -1.2),),
    "zoom": (1.6,),
    "rotate": (33.0,),
}


@pytest.mark.parametrize("name", TURNS)
def test_affine_maps(name):
    args = [ours(a) for a in TURNS[name]]
    for order in (1, 3):
        # Of "constant", what is beyond the ends by half a point is between, here as in "grid-constant".
        wanted = getattr(theirs, name)(IMAGE, *TURNS[name], order=order, mode="nearest")
        found = getattr(ndimage, name)(ours(IMAGE), *args, order=order, mode="nearest")
        close(found, wanted, 1e-6, 1e-6)


@pytest.mark.needs("jit")
def test_an_angle_has_a_derivative():
    how = {"reshape": False, "order": 1, "mode": "nearest"}
    turned = lambda angle: (ndimage.rotate(ours(IMAGE), angle, **how) ** 2).sum()
    at = ours(np.array(20.0))
    found, h = float(rb.grad(turned)(at)), 1e-5
    np.testing.assert_allclose(found, float(turned(at + h) - turned(at - h)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ndimage.sobel(LINE, mode="round"), ValueError, "mode must be one of"),
        (lambda: ndimage.correlate(IMAGE, LINE), ValueError, "2 dimensions of input"),
        (lambda: ndimage.correlate1d(LINE, EVEN, origin=2), ValueError, "origin must keep"),
        (lambda: ndimage.uniform_filter(IMAGE, (3, 3, 3)), ValueError, "3 values of size .* 2 axes"),
        (lambda: ndimage.laplace(LINE, output=np.zeros(7)), TypeError, "not written to"),
        (lambda: ndimage.median_filter(LINE), ValueError, "size or footprint"),
        (lambda: rb.jit(lambda s: ndimage.gaussian_filter(LINE, s))(1.0), TypeError, "give radius"),
    ],
)  # fmt: skip
@pytest.mark.narrow
@pytest.mark.needs("jit")
def test_errors_say_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()
