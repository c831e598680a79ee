"""Derivatives at places where a formula has a case of its own, and a stiff minimum."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy import special
from rabbet.scipy.ndimage import map_coordinates
from rabbet.scipy.optimize import minimize

pytestmark = pytest.mark.needs("grad")


def test_second_derivatives_at_a_factor_of_zero():
    mixed = rb.jacfwd(rb.grad(special.xlog1py, 1), 0)
    assert float(mixed(0.0, 1.0)) == 0.5
    mixed = rb.jacfwd(rb.grad(special.xlogy, 1), 0)
    assert float(mixed(0.0, 2.0)) == 0.5
    assert float(rb.grad(special.xlogy, 1)(0.0, 0.0)) == 0.0


def test_the_slope_at_a_point_is_that_to_the_right():
    line = rnp.array([0.0, 1.0, 3.0, 6.0])
    for place, slope in ((0.0, 1), (1.0, 2), (1.5, 2), (2.0, 3)):
        found = rb.grad(lambda x: map_coordinates(line, [x[None]], order=1)[0])(rnp.float32(place))
        assert float(found) == slope


def test_a_stiff_minimum_is_reached():
    for scale in (1e4, 1e2):
        out = minimize(lambda x, scale=scale: rnp.mean((scale * x) ** 2), rnp.ones(2), method="BFGS")
        assert np.abs(out.x).max() < 1e-6 and out.success
