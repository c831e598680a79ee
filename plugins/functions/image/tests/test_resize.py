"""Resizing beside plain definitions, laws of resampling, and recorded numbers of another implementation."""

import json
import pathlib

import numpy as np
import pytest
from rabbet import image
from rabbet.image import ResizeMethod

PICTURE = np.arange(30, dtype="f4").reshape(5, 6) ** 1.5
ANSWERS = json.loads(pathlib.Path(__file__).with_name("known_answers.json").read_text())
SMOOTH = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


def close(found, wanted, part=3e-6):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=part * np.abs(wanted).max())


def test_nearest_takes_pixels():
    rows, columns = np.floor((np.arange(8) + 0.5) * 5 / 8), np.floor((np.arange(4) + 0.5) * 6 / 4)
    found = image.resize(PICTURE.astype("i4"), (8, 4), "nearest")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, PICTURE.astype("i4")[rows.astype(int)][:, columns.astype(int)])


def test_linear_interpolates():
    line = PICTURE[0]
    places = (np.arange(12) + 0.5) / 2 - 0.5
    close(image.resize(line, (12,), "bilinear"), np.interp(places, np.arange(6), line))
    close(image.resize(line, (3,), ResizeMethod.LINEAR, antialias=False), (line[::2] + line[1::2]) / 2)


def test_area_averages():
    close(image.resize(PICTURE, (1, 3), "area"), PICTURE.mean(0).reshape(3, 2).mean(1)[None])


@pytest.mark.parametrize("method", SMOOTH)
def test_laws(method):
    ones = image.resize(np.ones((5, 7), "f4"), (8, 3), method)
    np.testing.assert_allclose(ones, 1, rtol=1e-5)  # a constant stays
    close(image.resize(PICTURE, (5, 6), method), PICTURE)  # so does every image in its own size
    both = image.resize(np.stack([PICTURE, 2 * PICTURE], -1), (3, 9, 2), method)
    close(both[..., 1], 2 * image.resize(PICTURE, (3, 9), method))  # each channel by itself
    close(
        image.resize(PICTURE[::-1, ::-1], (8, 3), method), image.resize(PICTURE, (8, 3), method)[::-1, ::-1]
    )


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: f"{a['method']}-{a['shape']}-{a['antialias']}")
def test_known_answers(answer):
    options = {"method": answer["method"], "antialias": answer["antialias"]}
    if "scale" in answer:
        moved = [np.float32(answer[k]) for k in ("scale", "translation")]
        found = image.scale_and_translate(PICTURE, answer["shape"], (0, 1), *moved, **options)
    else:
        found = image.resize(PICTURE, answer["shape"], **options)
    close(found, answer["values"])


def test_aligned_corners():
    n, m = 9, 5
    scale = np.float32([(n - 1) / (m - 1)])
    found = image.scale_and_translate(PICTURE, (n, 6), (0,), scale, 0.5 * (1 - scale), "linear")
    close(found[0], PICTURE[0], 1e-5)
    close(found[-1], PICTURE[-1], 1e-5)


def test_dtypes():
    assert image.resize(PICTURE.astype("i4"), (3, 3), "linear").dtype == np.float32
    assert image.resize(PICTURE.astype("f2"), (3, 3), "cubic").dtype == np.float16
    assert image.resize(PICTURE.astype("c8"), (3, 3), "lanczos3").dtype == np.complex64


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5"])
@pytest.mark.parametrize("shape", [(2, 2), (5, 6)])
def test_half_precision_is_float32_rounded(method, shape):
    picture = np.arange(12.0).reshape(3, 4)
    wanted = np.asarray(image.resize(picture.astype("f4"), shape, method))
    found = image.resize(picture.astype("f2"), shape, method)
    assert found.dtype == np.float16
    np.testing.assert_allclose(np.asarray(found, "float32"), wanted, rtol=4e-3, atol=8e-3)


@pytest.mark.needs("grad", "vmap", "jit")
def test_under_transformations():
    import rabbet as rb

    def moved(s, t):
        return image.scale_and_translate(PICTURE, (6, 6), (0,), s, t, "cubic")[2:4].sum()

    scale, shift, step = np.float32([1.3]), np.float32([0.2]), np.float32(1e-2)
    found = rb.jit(rb.grad(moved, (0, 1)))(scale, shift)
    by_scale = (moved(scale + step, shift) - moved(scale - step, shift)) / (2 * step)
    by_shift = (moved(scale, shift + step) - moved(scale, shift - step)) / (2 * step)
    np.testing.assert_allclose([found[0][0], found[1][0]], [by_scale, by_shift], rtol=1e-2)
    stack = np.stack([PICTURE, PICTURE**2])
    close(
        rb.vmap(lambda x: image.resize(x, (3, 3), "linear"))(stack)[1],
        image.resize(stack[1], (3, 3), "linear"),
    )


ONE = np.ones(1, "f4")
MESSAGES = [
    (lambda: image.resize(PICTURE, (3,), "linear"), "as many dimensions as the image"),
    (lambda: image.resize(PICTURE, (3, 3), "foo"), "unknown method 'foo'; the methods are nearest, linear"),
    (lambda: image.resize(PICTURE, (3, -3), "linear"), "cannot be negative"),
    (
        lambda: image.scale_and_translate(PICTURE, (5, 6), (0,), ONE, ONE, "nearest"),
        "'nearest' has no weights",
    ),
    (
        lambda: image.scale_and_translate(PICTURE, (5, 6), (0, 1), ONE, ONE, "area"),
        "scale must be a vector of 2",
    ),
    (lambda: image.scale_and_translate(PICTURE, (5, 7), (0,), ONE, ONE, "area"), "changes dimension 1"),
    (lambda: image.scale_and_translate(PICTURE, (5, 6), (2,), ONE, ONE, "area"), "spatial_dims"),
]


@pytest.mark.parametrize("call, message", MESSAGES)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_antialias_is_true_or_false():
    with pytest.raises(TypeError, match="resize: antialias must be True or False, got dict"):
        image.resize(PICTURE, (2, 2), "linear", antialias={})
