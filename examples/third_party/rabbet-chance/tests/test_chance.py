"""Choices under their handlers, against densities by hand, and through everything else."""

import math

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import rabbet_chance as chance
from rabbet import lax

DATA = np.float32([1.0, 2.0, 6.0])


def log_normal(x, loc=0.0, scale=1.0):
    x, loc, scale = map(np.float64, (x, loc, scale))
    return float(np.sum(-0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * math.log(2 * math.pi)))


def model(data):
    mean = chance.normal("mean", 0.0, 10.0)
    chance.observe("data", data, mean, 2.0)
    return mean


def walk(steps=3):
    step = lambda x, _: (chance.normal("step", x, 1.0),) * 2
    return lax.scan(step, 0.0, None, length=steps)[1]


def density(mean, data=DATA):
    return chance.log_density(model)({"mean": mean}, data)[0]


@pytest.mark.parametrize("compiled", [False, True])
def test_the_density_is_that_of_all_choices(compiled):
    f = rb.jit(density) if compiled else density
    expected = log_normal(3.0, 0.0, 10.0) + log_normal(DATA, 3.0, 2.0)
    assert float(f(3.0)) == pytest.approx(expected, rel=1e-6)
    assert float(rb.grad(f)(3.0)) == pytest.approx(-3.0 / 100.0 + np.sum(DATA - 3.0) / 4.0, rel=1e-5)


def test_many_values_and_many_data_at_once():
    means = np.float32([0.0, 1.0, 5.0])
    many = rb.vmap(density)(means)
    np.testing.assert_allclose(many, [density(m) for m in means], rtol=1e-6)
    rows = np.stack([DATA, 2 * DATA])
    found = rb.vmap(density, (None, 0))(1.0, rows)
    np.testing.assert_allclose(found, [density(1.0, r) for r in rows], rtol=1e-6)


def test_in_a_loop_a_name_has_a_value_for_each_round():
    values = np.float32([1.0, 1.0, 3.0])
    found, out = rb.jit(chance.log_density(walk))({"step": values})
    np.testing.assert_array_equal(out, values)
    assert float(found) == pytest.approx(log_normal(values, [0.0, 1.0, 1.0]), rel=1e-6)
    pull = rb.grad(lambda v: chance.log_density(walk)({"step": v})[0])(values)
    np.testing.assert_allclose(pull, [-1.0 + 0.0, 2.0, -2.0], atol=1e-6)


def test_in_branches_and_calls():
    def branched(flag):
        inner = rb.jit(lambda: chance.normal("wide", 0.0, 5.0))
        return lax.cond(flag, inner, lambda: chance.normal("slim", 1.0, 0.5))

    f = rb.jit(lambda flag: chance.log_density(branched)({"wide": 2.0, "slim": 1.5}, flag))
    assert [float(x) for x in f(True)] == pytest.approx([log_normal(2.0, 0.0, 5.0), 2.0])
    assert [float(x) for x in f(False)] == pytest.approx([log_normal(1.5, 1.0, 0.5), 1.5])


def test_drawing_follows_the_key_and_goes_through_loops():
    draw = rb.jit(chance.seeded(walk))
    first, again, other = draw(rb.random.key(1)), draw(rb.random.key(1)), draw(rb.random.key(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other) and len(set(np.diff(first).tolist())) == 2
    wide = chance.seeded(lambda: chance.normal("x", 3.0, 2.0))
    many = rb.vmap(wide)(rb.random.split(rb.random.key(0), 4000))
    assert float(many.mean()) == pytest.approx(3.0, abs=0.2)
    assert float(many.std()) == pytest.approx(2.0, abs=0.1)


def test_what_is_drawn_can_be_differentiated():
    def pathwise(loc, scale):
        return chance.seeded(lambda: chance.normal("x", loc, scale))(rb.random.key(0))

    slope, noise = rb.grad(pathwise, (0, 1))(1.0, 2.0)
    assert float(slope) == 1.0
    assert float(pathwise(1.0, 2.0)) == pytest.approx(1.0 + 2.0 * float(noise), rel=1e-6)


def test_a_choice_that_nobody_handles_and_a_value_that_nobody_gives():
    with pytest.raises(RuntimeError, match=r"nobody says what chance\.normal\('x', \.\.\.\) is"):
        chance.normal("x", 0.0, 1.0)
    with pytest.raises(RuntimeError, match="nobody says"):
        rb.jit(lambda: chance.normal("x", 0.0, 1.0))()
    with pytest.raises(KeyError, match=r"no value for .*'mean'"):
        chance.log_density(model)({"man": 1.0}, DATA)


def test_two_draws_of_one_name_are_two():
    both = rb.jit(chance.seeded(lambda: (chance.normal("x", 0.0, 1.0), chance.normal("x", 0.0, 1.0))))
    first, second = both(rb.random.key(0))
    assert float(first) != float(second)


def test_observing_alone_changes_nothing():
    assert rnp.array_equal(rb.jit(lambda x: chance.observe("x", x, 0.0, 1.0))(DATA), DATA)
