"""What lax refuses is a TypeError, as in JAX, and a ValueError, as in NumPy: the classes are both."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.errors import AxisError, DTypeError, ShapeError

a = np.arange(6, dtype="float32").reshape(2, 3)
v, i = a[0], np.arange(3, dtype="int32")
numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
places = np.zeros((4, 1), "int32")

REFUSED = [
    (AxisError, lambda: lax.rev(a, (0, 0))),
    (AxisError, lambda: lax.rev(a, (2,))),
    (AxisError, lambda: lax.concatenate([a, a], 2)),
    (AxisError, lambda: lax.dot_general(a, a.T, (((2,), (0,)), ((), ())))),
    (AxisError, lambda: lax.dot_general(a, a.T, (((1, 1), (0, 0)), ((), ())))),
    (AxisError, lambda: lax.gather(a, places, numbers._replace(offset_dims=(2,)), (1, 3))),
    (AxisError, lambda: lax.gather(a, places, lax.GatherDimensionNumbers((1, 1), (), (0,)), (1, 3))),
    (ShapeError, lambda: lax.gather(a, places, lax.GatherDimensionNumbers((), (1, 0), (0,)), (1, 1))),
    (ShapeError, lambda: lax.dot(a, 2.0)),
    (ShapeError, lambda: lax.batch_matmul(v, v)),
    (ShapeError, lambda: lax.squeeze(a, (0,))),
    (ShapeError, lambda: lax.slice(a, (0, 0), (1, 1), (1,))),
    (ShapeError, lambda: lax.split(v, (1, -1, 3))),
    (ShapeError, lambda: lax.select_n(np.ones(3, bool))),
    (ShapeError, lambda: lax.pad(a, v, [(0, 0, 0), (0, 0, 0)])),
    (ShapeError, lambda: lax.dot_general(a, a, (((1,), (0,)), ((), ())))),
    (ShapeError, lambda: lax.dot_general(a, a, (((0, 1), (0,)), ((), ())))),
    (DTypeError, lambda: lax.argmax(a, 1, "float32")),
    (DTypeError, lambda: lax.argmax(np.zeros(200, "int8"), 0, "int8")),
    (DTypeError, lambda: lax.select_n(v, v, v)),
    (DTypeError, lambda: lax.sin(i)),
    (DTypeError, lambda: lax.gather(a, places * 1.0, numbers, (1, 3))),
    (ShapeError, lambda: lax.bitcast_convert_type(np.ones(3, "int8"), "int32")),
    (DTypeError, lambda: lax.bitcast_convert_type(np.ones(3, "complex64"), "float32")),
    (DTypeError, lambda: lax.dot_general(a, a.T, (((1,), (0,)), ((), ())), preferred_element_type="int32")),
    (DTypeError, lambda: lax.fori_loop(0, 3.5, lambda i, x: x, 0)),
    (DTypeError, lambda: lax.fori_loop(0.0, 3, lambda i, x: x, 0)),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_a_refusal_is_a_type_error_and_a_value_error(case):
    expected, call = REFUSED[case]
    for wanted in (TypeError, ValueError):
        with pytest.raises(wanted) as raised:
            call()
        assert type(raised.value) is expected
