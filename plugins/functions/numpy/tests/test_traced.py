"""Under a transformation a function is its primitives: the same types as eagerly, and no nested calls."""

import importlib.util
import pathlib

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import tree
from rabbet.errors import ConcretizationTypeError
from rabbet.extend.passes import check as check_program
from rabbet.extend.passes import stage

SPEC = importlib.util.spec_from_file_location("numpy_cases", pathlib.Path(__file__).with_name("cases.py"))
cases = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cases)


@pytest.mark.parametrize("name", cases.CASES)
def test_traced_as_eagerly(name):
    """The types of the staged program are those of the eager result, and it is flat."""
    case = cases.CASES[name]
    closed = stage(lambda: tree.leaves(case(rnp)), [], "case")
    eager = tree.leaves(case(rnp))
    assert [v.aval for v in closed.jaxpr.outvars] == [x.aval for x in eager]
    assert not [e for e in closed.jaxpr.equations if e.op.primitive.name == "jit"]
    check_program(closed.jaxpr)


X = np.arange(12, dtype="f4").reshape(3, 4)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: rnp.arange(x),
        lambda x: rnp.zeros(x),
        lambda x: rnp.reshape(x, x),
        lambda x: rnp.nonzero(x[None]),
        lambda x: rnp.unique(x[None]),
        lambda x: rnp.sum(X, axis=x),
        lambda x: rnp.flatnonzero(x),
        lambda x: rnp.bincount(x[None]),
        lambda x: rnp.linspace(0.0, 1.0, x),
        lambda x: rnp.eye(x),
    ],
)
def test_what_needs_values_says_so_under_jit(function):
    with pytest.raises(ConcretizationTypeError):
        rb.jit(function)(3)


@pytest.mark.needs("jit")
def test_sizes_make_it_possible():
    found = rb.jit(lambda x: rnp.nonzero(x, size=3, fill_value=-1))(rnp.array([0, 5, 0, 7]))
    assert found[0].tolist() == [1, 3, -1]
    assert rb.jit(lambda x: rnp.unique(x, size=3))(rnp.array([2, 1, 2])).tolist() == [1, 2, 1]


@pytest.mark.needs("jit", "grad", "vmap")
def test_transformations_compose():
    def f(x):
        return rnp.sum(rnp.where(x > 0, rnp.sort(x) ** 2, rnp.take_along_axis(x, rnp.argsort(x), -1)))

    x = rnp.asarray(np.random.RandomState(0).randn(5, 4).astype("f4"))
    each = [rb.grad(f)(row) for row in x]
    np.testing.assert_allclose(rb.jit(rb.vmap(rb.grad(f)))(x), rnp.stack(each), rtol=1e-6)


@pytest.mark.needs("grad")
@pytest.mark.parametrize(
    ("function", "x", "slope"),
    [
        (rnp.sinc, 0.0, 0.0),
        (rnp.abs, -2.0, -1.0),
        (rnp.sqrt, 4.0, 0.25),
        (lambda x: rnp.maximum(x, 0.0), -1.0, 0.0),
        (lambda x: rnp.clip(x, 0, 1), 2.0, 0.0),
        (lambda x: rnp.power(x, 3), 2.0, 12.0),
        (lambda x: rnp.var(x * X), 1.0, 2 * X.var()),
        (lambda x: rnp.hypot(x, 4.0), 3.0, 0.6),
        (lambda x: rnp.logaddexp(x, x), 1.0, 1.0),
        (lambda x: rnp.logaddexp(x, 0.0), 0.0, 0.5),
        (lambda x: rnp.prod(x * X[0]), 1.0, 0.0),
        (lambda x: rnp.where(x > 1, x, rnp.sqrt(x)), 4.0, 1.0),
        (lambda x: rnp.median(x * X), 1.0, 5.5),
        (lambda x: rnp.arctan2(x, 2), 2.0, 0.25),
        (lambda x: rnp.arctan2(2, x), 2.0, -0.25),
        (lambda x: rnp.frexp(x)[0], 6.0, 0.125),
        (lambda x: rnp.frexp(x)[0], 0.0, 1.0),
    ],
)
def test_derivatives(function, x, slope):
    np.testing.assert_allclose(rb.grad(function)(x), slope, rtol=1e-5, atol=1e-6)


A, B = np.float32([0, 2, 1, 3, 2]), np.float32([1, 2, 9])


@pytest.mark.needs("grad")
@pytest.mark.parametrize(
    ("function", "slopes"),
    [
        (lambda x: x[rnp.nonzero(x)], [0, 1, 1, 1, 1]),
        (lambda x: x[rnp.where(x)] ** 2, [0, 4, 2, 6, 4]),
        (lambda x: x[rnp.flatnonzero(x)[0]], [0, 1, 0, 0, 0]),
        (lambda x: rnp.extract(x, x), [0, 1, 1, 1, 1]),
        (lambda x: rnp.trim_zeros(x), [0, 1, 1, 1, 1]),
        (lambda x: rnp.polydiv(x, rnp.array([1.0, 2.0]), trim_leading_zeros=True)[0], [-5, 3, -1, 1, 0]),
        (lambda x: rnp.unique(x), [1, 1, 1, 1, 0]),
        (lambda x: rnp.unique(x, return_counts=True)[0], [1, 1, 1, 1, 0]),
        (lambda x: rnp.unique(x[:, None], axis=0), [1, 1, 1, 1, 0]),
        (lambda x: rnp.union1d(x, B), [1, 1, 1, 1, 0]),
        (lambda x: rnp.intersect1d(x, B, return_indices=True)[0], [0, 1, 1, 0, 0]),
        (lambda x: rnp.setdiff1d(x, B), [1, 0, 0, 1, 0]),
        (lambda x: rnp.setxor1d(x, B), [1, 0, 0, 1, 0]),
    ],
)
def test_values_that_decide_a_length_are_known_while_they_are_differentiated(function, slopes):
    np.testing.assert_allclose(rb.grad(lambda x: rnp.sum(function(x)))(A), slopes)


@pytest.mark.needs("jit")
def test_places_that_are_not_known_are_deleted_where_they_differ():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    delete = lambda axis: rb.jit(lambda x, i: rnp.delete(x, i, axis, assume_unique_indices=True))
    for axis, places in ((1, [2]), (1, [3, 0]), (0, [-1]), (None, [5, 11, 0]), (0, [])):
        places = np.array(places, np.int32)
        np.testing.assert_array_equal(delete(axis)(a, places), np.delete(a, places, axis))
    np.testing.assert_array_equal(delete(0)(a, 1), np.delete(a, 1, 0))
