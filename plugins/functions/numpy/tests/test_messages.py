"""What functions say to those who made a mistake: who, what was given, what next. And names that are not
there.
"""

import numpy as np
import pytest
import rabbet.numpy as rnp

X = np.ones((3, 4), "f4")

MESSAGES = [
    (
        lambda: rnp.sum([1, 2]),
        TypeError,
        "sum takes arrays and numbers, got a list as argument 1; make it an array first",
    ),
    (lambda: rnp.tanh(None), TypeError, "tanh takes arrays and numbers, got a NoneType"),
    (lambda: rnp.add(X, "a"), TypeError, "add takes arrays and numbers, got a str as argument 2"),
    (lambda: rnp.dot(X, X), TypeError, r"dot: the shapes \(3, 4\) and \(3, 4\) do not fit together"),
    (
        lambda: rnp.matmul(X, X),
        TypeError,
        "the last dimension of the first has size 4, dimension 0 of the second 3",
    ),
    (lambda: X[0] + rnp.ones(3), TypeError, r"broadcasting: \(4,\), \(3,\) in x \+ y; counted"),
    (lambda: rnp.histogram(X, bins=0), ValueError, "one bin at least, got bins=0"),
    (lambda: rnp.ones(3)["a"], TypeError, r"str 'a' cannot index f32\[3\]: .* or a tuple of these\n"),
    (lambda: rnp.ones(3)[1.5], TypeError, "convert floating positions"),
    (lambda: rnp.ones(3)[np.ones(2)], TypeError, "convert floating positions"),
    (lambda: rnp.matmul(X, 2.0), ValueError, "at least one dimension.*use multiply"),
    (
        lambda: rnp.concatenate([X, np.ones((3, 5), "f4")]),
        TypeError,
        r"concatenate: shapes must agree.*f32\[3,4\], f32\[3,5\]",
    ),
    (lambda: rnp.concatenate([]), ValueError, "concatenate needs at least one array"),
    (lambda: rnp.stack([X, X[0]]), ValueError, "stack takes arrays of one shape"),
    (lambda: rnp.add(X, np.ones(3, "f4")), ValueError, r"broadcasting: \(3, 4\), \(3,\) in add; counted"),
    (lambda: rnp.broadcast_to(X, (4, 3)), ValueError, r"f32\[3,4\] does not broadcast to \(4, 3\)"),
    (lambda: rnp.sum(X, axis=2), ValueError, "sum: axis 2 is out of range for an array of 2 dimensions"),
    (lambda: rnp.sum(X, axis=(0, 0)), ValueError, "name one twice"),
    (lambda: rnp.sum(X, axis=1.5), TypeError, "sum: axis must be an int"),
    (lambda: rnp.sum(X, out=X), NotImplementedError, "cannot be written to"),
    (lambda: rnp.max(np.zeros((0, 2), "f4")), ValueError, "max of no elements.*give initial="),
    (lambda: rnp.max(X, where=X > 0), ValueError, "needs initial="),
    (lambda: rnp.argmax(np.zeros(0, "f4")), ValueError, "argmax of no elements"),
    (lambda: rnp.reshape(X, (5, -1)), TypeError, "12 elements does not divide into"),
    (lambda: rnp.reshape(X, (-1, -1)), ValueError, "only one dimension can be worked out"),
    (lambda: rnp.squeeze(X, 0), ValueError, "only size 1 can be removed"),
    (lambda: rnp.transpose(X, (0, 0)), ValueError, "name one twice"),
    (lambda: rnp.split(X, 3, axis=1), ValueError, "does not divide into 3 equal pieces; array_split"),
    (lambda: rnp.pad(X, -1), ValueError, "pad_width must not be negative"),
    (lambda: rnp.pad(X, 1, "spiral"), NotImplementedError, "modes: constant"),
    (lambda: rnp.roll(X, (1, 2, 3), axis=(0, 1)), ValueError, "3 shifts for 2 axes"),
    (lambda: rnp.einsum("ij,jk", X, X), ValueError, "'j' in 'ij,jk' has the sizes 4 and 3"),
    (lambda: rnp.einsum("ijk", X), ValueError, "does not fit an array of 2 dimensions"),
    (lambda: rnp.einsum("ij,jk", X), ValueError, "names 2 operands, got 1"),
    (lambda: rnp.einsum("ij->ik", X), ValueError, "'k' in the result"),
    (lambda: rnp.array([[1, 2], [3]]), ValueError, "nested sequences differ in length"),
    (lambda: rnp.array("a"), TypeError, "a str holds no numbers"),
    (lambda: rnp.array([2**40]), OverflowError, "ask for a wider dtype"),
    (lambda: rnp.int8(300), OverflowError, "300 does not fit int8"),
    (lambda: rnp.asarray(np.array(["a"])), TypeError, "has no equal here"),
    (lambda: rnp.zeros(3, "flot32"), TypeError, "dtype 'flot32' is not known"),
    (lambda: rnp.zeros(2.5), TypeError, "zeros: a shape is an int or a tuple of ints, got 2.5"),
    (lambda: rnp.arange(X), TypeError, r"arange takes numbers, got f32\[3,4\]"),
    (lambda: rnp.arange(0, 5, 0), ZeroDivisionError, "the step is zero"),
    (lambda: rnp.linspace(0, 1, -1), ValueError, "num must not be negative"),
    (lambda: rnp.negative(True), TypeError, "negative is not defined on booleans; use logical_not"),
    (lambda: rnp.subtract(True, False), TypeError, "use logical_xor"),
    (lambda: rnp.power(np.ones(2, "i4"), 1) ** -1, TypeError, "negative power -1"),
    (lambda: rnp.where(X > 0, X), ValueError, "a condition alone, or a condition and both"),
    (lambda: rnp.take(X, 1.5), TypeError, "indices must be integers"),
    (lambda: rnp.take_along_axis(X, np.array([0]), 0), ValueError, "as many dimensions"),
    (lambda: rnp.clip(1j, 0, 1), ValueError, "complex numbers, which have no order"),
    (lambda: rnp.tril(np.ones(3, "f4")), ValueError, "at least two dimensions"),
    (lambda: rnp.diag(np.ones((2, 2, 2), "f4")), ValueError, "a vector or a matrix"),
    (lambda: rnp.quantile(X, 0.5, method="best"), ValueError, "method must be one of linear"),
    (
        lambda: rnp.average(X, weights=np.ones(3, "f4")),
        ValueError,
        "then axis must say which dimensions they belong to",
    ),
    (lambda: rnp.searchsorted(X, 1.0), ValueError, "looks in a vector"),
    (lambda: rnp.bincount(np.ones(2, "f4")), TypeError, "a vector of integers"),
    (lambda: rnp.choose(np.array([0, 5]), [X[0, :2], X[1, :2]]), ValueError, "numbers must be from 0 to 1"),
    (lambda: rnp.var(X, ddof=1, correction=1), ValueError, "give ddof or correction"),
    (lambda: rnp.gcd(X, 1), TypeError, "gcd takes integers"),
    (lambda: rnp.isdtype("float32", "colour"), ValueError, "neither a dtype nor one of the kinds"),
]


@pytest.mark.parametrize("number", range(len(MESSAGES)))
@pytest.mark.narrow
def test_message(number):
    call, error, text = MESSAGES[number]
    with pytest.raises(error, match=text):
        call()


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="NumPy has it, but it is not there yet"):
        _ = rnp.polynomial
    with pytest.raises(AttributeError, match="NumPy has no such name either"):
        _ = rnp.summm


def test_every_function_has_a_docstring_and_its_name():
    for name in dir(rnp):
        value = getattr(rnp, name)
        if (
            callable(value)
            and getattr(value, "__module__", "").startswith("rabbet.numpy")
            and not isinstance(value, type)
        ):
            assert getattr(value, "__doc__", None), name
            assert value.__name__ in dir(rnp) or value.__name__ in ("bool",), name
