"""``jit`` made anew of the same function: by default it is traced anew, with ``keep_bodies`` it is not."""

import functools
import gc
import weakref

import numpy as np
import pytest
import rabbet as rb
from rabbet_jit.shared_traces import kept_traces

X = np.float32(2)


def counted():
    def f(x, n=1):
        f.traced += 1
        return rb.lax.mul(x, rb.lax.full_like(x, n * f.by))

    f.traced, f.by = 0, 3.0
    return f


def test_by_default_what_it_reads_counts_as_it_is_then():
    f = counted()
    assert float(rb.jit(f)(X)) == 6
    f.by = 4.0
    assert float(rb.jit(f)(X)) == 8 and f.traced == 2


@pytest.fixture
def keeping():
    with rb.config.override(keep_bodies=True):
        yield


@pytest.mark.forbidden("disable_jit")
def test_traces_are_shared(keeping):
    f = counted()
    for _ in range(3):
        assert float(rb.jit(f)(X)) == 6
    assert f.traced == 1
    rb.jit(f)(np.float16(2))
    assert f.traced == 2
    for n in (1, 2, 2):
        assert float(rb.jit(f, static_argnums=1)(X, n)) == 6 * n
    assert f.traced == 4
    rb.jit(functools.partial(f))(X)  # another function
    assert f.traced == 5
    rb.clear_caches()
    assert float(rb.jit(f)(X)) == 6 and f.traced == 6


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_settings_that_tracing_reads_count(keeping):
    f = counted()
    rb.jit(f)(X)
    with rb.config.override(numpy_dtype_promotion="strict"):
        rb.jit(f)(X)
    assert f.traced == 2


def test_nothing_is_held(keeping):
    f = counted()
    rb.jit(f)(X)
    dead = weakref.ref(f)
    assert dead in kept_traces.of
    del f
    gc.collect()
    assert dead() is None and all(function() is not None for function in kept_traces.of)


@pytest.mark.forbidden("disable_jit")
def test_what_was_compiled_is_shared(keeping):
    f, told = counted(), []
    rb.jit(f)(X)
    first = rb.jit(f)
    assert float(first(X)) == 6 and first._cache_size() == 1
    assert rb.jit(f)._cache_size() == 1 and rb.jit(f, keep_unused=True)._cache_size() == 0
    assert rb.jit(f, donate_argnums=0)._cache_size() == 0 and rb.jit(f, static_argnums=1)._cache_size() == 0
    tree = {"x": X, "more": [X]}
    g = lambda t: (told.append(1), rb.lax.add(t["x"], t["more"][0]))[1]
    for _ in range(3):
        assert float(rb.jit(g)(tree)) == 4 == float(rb.jit(g)(t=tree))
    assert len(told) == 2
    with rb.config.override(keep_bodies=False):
        assert rb.jit(f)._cache_size() == 0


@pytest.mark.parametrize("ahead", [False, True])
def test_programs_go_with_the_function(keeping, ahead):
    def f(x):
        return rb.lax.sin(x)

    compiled = rb.jit(f).lower(X).compile() if ahead else rb.jit(f)(X)
    rb.jit(f)(X)
    dead = weakref.ref(f)
    gc.disable()
    try:
        del f
        assert dead() is None and all(function() is not None for function in kept_traces.of)
    finally:
        gc.enable()
    if ahead:  # still there, and says what it was
        assert float(compiled(X)) == float(np.sin(X))
        with pytest.raises(TypeError, match=r"locals>.f \(.*test_shared_traces.py:\d+\) takes f32"):
            compiled(np.ones(3, np.float32))
