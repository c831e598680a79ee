"""Compiling ahead of the first call, several programs at a time."""

import gc
import threading
import weakref
from concurrent.futures import Future

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ConfigError
from rabbet.runtime.platforms import hook_calls

X = np.arange(3, dtype="f4")


@pytest.fixture
def threads(monkeypatch):
    """The threads on which something was compiled."""
    seen = []

    def notify(hook, **facts):
        if hook == "compile_started":
            seen.append(threading.current_thread())

    monkeypatch.setattr(hook_calls, "notify", notify)
    return seen


def functions():
    return [rb.jit(lambda x, k=k: lax.mul(lax.sin(x), k)) for k in (2.5, 3.5, 4.5)]


@pytest.mark.forbidden("disable_jit")
def test_programs_are_compiled_on_other_threads_and_remembered(threads):
    jitted = functions()
    compiled = rb.precompile([(f, (X,)) for f in jitted])
    assert len(threads) == 3
    assert threading.current_thread() not in threads
    for f, c, k in zip(jitted, compiled, (2.5, 3.5, 4.5), strict=True):
        np.testing.assert_allclose(c(X), np.sin(X) * k, rtol=1e-6)
        np.testing.assert_allclose(f(X), np.sin(X) * k, rtol=1e-6)
    assert len(threads) == 3


def test_types_suffice_and_keywords_and_stages_are_taken(threads):
    f = rb.jit(lambda x, *, n: lax.mul(x, np.float32(n)), static_argnames="n")
    shape = rb.ShapeDtypeStruct((3,), "float32")
    first, second = rb.precompile([(f, (shape,), {"n": 2}), f.lower(shape, n=3)], threads=1)
    np.testing.assert_array_equal(first(X), 2 * X)
    np.testing.assert_array_equal(second(X), 3 * X)
    before = len(threads)
    np.testing.assert_array_equal(f(X, n=3), 3 * X)
    assert len(threads) == before


def test_without_waiting_there_are_futures():
    futures = rb.precompile([(f, (X,)) for f in functions()], wait=False)
    assert all(isinstance(f, Future) for f in futures)
    np.testing.assert_allclose(futures[1].result()(X), np.sin(X) * 3.5, rtol=1e-6)


def test_nothing_to_do():
    assert rb.precompile([]) == []


def test_settings_of_this_thread_hold_on_the_others(tmp_path):
    with rb.config.override(cache_dir=str(tmp_path)):
        rb.precompile([(rb.jit(lambda x: lax.mul(lax.cos(x), 0.125)), (X,))])
    assert list(tmp_path.rglob("*.program"))


def test_what_fails_is_named():
    def wrong(x):
        return lax.reshape(x, (17,))

    with pytest.raises(Exception) as caught:
        rb.precompile([(functions()[0], (X,)), (rb.jit(wrong), (X,))])
    notes = "\n".join(caught.value.__notes__)
    assert "program 2 of 2 given to precompile" in notes and "wrong" in notes

    def refused():
        return rb.jit(lambda x: lax.neg(x), compiler_options={"xla_no_such": True})

    with pytest.raises(ConfigError) as caught:
        rb.precompile([(functions()[0], (X,)), (refused(), (X,))])
    assert "program 2 of 2" in "\n".join(caught.value.__notes__)
    with pytest.raises(ExceptionGroup, match="2 of 3 programs"):
        rb.precompile([(refused(), (X,)), (functions()[0], (X,)), (refused(), (X,))])


@pytest.mark.parametrize("entry", [len, (len, (X,)), functions()[0], (functions()[0],), (functions()[0], X)])
def test_what_is_no_program_is_refused(entry):
    with pytest.raises(TypeError, match="program 1 of 1 given to precompile must be"):
        rb.precompile([entry])


def test_a_function_alone_is_refused():
    with pytest.raises(TypeError, match=r"takes a list of .* write rb.precompile\(\[\(f, \(x, y\)\)\]\)"):
        rb.precompile(rb.jit(len))


def test_options_of_the_wrong_kind_are_refused_when_jit_is_called():
    with pytest.raises(ConfigError, match="a dict of name and value, got str"):
        rb.jit(len, compiler_options="xla_cpu_enable_fast_math")
    with pytest.raises(ConfigError, match="it is a bool, int, float or str"):
        rb.jit(len, compiler_options={"xla_dump_to": ["folder"]})


def test_stages_and_programs_keep_no_arguments():
    f = rb.jit(lambda x: lax.neg(x))
    x = rb.device_put(X)
    f(x)
    stage = f.lower(x)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None
    assert stage.args_info[0][0].shape == (3,)
