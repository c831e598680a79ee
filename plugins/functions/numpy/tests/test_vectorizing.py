"""``vectorize`` and functions with the methods of universal functions."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

X = np.int32([1, 2, 3])
TABLE = np.arange(12, dtype="i4").reshape(3, 4)
DIGITS = rnp.frompyfunc(lambda a, b: 10 * a + b, 2, 1)


@pytest.mark.forbidden("numpy_rank_promotion")
def test_vectorize_is_numpys():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1, 3)).astype("f4"), rng.normal(size=(5, 3)).astype("f4")
    functions = {
        "(n),(n)->()": lambda x, y: (x * y).sum(),
        "(n),(m)->(n,m)": lambda x, y: x[:, None] * y,
        " (n) , (n) -> (n),() ": lambda x, y: (x + y, x[0]),
    }
    for signature, function in functions.items():
        found = rnp.vectorize(function, signature=signature)(a, b)
        wanted = np.vectorize(function, signature=signature)(a, b)
        for x, y in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.needs("jit", "grad")
def test_vectorize_of_elements():
    @rnp.vectorize
    def add(x, y, scale=1):
        """Adds."""
        return (x + y) * scale

    assert add.__name__ == "add" and add.__doc__ == "Adds."
    np.testing.assert_array_equal(add(TABLE[:, :1], X[None]), TABLE[:, :1] + X)
    np.testing.assert_array_equal(add(X, [1, 2, 3], scale=2), [4, 8, 12])
    branch = rnp.vectorize(lambda x, n: x * 2 if n else x, excluded={1})
    np.testing.assert_array_equal(branch(X, True), X * 2)
    named = rnp.vectorize(lambda x, how: x if how == "same" else -x, excluded={"how"})
    np.testing.assert_array_equal(named(X, how="other"), -X)
    np.testing.assert_array_equal(rb.jit(add)(X, X), 2 * X)
    slope = rb.grad(lambda x: rnp.vectorize(lambda a: a * a)(x).sum())(np.float32([1, 2]))
    np.testing.assert_array_equal(slope, [2, 4])


def test_methods_of_a_function_of_ones_own():
    np.testing.assert_array_equal(DIGITS(X, 1), [11, 21, 31])
    assert int(DIGITS.reduce(X)) == 123 and int(DIGITS.reduce(X, initial=5)) == 5123
    np.testing.assert_array_equal(DIGITS.reduce(TABLE, axis=1, keepdims=True), [[123], [4567], [9011]])
    assert int(DIGITS.reduce(TABLE[:2, :2], axis=None)) == 145
    np.testing.assert_array_equal(DIGITS.accumulate(TABLE, axis=1)[1], [4, 45, 456, 4567])
    np.testing.assert_array_equal(DIGITS.outer(X, X[:2]), [[11, 12], [21, 22], [31, 32]])
    np.testing.assert_array_equal(DIGITS.at(X, [0, 0, 1], [1, 2, 3], inplace=False), [112, 23, 3])
    np.testing.assert_array_equal(DIGITS.at(TABLE, (0, [1, 2]), 9, inplace=False)[0], [0, 19, 29, 3])
    with_identity = rnp.frompyfunc(lambda a, b: 10 * a + b, 2, 1, identity=0)
    assert int(with_identity.reduce(X, where=np.array([True, False, True]))) == 13
    assert int(with_identity.reduce(X[:0])) == 0
    double = rnp.frompyfunc(lambda a: (a * 2, a), 1, 2)
    np.testing.assert_array_equal(double(X)[0], 2 * X)
    assert isinstance(DIGITS, rnp.ufunc) and (DIGITS.nin, DIGITS.nout) == (2, 1)


@pytest.mark.parametrize("name", "add multiply subtract maximum minimum bitwise_xor logaddexp".split())
def test_methods_of_numpys_functions(name):
    ours, theirs = getattr(rnp, name), getattr(np, name)
    x = TABLE.astype("f4") if name == "logaddexp" else TABLE
    same = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5)
    at = np.int32([0, 2, 1])
    same(ours.reduce(x, axis=1), theirs.reduce(x, axis=1))
    same(ours.accumulate(x, axis=1), theirs.accumulate(x, axis=1))
    same(ours.reduceat(x, at, axis=1), theirs.reduceat(x, at, axis=1))
    same(ours.outer(x[0], x[1]), theirs.outer(x[0], x[1]))
    copy = x.copy()
    theirs.at(copy, (at, 0), 2)
    same(ours.at(x, (at, 0), 2, inplace=False), copy)
    assert isinstance(ours, rnp.ufunc) and ours.identity == theirs.identity and ours.nin == 2
    assert not isinstance(rnp.sin, rnp.ufunc)


def test_truths_and_negation():
    for name in ("logical_and", "logical_or", "logical_xor"):
        ours, theirs = getattr(rnp, name), getattr(np, name)
        np.testing.assert_array_equal(ours.reduce(TABLE), theirs.reduce(TABLE))
        np.testing.assert_array_equal(ours.accumulate(TABLE), theirs.accumulate(TABLE))
    np.testing.assert_array_equal(rnp.negative.at(X, [0, 0, 1], inplace=False), [1, -2, 3])
    assert rnp.add.reduce(TABLE > 3, axis=None) == 8


@pytest.mark.needs("jit", "grad")
def test_methods_are_traced_and_differentiated():
    segments = rb.jit(lambda x, at: rnp.add.reduceat(x, at))(np.arange(8), np.int32([0, 4, 1, 5, 2, 6, 3, 7]))
    np.testing.assert_array_equal(segments, np.add.reduceat(np.arange(8), [0, 4, 1, 5, 2, 6, 3, 7]))
    product = rnp.frompyfunc(lambda a, b: a * b, 2, 1)
    x = np.float32([2, 3, 4])
    np.testing.assert_allclose(rb.grad(product.reduce)(x), [12, 8, 6])
    np.testing.assert_allclose(rb.vmap(product.reduce)(np.stack([x, x])), [24, 24])


MESSAGES = [
    (lambda: rnp.vectorize(abs, signature="(n"), ValueError, "is not a signature"),
    (lambda: rnp.vectorize(abs, excluded={-1}), ValueError, "must not be negative"),
    (lambda: rnp.vectorize(abs, excluded={1.5}), TypeError, "excluded holds positions"),
    (lambda: rnp.vectorize(abs, signature="(n)->(n)")(1.0), ValueError, "lacks the core dimensions"),
    (
        lambda: rnp.vectorize(rnp.add, signature="(n),(n)->(n)")(X, X[:2]),
        ValueError,
        "'n' has the sizes 3 and 2",
    ),
    (lambda: rnp.vectorize(abs, signature="(n)->()")(X), ValueError, "should have the dimensions"),
    (lambda: rnp.vectorize(abs, signature="(n)->(n)")(X, X), TypeError, "1 arguments expected, got 2"),
    (lambda: rnp.frompyfunc(3, 1, 1), TypeError, "takes a function"),
    (lambda: DIGITS.reduce(X[:0]), ValueError, "no identity; give initial="),
    (lambda: DIGITS.reduce(X, where=X > 1), ValueError, "where= needs initial="),
    (lambda: DIGITS.at(X, 0, 1), NotImplementedError, "pass inplace=False"),
    (lambda: rnp.negative.reduce(X), ValueError, "needs a function of two arguments"),
    (lambda: DIGITS(X), TypeError, "takes 2 arguments, got 1"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.needs("vmap")
def test_a_result_may_be_a_node_of_trees_that_has_a_shape():
    class Held:
        def __init__(self, data):
            self.data = data

        shape = property(lambda self: self.data.shape)
        dtype = property(lambda self: self.data.dtype)

    rb.tree.register_node(Held, lambda held: ((held.data,), None), lambda _, leaves: Held(*leaves))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    held = rnp.vectorize(lambda v: Held(v * 2), signature="(n)->(n)")(x)
    assert type(held) is Held
    np.testing.assert_array_equal(held.data, x * 2)
    with pytest.raises(ValueError, match="should have the dimensions"):
        rnp.vectorize(lambda v: Held(v * 2), signature="(n)->()")(x)
