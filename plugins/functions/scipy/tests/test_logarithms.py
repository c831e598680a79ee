"""Logarithms and powers of matrices: values against SciPy and expm, derivatives, batches."""

import numpy as np
import pytest
import rabbet.numpy as rnp
import scipy.linalg as theirs
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import linalg

pytestmark = pytest.mark.needs("jit")
RNG = np.random.default_rng(6)
SQUARE = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
JORDAN = np.array([[2.0, 1.0, 5.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-9])
@pytest.mark.parametrize("a", [SQUARE, JORDAN, SQUARE + 1j * JORDAN], ids=["full", "jordan", "complex"])
def test_logarithms(a, scale):
    found = np.asarray(linalg.logm(ours(scale * a)))
    wanted = theirs.logm(a) + np.log(scale) * np.eye(3)
    close(found, wanted.astype("complex128"), 1e-12, 1e-12)
    close(theirs.expm(found) / scale, a.astype("complex128"), 1e-11, 1e-11)


def test_the_principal_one_of_negative_eigenvalues():
    found = np.asarray(linalg.logm(ours(np.diag([-1.0, 4.0, -0.5]))))
    close(found, np.diag(np.log(np.array([-1, 4, -0.5], "complex128"))))
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    close(linalg.logm(ours(turn)), np.pi / 2 * np.array([[0, -1], [1, 0]], "complex128"))


def test_one_matrix_of_a_batch_does_not_change_another():
    batch = np.stack([SQUARE, np.full((3, 3), np.nan), 1e8 * SQUARE])
    found = np.asarray(linalg.logm(ours(batch)))
    close(found[0], np.asarray(linalg.logm(ours(SQUARE))), 1e-13, 1e-13)
    assert np.isnan(found[1]).all() and np.isfinite(found[2]).all()


def test_single_precision_and_the_error():
    found, error = linalg.logm(rnp.asarray(SQUARE, "float32"), disp=False)
    assert found.dtype == "complex64" and float(error) < 1e-5
    close(found, theirs.logm(SQUARE).astype("complex64"), 1e-5, 1e-5)


def test_derivatives():
    check_gradient(lambda a: linalg.logm(a).real, JORDAN)  # of equal eigenvalues


@pytest.mark.exhaustive
def test_second_derivatives():
    check_gradient(lambda a: linalg.logm(a).real, SQUARE[:2, :2], second=True)


def test_batches():
    check_batches(lambda a: linalg.logm(a).real, np.stack([SQUARE, JORDAN]))


@pytest.mark.parametrize("power", [0.5, -1.5, 2.25, 3.0, -1.0])
def test_powers(power):
    wanted = theirs.fractional_matrix_power(SQUARE, power)
    found = linalg.fractional_matrix_power(ours(SQUARE), power)
    close(found.real, wanted.real, 1e-11, 1e-11)


@pytest.mark.exhaustive
def test_derivatives_of_powers_by_the_power_too():
    check_gradient(lambda a, p: linalg.fractional_matrix_power(a, p).real, SQUARE[:2, :2], np.array(0.7))


def test_errors():
    with pytest.raises(ValueError, match="logm"):
        linalg.logm(np.ones((2, 3)))
