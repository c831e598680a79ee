"""Axes as libraries write them."""

import rabbet.numpy as rnp


def test_a_range_of_axes():
    assert rnp.expand_dims(rnp.ones(3), range(2)).shape == (1, 1, 3)
    assert rnp.sum(rnp.ones((2, 3, 4)), axis=range(1, 3)).tolist() == [12.0, 12.0]
