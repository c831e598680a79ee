"""Operators of arrays: NumPy's meaning, the lattice's dtypes, whoever stands on the other side."""

import operator

import numpy as np
import pytest
import rabbet as rb
from rabbet import dtypes, lax
from rabbet.extend.passes import check, stage

from .toys import DTYPES, array, put, small

NUMBERS = {"bool": True, "int": 2, "float": 2.5, "complex": 1 + 2j}

# ---------------------------------------------------------------------------------------------- operators
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


def wanted_dtype(symbol, *operands):
    """The dtype of the result, or None where the operator is not defined."""
    common = np.dtype(dtypes.result_type(*operands))
    kind = common.kind
    if symbol in COMPARISONS:
        return np.dtype(bool)
    if symbol in ("&", "|", "^", "<<", ">>"):
        return common if kind in "iu" or (kind == "b" and symbol in "&|^") else None
    if symbol == "/":
        return dtypes.to_inexact(common)
    if symbol in ("//", "%") and kind == "c":
        return None
    if kind == "b":
        # As in NumPy: + is "or", * is "and", - is refused; the others count in integers.
        return {"+": common, "*": common, "-": None}.get(symbol, np.dtype("int32"))
    return common


def traced_dtype(fn, *avals):
    return check(stage(lambda *xs: [fn(*xs)], avals)).out_avals[0].dtype


@pytest.mark.parametrize("symbol", BINARY)
def test_the_dtypes_of_all_pairs(symbol):
    """Traced, so that nothing is compiled: every pair of dtypes on both sides, NumPy's arrays among them."""
    function = BINARY[symbol]
    wrong = []
    for a in DTYPES:
        x = small(a)
        others = [small(b) for b in DTYPES] + [
            np.asarray([1, 2, 3]).astype(b) for b in DTYPES if b[-2:] != "64" and b != "complex128"
        ]
        for y in [*others, *NUMBERS.values()]:
            for operands in ((x, y), (y, x)):
                wanted = wanted_dtype(symbol, *operands)
                try:
                    got = traced_dtype(lambda o=operands: function(*o))
                except (TypeError, ValueError) as error:
                    got = error
                refused = isinstance(got, Exception)
                if refused != (wanted is None) or (wanted is not None and got != wanted):
                    shown = [getattr(o, "dtype", type(o).__name__) for o in operands]
                    wrong.append(f"{shown[0]} {symbol} {shown[1]}: wanted {wanted}, got {got!r:.80}")
    assert not wrong, "\n".join(wrong[:8]) + f"\n{len(wrong)} in all"


def compatible(symbol, a, b):
    """NumPy's answer with both operands in the dtype that Rabbet computes in."""
    common = np.dtype(dtypes.result_type(a, b))
    if common.kind == "b" and symbol in ("//", "%", "**"):
        common = np.dtype("int32")
    if symbol == "/":
        common = dtypes.to_inexact(common)
    cast = [np.asarray(x).astype(common) for x in (a, b)]
    with np.errstate(all="ignore"):
        return BINARY[symbol](*cast)


PAIRS = [
    ("int32", "int32"),
    ("int8", "uint8"),
    ("uint8", "float16"),
    ("float32", "int32"),
    ("float64", "float32"),
    ("int64", "int32"),
    ("complex64", "float32"),
    ("bool", "int16"),
    ("bool", "bool"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("symbol", BINARY)
def test_values_are_numpys(symbol, a, b):
    x = np.asarray([-7, -1, 0, 2, 7, 5]).astype(a)
    y = np.asarray([2, -3, 3, 3, -2, 5]).astype(b)
    if wanted_dtype(symbol, small(a), small(b)) is None:
        pytest.skip("not defined")
    kind = np.dtype(dtypes.result_type(small(a), small(b))).kind
    if symbol in ("<<", ">>") or (symbol == "**" and kind in "iu"):
        y = np.abs(y.astype(np.int64)).astype(b)
    rtol = 1e-2 if "float16" in (a, b) else 1e-5
    for left, right in (
        (put(x), put(y)),
        (put(x), y if y.dtype.itemsize < 8 else put(y)),
        (x if x.dtype.itemsize < 8 else put(x), put(y)),
    ):
        got = BINARY[symbol](left, right)
        assert type(got) is rb.Array
        np.testing.assert_allclose(np.asarray(got), compatible(symbol, put(x), put(y)), rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("symbol", BINARY)
@pytest.mark.parametrize("number", [2, 2.5, True, -3])
def test_numbers_on_either_side(symbol, number):
    host = np.float32([-1.5, 0.5, 4])
    x = put(host)
    if symbol in ("&", "|", "^", "<<", ">>"):
        if isinstance(number, float) or number == -3:
            return
        host = np.int32([1, 5, 2])
        x = put(host)
    with np.errstate(all="ignore"):
        for got, wanted in (
            (BINARY[symbol](x, number), BINARY[symbol](host, host.dtype.type(number))),
            (BINARY[symbol](number, x), BINARY[symbol](host.dtype.type(number), host)),
        ):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)


@pytest.mark.narrow
def test_weak_types_follow_the_operands():
    assert not (put(np.ones(2, np.float32)) * 2.0).weak_type
    assert (lax.add(1, 2) * 2.0).weak_type
    assert (lax.add(1, 2) * 2.0).dtype == np.float32
    assert not (put(np.ones(2, np.int32)) * 2).weak_type
    half = put(np.ones(2, np.float16))
    assert (half * lax.add(1.0, 2.0)).dtype == np.float16


def test_operators_broadcast_as_numpy_does():
    rows, column, one = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([[10], [20]]), np.float32(5)
    np.testing.assert_array_equal(put(rows) + put(column), rows + column)
    np.testing.assert_array_equal(put(column) * put(rows)[0], column * rows[0])
    np.testing.assert_array_equal(put(rows) - one, rows - one)
    np.testing.assert_array_equal(one - put(rows), one - rows)
    np.testing.assert_array_equal(put(np.zeros((0, 1), np.float32)) + put(rows[:1]), np.zeros((0, 3)))


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises((TypeError, ValueError), match=r"\(2,\).*\(3,\)"):
        put(np.ones(2)) + put(np.ones(3))


@pytest.mark.parametrize("other", ["text", None, [1, 2], (1,), object(), {1: 2}])
def test_what_is_no_number_is_left_to_the_other_operand(other):
    x = put(np.ones(2, np.float32))
    with pytest.raises(TypeError):
        x + other
    with pytest.raises(TypeError):
        other - x
    if isinstance(other, (list, tuple, dict)):  # Python's own answer would be a plain False
        for compare in (lambda: x == other, lambda: other != x):
            with pytest.raises(TypeError, match="make that an array first"):
                compare()
    else:
        assert (x == other) is False
        assert (x != other) is True


def test_another_class_may_take_over():
    class Mine:
        def __radd__(self, other):
            return "mine"

        __rmul__ = __radd__

    x = put(np.ones(2, np.float32))
    assert x + Mine() == "mine" and x * Mine() == "mine"


def test_unary_operators():
    x = put(np.float32([-1.5, 0, 2]))
    assert (-x).tolist() == [1.5, 0, -2] and (+x).tolist() == x.tolist() and abs(x).tolist() == [1.5, 0, 2]
    assert (~put(np.int8([0, 5]))).tolist() == [-1, -6]
    assert (~put(np.asarray([True, False]))).tolist() == [False, True]
    assert (
        abs(put(np.complex64([3 + 4j]))).tolist() == [5.0]
        and abs(put(np.complex64([1j]))).dtype == np.float32
    )
    with pytest.raises(TypeError):
        operator.neg(put(np.asarray([True])))
    with pytest.raises(TypeError):
        operator.invert(x)


def test_divmod():
    x, y = np.int32([7, -7, 7]), np.int32([2, 2, -2])
    q, r = divmod(put(x), put(y))
    assert q.tolist() == (x // y).tolist() and r.tolist() == (x % y).tolist()
    q, r = divmod(7.5, put(np.float32([2])))
    assert (q.tolist(), r.tolist()) == ([3.0], [1.5])


def test_in_place_operators_make_new_arrays():
    x = y = put(np.float32([1, 2]))
    y += 1
    assert x.tolist() == [1, 2] and y.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("base", "exponent"), [(2.0, 3), (2.0, -2), (3, 4), (2.0, 0.5), (0.0, 0), (-8.0, 3), (1 + 2j, 2)]
)
def test_powers(base, exponent):
    wanted = base**exponent
    np.testing.assert_allclose(
        np.asarray(
            array(base, np.asarray(base).astype("c8" if isinstance(base, complex) else "f4").dtype)
            ** exponent
        ),
        wanted,
        rtol=1e-5,
    )


def test_an_integer_to_a_negative_power_is_refused():
    with pytest.raises((TypeError, ValueError), match="negative"):
        put(np.int32([2])) ** -1


# --------------------------------------------------------------------------- explicit widths and overflow
def test_an_explicit_dtype_is_honoured():
    wide = lax.full((2,), 1 / 3, "float64")
    assert wide.dtype == np.float64 and wide[0].item() == 1 / 3
    assert (wide * 3).dtype == np.float64 and (wide + wide).dtype == np.float64
    assert lax.full((), 2**40, "int64").item() == 2**40
    assert (lax.full((2,), 2**40, "int64") + 1).tolist() == [2**40 + 1] * 2
    assert (wide + np.float64([1 / 3, 0]))[0].item() == 2 / 3
    assert (wide + np.float64(1 / 3))[0].item() == 2 / 3


@pytest.mark.narrow
def test_values_of_numpy_are_narrowed_unless_asked():
    assert rb.device_put(np.float64([1.5])).dtype == np.float32
    assert rb.device_put(np.arange(3)).dtype == np.int32
    assert rb.device_put(np.complex128([1j])).dtype == np.complex64
    with rb.enable_x64(True):
        assert rb.device_put(np.float64([1.5])).dtype == np.float64
        assert lax.add(1, 2).dtype == np.int64


@pytest.mark.narrow
def test_an_int_that_does_not_fit_is_refused():
    x = put(np.int8([1, 2]))
    with pytest.raises(OverflowError, match=r"the Python int 300 does not fit int8 \(from -128 to 127\)"):
        x + 300
    with pytest.raises(OverflowError, match=r"2147483648 does not fit int32"):
        lax.add(2**31, 1)
    with pytest.raises(OverflowError, match=r"-1 does not fit uint8"):
        put(np.uint8([1])) + -1


@pytest.mark.needs("jit")
@pytest.mark.narrow
def test_an_int_that_does_not_fit_is_taken_modulo_where_the_setting_says_so():
    x = put(np.uint8([1, 7]))
    with rb.config.override(python_int_overflow="wrap"):
        assert (x * -1).tolist() == [255, 249] and (x + 300).tolist() == [45, 51]
        assert (put(np.int8([5])) + 1000).tolist() == [-19]
        assert rb.jit(lambda x: x - 300)(x).tolist() == (x - 300).tolist() == [213, 219]
        assert lax.full((1,), -1, np.uint8).tolist() == [255]
        assert lax.pad(x, -2, [(1, 0, 0)]).tolist() == [254, 1, 7]
        with pytest.raises(OverflowError, match="does not fit int32"):  # nor the default int
            put(np.int32([1])) * 2**40
    with pytest.raises(OverflowError, match="-1 does not fit uint8"):
        x * -1
    with pytest.raises(OverflowError, match="300 does not fit uint8"):
        rb.jit(lambda x: x - 300)(x)


@pytest.mark.needs("jit")
def test_complex_numbers_are_ordered_as_numpys():
    x, y = np.complex64([1 + 1j, 2 - 1j, 1 + 2j]), np.complex64([1 + 0j, 2 + 0j, 1 + 2j])
    for op in (operator.lt, operator.le, operator.gt, operator.ge):
        assert op(put(x), put(y)).tolist() == op(x, y).tolist()
        assert op(put(x), 1 + 1j).tolist() == op(x, np.complex64(1 + 1j)).tolist()
        assert op(put(x), 2).tolist() == op(x, np.complex64(2)).tolist()
        assert op(put(x[:1].real), put(y)).tolist() == op(x[:1].real, y).tolist()
        assert rb.jit(op)(x, y).tolist() == op(x, y).tolist()
        assert op(put(np.complex64([np.nan])), 1).tolist() == [False]


def test_integers_wrap_as_numpys_do():
    assert (put(np.int8([127])) + put(np.int8([1]))).tolist() == [-128]
    assert (put(np.uint8([0])) - put(np.uint8([1]))).tolist() == [255]


# --------------------------------------------------------------------------- integers with and without a sign
INTEGERS = [f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)]


def ends(dtype):
    """Numbers at the ends of a dtype, around 0, and some that floats do not tell apart."""
    limits = np.iinfo(dtype)
    near = [limits.min, limits.min + 1, -1, 0, 1, 2**24, 2**24 + 1, 2**31, 2**32 - 1, limits.max]
    return np.array([n for n in near if limits.min <= n <= limits.max], dtype)


@pytest.mark.parametrize("symbol", COMPARISONS)
def test_integers_compare_as_the_numbers_that_they_are(symbol):
    op = BINARY[symbol]
    for a in INTEGERS:
        for b in INTEGERS[INTEGERS.index(a) :]:
            x, y = ends(a)[:, None], ends(b)
            wanted = op(x.astype(object), y.astype(object)).astype(bool)
            np.testing.assert_array_equal(op(array(x), array(y)), wanted, err_msg=f"{a} {symbol} {b}")
            wanted = op(y.astype(object), x.astype(object)).astype(bool)
            np.testing.assert_array_equal(op(array(y), array(x)), wanted, err_msg=f"{b} {symbol} {a}")


def test_a_weak_integer_is_compared_as_the_number_that_it_is():
    weak = lax.convert_element_type(300, int)
    assert not np.asarray(array(np.array([44], "uint8")) == weak).any()


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_differences_of_64_bit_integers_of_both_signs_have_64_bits():
    x, y = array(np.array([2**24 + 1], "uint64")), array(np.array([2**24], "int64"))
    assert (x - y).dtype == "float64" and float((x - y)[0]) == 1
    assert (y * 1.0).dtype == (y / 3).dtype == "float64"


KINDS = {"int": 1, "float": 1.0, "complex": 1j}


@pytest.mark.parametrize("number", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("operation", [lambda x, y: x + y, lambda x, y: y - x, lambda x, y: x * y])
def test_a_python_number_beside_a_weak_one_is_as_wide_as_the_setting_says(operation, number):
    """A weak number gives way to another one of its kind, which is of 64 bits where these are on by now."""
    weak = lax.add(number, number)
    narrow, wide = ({int: "int", float: "float", complex: "complex"}[type(number)] + n for n in ("32", "64"))
    if type(number) is complex:
        narrow, wide = "complex64", "complex128"
    for enabled, dtype in ((False, narrow), (True, wide)):
        with rb.config.override(enable_x64=enabled):
            out = operation(weak, number)
        assert (out.dtype, out.weak_type) == (dtype, True)
