"""Small functions of ``lax`` that are made of others."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.trace.staging import stage

ROW = device_array(np.array([3.0, 1.0, 2.0], np.float32))
CUBE = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def listed(*arrays):
    return [np.asarray(x).tolist() for x in arrays]


def test_empty_and_broadcast_like():
    assert lax.empty((2, 3), "int8").shape == (2, 3)
    assert listed(lax.broadcast_like(ROW, np.zeros((2, 3)))) == [[[3, 1, 2], [3, 1, 2]]]
    with pytest.raises(ValueError, match=r"f32\[3\] does not broadcast to the shape \(3, 1\)"):
        lax.broadcast_like(ROW, np.zeros((3, 1)))


def test_full_like_of_a_number_is_weak():
    assert lax.full_like(2.0, 0).weak_type and not lax.full_like(2.0, 0, dtype="float32").weak_type
    assert not lax.full_like(ROW, 0).weak_type


def test_stage_makes_a_value_of_the_program():
    assert float(lax.stage(2.0)) == 2.0 and lax.stage(2.0).weak_type
    assert [eqn.op.primitive.name for eqn in stage(lambda: [lax.stage(2.0)], []).jaxpr.equations]
