"""The polar decomposition, and singular values by it."""

import re

import numpy as np
import pytest
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.extend.backend import lower_program
from rabbet.extend.passes import stage
from rabbet.extend.primitive import ShapedArray
from rabbet.lax.linalg.primitives.polar import svd_by_polar
from rabbet.testing import checks, driver
from rabbet.testing.draws import device_array

linalg = lax.linalg


def random(*shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def on_host(arrays):
    return [np.asarray(x) for x in arrays]


def evaluated(fn, a):
    """What ``fn``, which returns several arrays, computes: one program, quickly compiled."""
    return on_host(checks.evaluated(lambda x: list(fn(x)), [device_array(a)], "test"))


def close(got, wanted, digits=5):
    assert np.allclose(got, wanted, rtol=10.0**-digits, atol=10.0**-digits)


@pytest.mark.parametrize(("dtype", "full"), [("float32", True), ("complex128", False)])
def test_singular_values(dtype, full):
    """Also of a matrix of rank one, where the vectors of the zeros have to be made up."""
    for a in (random(2, 4, 3, dtype=dtype), np.ones((2, 4), dtype)):
        u, s, vh = evaluated(lambda x: svd_by_polar(x, full, True), a)
        k = s.shape[-1]
        for q in (u, adjoint(vh)):
            close(adjoint(q) @ q, np.eye(q.shape[-1]))
        assert u.shape[-1] == (a.shape[-2] if full else k)
        close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a)
        close(s, np.linalg.svd(a, compute_uv=False))


def test_singular_values_alone():
    a = random(3, 3, dtype="float64")
    (s,) = evaluated(lambda x: svd_by_polar(x, False, False), a)
    close(s, np.linalg.svd(a, compute_uv=False), 12)


@pytest.mark.parametrize(("dtype", "steps"), [("float32", 4), ("complex128", 6)])
def test_the_factors(dtype, steps):
    a = random(2, 4, 3, dtype=dtype)
    u, h, count, converged = evaluated(linalg.qdwh, a)
    close(adjoint(u) @ u, np.broadcast_to(np.eye(3), (2, 3, 3)))
    close(u @ h, a)
    assert (h == adjoint(h)).all() and (np.linalg.eigvalsh(h) > 0).all()
    assert count == steps and converged.tolist() == [True, True]


def test_too_few_steps():
    _, _, count, converged = on_host(linalg.qdwh(device_array(np.eye(2)), max_iterations=1))
    assert count == 1 and not converged


def test_a_part_of_the_matrix():
    a = random(4, 3, dtype="float64")
    u, h, _, _ = evaluated(lambda x: linalg.qdwh(x, dynamic_shape=(3, 2)), a)
    small_u, small_h, _, _ = evaluated(linalg.qdwh, a[:3, :2])
    close(u, np.pad(small_u, ((0, 1), (0, 1))))
    close(h, np.pad(small_h, ((0, 1), (0, 1))))


def test_the_derivative_of_a_rotation():
    """At the identity, the unitary factor moves by the skew part of the change."""
    change = np.array([[1.0, 2.0], [5.0, 3.0]])

    def push(t):
        return driver.jvp(lambda x: (linalg.qdwh(x)[0],), (device_array(np.eye(2)),), (t,))[1]

    (moved,) = evaluated(push, change)
    close(moved, (change - change.T) / 2, 10)


@pytest.mark.narrow
def test_messages():
    with pytest.raises(ValueError, match=r"at least as many rows as columns, got f32\[2,3\]; decompose"):
        linalg.qdwh(lax.full((2, 3), 1.0))


def test_other_platforms_call_no_library():
    closed = stage(lambda x: list(linalg.svd(x)), [ShapedArray((3, 2), np.dtype("float32"))])
    text = lower_program(closed.jaxpr, "rocm", "svd").module.text
    assert set(re.findall(r"custom_call @(\w+)", text)) == {"Qr", "Eigh"}
    with pytest.raises(MissingRule, match="'eig': it needs LAPACK, which only the CPU offers"):
        eig = stage(lambda x: linalg.eig(x), [ShapedArray((2, 2), np.dtype("float32"))])
        lower_program(eig.jaxpr, "rocm", "eig")
