"""Integrals, vector quantization, interpolation on grids and in images, against SciPy's."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy.cluster.vq import vq
from rabbet.scipy.integrate import trapezoid
from rabbet.scipy.interpolate import RegularGridInterpolator
from rabbet.scipy.ndimage import map_coordinates

random = np.random.default_rng(3)
IMAGE = random.normal(size=(5, 6))
PLACES = random.uniform(-4, 9, size=(2, 40))
MODES = ["constant", "grid-constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap"]
GRID = (np.array([0.0, 1.0, 3.0]), np.array([-1.0, 0.0, 2.0, 5.0]))
VALUES = random.normal(size=(3, 4))


def test_trapezoid():
    y, x = random.normal(size=(3, 4)), np.sort(random.normal(size=4))
    close(trapezoid(ours(y), ours(x)), scipy.integrate.trapezoid(y, x))
    close(trapezoid(ours(y), dx=0.5, axis=0), scipy.integrate.trapezoid(y, dx=0.5, axis=0))
    check_gradient(trapezoid, y, x)


def test_vector_quantization():
    points, codes = random.normal(size=(7, 3)), random.normal(size=(4, 3))
    close(vq(ours(points), ours(codes)), scipy.cluster.vq.vq(points, codes))
    close(vq(ours(points[:, 0]), ours(codes[:, 0])), scipy.cluster.vq.vq(points[:, 0], codes[:, 0]))
    check_gradient(lambda p, c: vq(p, c)[1], points, codes)
    assert np.isfinite(rb.grad(lambda p: vq(p, ours(codes))[1].sum())(ours(codes))).all()  # at distance 0
    with pytest.raises(ValueError, match="vq takes"):
        vq(ours(points), ours(codes[:, :2]))


@pytest.mark.parametrize("mode", MODES)
def test_images_between_their_points(mode):
    for order in range(6) if mode == "reflect" else (0, 1, 3):
        found = map_coordinates(ours(IMAGE), ours(PLACES), order, mode, cval=0.7)
        image, places, theirs = IMAGE, PLACES, mode
        if mode == "reflect":  # SciPy before 1.18 begins this filter with a sum that is cut off early
            image, places, theirs = np.pad(IMAGE, 40, mode="symmetric"), PLACES + 40, "mirror"
        wanted = scipy.ndimage.map_coordinates(image, places, order=order, mode=theirs, cval=0.7)
        close(found, wanted)


def test_images_end_behind_their_last_point_and_begin_again_upon_it():
    line, at = np.arange(1.0, 5.0), np.array([-3.0, -1.5, -0.1, 0.0, 2.5, 3.0, 3.1, 4.5, 6.0, 7.0])
    for mode in ("constant", "wrap"):
        for order in (0, 1):
            wanted = scipy.ndimage.map_coordinates(line, [at], order=order, mode=mode, cval=9)
            close(map_coordinates(ours(line), [ours(at)], order, mode, cval=9.0), wanted)
    assert map_coordinates(ours(line[:1]), [ours(at)], 1, "wrap").tolist() == [1.0] * len(at)


@pytest.mark.needs("bfloat16")
@pytest.mark.narrow
def test_images_of_whole_numbers_and_other_dtypes():
    whole = np.arange(12).reshape(3, 4)
    found = map_coordinates(whole, [np.array([0.5, 1.5]), np.array([0.6, 2.6])], 1)
    assert found.dtype == "int32"
    assert found.tolist() == [3, 9]
    assert map_coordinates(whole.astype("complex64"), [1, 0.5], 1) == 4.5
    assert (
        map_coordinates(rnp.ones((2, 2), "bfloat16"), [np.array(0.5), np.array(0.5)], 1).dtype == rnp.bfloat16
    )


def test_derivatives_of_images():
    inside = random.uniform(0.2, 3.8, size=(2, 5))
    check_gradient(lambda a, c: map_coordinates(a, c, 1, "mirror"), IMAGE, inside)
    check_gradient(lambda a, c: map_coordinates(a, c, 3, "reflect"), IMAGE, inside)
    check_batches(lambda c: map_coordinates(ours(IMAGE), c, 3), np.moveaxis(inside, 1, 0))


def test_messages_of_images():
    with pytest.raises(ValueError, match="one array of coordinates for each of the 2"):
        map_coordinates(IMAGE, PLACES[:1], 1)
    with pytest.raises(ValueError, match="mode must be"):
        map_coordinates(IMAGE, PLACES, 1, "x")
    with pytest.raises(NotImplementedError, match="order must be from 0 to 5"):
        map_coordinates(IMAGE, PLACES, 6)


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize(
    "fill", [pytest.param(np.nan, marks=pytest.mark.forbidden("debug_nans")), 2.5, None]
)
def test_grids(method, fill):
    at = random.uniform(-1.5, 5.5, size=(2, 9, 2))
    found = RegularGridInterpolator(tuple(map(ours, GRID)), ours(VALUES), method, fill_value=fill)(ours(at))
    wanted = scipy.interpolate.RegularGridInterpolator(
        GRID, VALUES, method, bounds_error=False, fill_value=fill
    )(at)
    close(found, wanted)


def test_grids_are_trees_and_have_derivatives():
    def at(values, places):
        return RegularGridInterpolator(tuple(map(ours, GRID)), values)(places)

    check_gradient(at, VALUES, random.uniform(0.1, 2.5, size=(4, 2)))
    turned = RegularGridInterpolator((GRID[0][::-1].copy(), GRID[1]), VALUES[::-1].copy())
    place = np.array([[0.5, 1.0]])
    straight = RegularGridInterpolator(GRID, VALUES)
    np.testing.assert_allclose(turned(place), straight(place), rtol=1e-6)
    np.testing.assert_allclose(rb.jit(lambda f, x: f(x))(straight, place), straight(place), rtol=1e-6)
    np.testing.assert_allclose(straight((0.5, np.array([1.0]))), straight(place), rtol=1e-6)


def test_messages_of_grids():
    with pytest.raises(ValueError, match="method must be"):
        RegularGridInterpolator(GRID, VALUES, "cubic")
    with pytest.raises(ValueError, match="points of dimension 0"):
        RegularGridInterpolator(GRID[::-1], VALUES)
    with pytest.raises(ValueError, match="increase or decrease strictly"):
        RegularGridInterpolator((np.zeros(3), GRID[1]), VALUES)
    with pytest.raises(ValueError, match="outside the grid in dimension 1"):
        RegularGridInterpolator(GRID, VALUES, bounds_error=True)(np.array([1.0, 9.0]))
    with pytest.raises(ValueError, match="3 coordinates"):
        RegularGridInterpolator(GRID, VALUES)(np.ones((2, 3)))
