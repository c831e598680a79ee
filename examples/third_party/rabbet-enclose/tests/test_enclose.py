"""Laws first: a box contains what sampling finds, alone and under every other transformation.."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.extend.primitive import dynamic_slice
from rabbet_enclose import Box


def smooth(x):
    return rnp.tanh(x) * rnp.exp(x) - x * 0.5


def through_jit(x):
    return rb.jit(lambda y: y * y - 1.0)(x) + x


def of_a_vector(x):
    return rnp.sum(rnp.exp(x) * 2.0 - x.reshape(-1))


def by_indices(x):
    turned = rnp.take(x, np.array([2, 0, 1]), mode="clip")
    moved = lax.dynamic_update_slice(turned, lax.dynamic_slice(x, (1,), (2,)), (0,))
    return rnp.where(np.array([True, False, True]), moved, x)


FUNCTIONS = [smooth, through_jit, lambda x: -x * x, of_a_vector, by_indices]
LO, HI = np.float32([-1.0, 0.25, 0.5]), np.float32([-0.5, 0.75, 2.0])


def samples():
    return np.random.RandomState(0).uniform(LO, HI, (50, 3)).astype(np.float32)


def assert_contains(box, values):
    slack = 1e-5 * (1 + np.abs(values))
    assert np.all(np.asarray(box.lo) <= values + slack)
    assert np.all(values - slack <= np.asarray(box.hi))


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_box_contains_sampled_values(fn):
    box = rb.enclose(fn)((LO, HI))
    assert_contains(box, np.stack([np.asarray(fn(x)) for x in samples()]))


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_a_box_of_width_zero_is_evaluation(fn):
    box = rb.enclose(fn)((LO, LO))
    np.testing.assert_allclose(box.lo, fn(rnp.array(LO)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(box.hi, fn(rnp.array(LO)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_jit_of_enclose(fn):
    compiled, eager = rb.jit(rb.enclose(fn))(Box(LO, HI)), rb.enclose(fn)(Box(LO, HI))
    np.testing.assert_allclose(compiled, eager, rtol=1e-5, atol=1e-6)


def test_an_index_that_lies_in_a_box_is_refused():
    with pytest.raises(TypeError, match="dynamic_slice: an index that lies in a box chooses no one element"):
        rb.enclose(lambda x, i: dynamic_slice(x, i, slice_sizes=(1,)))((LO, HI), (np.int32(0), np.int32(2)))


def test_vmap_of_enclose_is_a_loop_over_boxes():
    mapped = rb.vmap(rb.enclose(smooth))(Box(LO, HI))
    for i in range(3):
        one = rb.enclose(smooth)(Box(LO[i], HI[i]))
        np.testing.assert_allclose([mapped.lo[i], mapped.hi[i]], [one.lo, one.hi], rtol=1e-5, atol=1e-6)


def test_gradient_of_a_bound():
    upper = lambda box: rb.enclose(smooth)(box)[1]
    box = Box(np.float32(0.25), np.float32(0.75))
    gradient = rb.grad(upper)(box)
    assert type(gradient) is Box
    for side in (0, 1):
        step = np.zeros(2, np.float32)
        step[side] = 1e-2
        difference = (upper(Box(*np.add(box, step))) - upper(Box(*np.subtract(box, step)))) / 2e-2
        np.testing.assert_allclose(gradient[side], difference, rtol=1e-2, atol=1e-3)


def test_enclose_of_a_gradient_contains_the_gradients():
    scalar = lambda x: rnp.exp(x) * x - x * 0.5
    box = rb.enclose(rb.grad(scalar))((LO[1], HI[1]))
    assert_contains(box, np.array([rb.grad(scalar)(x[1]) for x in samples()]))


def test_outer_values_are_boxes_of_width_zero():
    def fn(x):
        box = rb.enclose(lambda y: y * x)((1.0, 2.0))
        return box.hi - box.lo

    assert float(rb.grad(fn)(3.0)) == 1.0


def test_a_primitive_without_a_rule_is_named():
    with pytest.raises(rb.errors.MissingRule, match=r"no 'enclose' rule for primitive 'sin'"):
        rb.enclose(lax.sin)((0.0, 1.0))
