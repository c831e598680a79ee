"""64-bit values that nobody asked to be narrowed: none is lost unseen. And no mask."""

import warnings

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "vmap")

BIG, HUGE = 2**40, 1e300

DOORS = {
    "asarray": lambda x: rnp.asarray(x),
    "array": lambda x: rnp.array(x),
    "device_put": lambda x: rb.device_put({"a": x}),
    "an operand": lambda x: rnp.ones(3, getattr(x, "dtype", None) and np.dtype(f"{x.dtype.kind}4")) + x,
    "a jitted argument": lambda x: rb.jit(lambda y: y)(x),
    "a captured value": lambda x: rb.jit(lambda y: y + x)(rnp.ones((), f"{x.dtype.kind}4")),
    "vmap": lambda x: rb.vmap(lambda y: y)(np.broadcast_to(x, (3,))),
    "scan": lambda x: lax.scan(lambda c, y: (c, y), 0, np.broadcast_to(x, (3,))),
    "full": lambda x: rnp.full(3, x),
    "where": lambda x: rnp.where(True, x, x),
    "set": lambda x: rnp.zeros(3, f"{x.dtype.kind}4").at[:].set(x),
}


@pytest.mark.parametrize(
    "value", [np.int64(BIG), np.arange(3) + BIG, np.int64(-BIG), np.uint64(2**63)], ids=str
)
def test_integers_that_do_not_fit_are_refused_by_name(value):
    for name, door in DOORS.items():
        with pytest.raises(OverflowError, match="does not fit") as caught:
            door(value)
        said = str(caught.value)
        assert str(np.ravel(value)[0]) in said and value.dtype.name in said, name
    with rb.config.override(check_narrowing=False):
        for door in DOORS.values():
            door(value)


@pytest.mark.parametrize("at", [0, 2**20 + 5])
@pytest.mark.parametrize("dtype", ["int64", "uint64", ">i8"])
def test_one_integer_that_does_not_fit_is_found_wherever_it_lies(dtype, at):
    many = np.ones(2**20 + 7, dtype)
    if "u" not in dtype:
        many[::3] = -1
    assert rnp.asarray(many)[3] == many[3] and rnp.asarray(many[:2])[1] == 1
    many[at] = BIG  # of big-endian numbers the bits alone would tell another one
    for values in (many, many[::-1], many.reshape(1, -1), many[at:][:1], many[at:][:1].reshape(())):
        with pytest.raises(OverflowError, match=f"int64 {BIG} does not fit"):
            rb.device_put(values)


@pytest.mark.parametrize("value", [np.float64(HUGE), np.array([1.0, HUGE, -HUGE])], ids=str)
def test_floats_that_become_infinite_warn(value):
    for door in DOORS.values():
        with pytest.warns(RuntimeWarning, match="float64 1e.300 is infinite in float32") as seen:
            door(value)
        assert seen[0].filename == __file__
    with rb.config.override(check_narrowing=False), warnings.catch_warnings():
        warnings.simplefilter("error")
        for door in DOORS.values():
            door(value)


def test_what_fits_and_what_was_asked_for_pass_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in ([2**31 - 1, -(2**31)], [], [0]):
            assert rnp.asarray(np.array(values, "int64")).tolist() == values
        floats = rnp.asarray(np.array([np.inf, -np.inf, np.nan, 1.0, 3e38]))
        assert np.isinf(floats[:2]).all() and float(floats[3]) == 1
        assert rnp.asarray(np.array([BIG]), dtype="int64").tolist() == [BIG]
        assert rnp.asarray(np.array([BIG + 7]), dtype="int32").tolist() == [7]
        assert lax.convert_element_type(np.array([BIG + 7]), "int32").tolist() == [7]
        assert (rnp.zeros(1, "int64") + np.int64(BIG)).tolist() == [BIG]
        with rb.config.override(enable_x64=True):
            assert rnp.asarray(np.array([BIG])).tolist() == [BIG]


def test_a_python_number_that_an_integer_dtype_does_not_hold_is_refused():
    doors = (
        lambda v, dtype: rnp.asarray(v, dtype=dtype),
        lambda v, dtype: rnp.full(2, v, dtype),
        lambda v, dtype: rnp.full_like(rnp.zeros(2, dtype), v),
        lambda v, dtype: rb.jit(lambda: rnp.array(v, dtype=dtype))(),
    )
    large = ((300.7, "int8"), (-1.0, "uint8"), (1e20, "int32"), (np.inf, "int64"), (2**70, "int8"))
    cut_off = ((127.9, "int8"), (-0.5, "uint8"), (-128.9, "int8"), (2.0**53, "int64"), (True, "int8"))
    for door in doors:
        for v, dtype in large:
            with pytest.raises(OverflowError, match="does not fit"):
                door(v, dtype)
        with pytest.raises(ValueError, match="NaN does not fit int16"):
            door(np.nan, "int16")
        for v, dtype in cut_off:
            assert door(v, dtype).ravel()[0] == int(v)


def test_arrays_with_a_mask_are_refused_at_every_door():
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    more = (
        lambda x: lax.add(x, x),
        lambda x: rnp.asarray(x, dtype="float32"),
        lambda x: rnp.asarray([x, x]),
        rnp.sum,
    )
    for door in (
        *[d for name, d in DOORS.items() if name not in ("vmap", "scan")],
        rb.vmap(lambda y: y),
        *more,
    ):
        with pytest.raises(ValueError, match="would lose its mask"):
            door(masked)
