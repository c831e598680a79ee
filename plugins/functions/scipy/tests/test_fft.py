"""Cosine transforms against SciPy's."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.fft
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import fft

random = np.random.default_rng(2)


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_every_type_and_norm(type, norm):
    for n in (2, 5, 6):
        x = random.normal(size=(2, n))
        close(fft.dct(ours(x), type, norm=norm), scipy.fft.dct(x, type, norm=norm))
        close(fft.idct(ours(x), type, norm=norm), scipy.fft.idct(x, type, norm=norm))


@pytest.mark.needs("bfloat16")
@pytest.mark.narrow
def test_sizes_axes_and_dtypes():
    x = random.normal(size=(3, 4, 5))
    close(fft.dct(ours(x), n=3, axis=1), scipy.fft.dct(x, n=3, axis=1))
    close(fft.idct(ours(x), n=7, axis=0), scipy.fft.idct(x, n=7, axis=0))
    close(fft.dctn(ours(x), s=(6, 2)), scipy.fft.dctn(x, s=(6, 2), axes=(1, 2)))
    close(fft.idctn(ours(x), axes=(0, 2), norm="ortho"), scipy.fft.idctn(x, axes=(0, 2), norm="ortho"))
    z = x + 1j * x[::-1]
    close(fft.dct(ours(z)), scipy.fft.dct(z))
    assert fft.dct(np.arange(4)).dtype == "float32"
    assert fft.dct(x.astype("float16")).dtype == "float16"
    assert fft.dct(rnp.ones((4,), "bfloat16")).dtype == rnp.bfloat16


def test_derivatives_and_batches():
    x = random.normal(size=(3, 5))
    for type in (1, 2, 3, 4):
        check_gradient(lambda x, type=type: fft.dct(x, type), x)
    check_batches(fft.idctn, x[:, :, None])


def test_messages():
    x = rnp.ones(3)
    for wrong in (
        lambda: fft.dct(x, 5), lambda: fft.dct(x, norm="x"), lambda: fft.dct(x, n=0),
        lambda: fft.dct(x, axis=1),
        lambda: fft.dct(x[:1], 1), lambda: fft.dctn(x, s=(2, 2), axes=(0,)), lambda: fft.dctn(x, axes=(0, 0)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="dct"):
            wrong()
    with pytest.raises(TypeError, match="dct takes arrays"):
        fft.dct([1.0, 2.0])
    assert rb.jit(fft.dct)(x).shape == (3,)
