"""Functions of loops and branches outside of other transformations: traced at each call, or once and kept."""

import gc
import weakref

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.lax import traced_body_cache
from rabbet.runtime.compilation import program

XS = np.float32([1.0, 2.0, 3.0])


def looping(name, step, x):
    """Each loop and branch over a function of one array."""
    return {
        "scan": lambda: lax.scan(over_slices(step), x, XS),
        "while_loop": lambda: lax.while_loop(below_nine, step, x),
        "fori_loop": lambda: lax.fori_loop(0, 3, over_numbers(step), x),
        "fori_loop between arrays": lambda: lax.fori_loop(
            0, rb.device_put(np.int32(3)), over_numbers(step), x
        ),
        "cond": lambda: lax.cond(x < 9, step, step, x),
        "switch": lambda: lax.switch(np.int32(1), [step, step, step], x),
    }[name]()


def below_nine(x):
    return x < 9


def over_slices(step):
    return kept(step, "scan", lambda c, x: (step(c), x))


def over_numbers(step):
    return kept(step, "numbers", lambda i, x: step(x))


def kept(step, name, made):
    """One function for each ``step``, as programs have it."""
    return step.__dict__.setdefault(name, made)


def counted():
    def step(x):
        step.traced += 1
        return x + step.by

    step.traced, step.by = 0, 1.0
    return step


LOOPS = ("scan", "while_loop", "fori_loop", "fori_loop between arrays", "cond", "switch")


@pytest.fixture
def keeping():
    with rb.config.override(keep_bodies=True):
        yield


@pytest.mark.parametrize("name", LOOPS)
def test_a_function_is_traced_once_for_each_types(keeping, name):
    step, x = counted(), rb.device_put(np.float32(1))
    first = looping(name, step, x)
    assert step.traced == 1
    for a, b in zip(rb.tree.leaves(first), rb.tree.leaves(looping(name, step, x)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert step.traced == 1
    looping(name, step, rb.device_put(np.float16(1)))
    assert step.traced == 2


@pytest.mark.parametrize("name", LOOPS)
def test_by_default_what_a_function_reads_counts_as_it_is_at_the_call(name):
    step, x = counted(), rb.device_put(np.float32(1))
    before = rb.tree.leaves(looping(name, step, x))[0]
    step.by = 3.0
    after = rb.tree.leaves(looping(name, step, x))[0]
    assert step.traced > 1 and float(after) > float(before)


@pytest.mark.parametrize("name", LOOPS)
def test_what_was_compiled_is_found_again(name, keeping, monkeypatch):
    step, x, made = counted(), rb.device_put(np.float32(1)), []
    looping(name, step, x)
    lower = program.lower
    monkeypatch.setattr(program, "lower", lambda *args, **how: made.append(args) or lower(*args, **how))
    looping(name, step, x)
    assert not made
    with rb.config.override(keep_bodies=False):
        looping(name, step, x)
    assert made


@pytest.mark.narrow
def test_settings_that_tracing_reads_count(keeping):
    def step(x):
        return x + np.float64(1)

    x = rb.device_put(np.float32(1))
    assert lax.cond(True, step, step, x).dtype == np.float32
    with rb.config.override(enable_x64=True):
        assert lax.cond(True, step, step, x).dtype == np.float64


@pytest.mark.needs("jit", "grad")
def test_within_jit_and_grad_functions_are_traced_as_ever(keeping):
    step, x = counted(), rb.device_put(np.float32(1))
    looping("cond", step, x)
    assert rb.jit(lambda x: looping("cond", step, x))(x) == 2
    assert rb.grad(lambda x: looping("cond", step, x))(x) == 1
    assert step.traced > 2


def test_what_is_kept_dies_with_its_function_and_with_the_caches(keeping):
    def loop():
        def step(x):
            return x + 1

        lax.cond(True, step, step, np.float32(1))
        return weakref.ref(step)

    gone = loop()
    gc.collect()
    assert gone() is None
    step = counted()
    lax.cond(True, step, step, np.float32(1))
    assert traced_body_cache._kept.of
    rb.clear_caches()
    assert not traced_body_cache._kept.of


def test_as_many_functions_are_kept_as_is_said(keeping, monkeypatch):
    monkeypatch.setattr(traced_body_cache.KeptBodies, "FUNCTIONS", 3)
    monkeypatch.setattr(traced_body_cache.KeptBodies, "TYPES", 2)
    rb.clear_caches()
    steps = [counted() for _ in range(5)]
    for step in steps:
        lax.cond(True, step, step, np.float32(1))
    assert len(traced_body_cache._kept.of) == 3
    for n in range(1, 6):
        lax.cond(True, step, step, np.ones(n, np.float32))
    assert max(map(len, traced_body_cache._kept.of.values())) <= 2


def test_cells_have_their_own_content_at_each_call(keeping):
    ref = pytest.importorskip("rabbet.ref")
    cell = ref.new_ref(np.float32(0))

    def step(i, x):
        cell[...] += 1
        return x + cell[...]

    assert float(lax.fori_loop(0, 2, step, np.float32(0))) == 3
    assert float(lax.fori_loop(0, 2, step, np.float32(0))) == 7
    assert float(cell[...]) == 4


def test_a_function_that_cannot_be_held_is_traced_each_time(keeping):
    class Step:
        __slots__ = ("traced",)

        def __call__(self, x):
            self.traced += 1
            return x + 1

    step = Step()
    step.traced = 0
    for _ in range(2):
        lax.cond(True, step, step, np.float32(1))
    assert step.traced == 2  # once in each call
