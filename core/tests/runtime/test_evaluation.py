"""Eager operations of one array that are executed in one frame: when they are, and when not."""

import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import DeletedArrayError
from rabbet.extend.functions import eager_unary
from rabbet.runtime import evaluation
from rabbet.trace.staging import stage


@pytest.fixture(autouse=True)
def nobody_has_set_a_default_device(monkeypatch):
    """As in most processes: once somebody has, programs of uncommitted arrays ask where to run."""
    monkeypatch.setattr(evaluation, "_moves", False)
    lax.neg.forget_placements()


@pytest.fixture
def asked():
    """What ``otherwise`` was called with."""
    return []


@pytest.fixture
def negated(asked):
    def otherwise(x):
        asked.append(x)
        return lax.neg(x)

    return eager_unary(lax.neg.op(), "f", otherwise)


def test_an_operation_that_was_seen_before_is_executed_at_once(negated, asked):
    x = rb.device_put(np.float32([1, -2]))
    assert negated(x).tolist() == [-1, 2] and len(asked) <= 1
    del asked[:]
    out = negated(x)
    assert not asked and out.tolist() == [-1, 2]
    assert type(out) is rb.Array and out.aval is x.aval and out.committed == x.committed


def test_other_kinds_and_what_is_no_array_go_the_long_way(negated, asked):
    integers = rb.device_put(np.int32([1, 2]))
    lax.neg(integers)
    for x in (integers, 2.5, np.float32(1)):
        np.testing.assert_array_equal(negated(x), -np.asarray(x))
        assert asked.pop() is x


def test_a_transformation_is_asked(negated, asked):
    x = rb.device_put(np.float32([1, -2]))
    negated(x)
    del asked[:]
    program = stage(lambda: [negated(x)], [])
    assert len(asked) == 1 and [e.op.primitive for e in program.jaxpr.equations] == [lax.neg]


def test_a_deleted_array_is_named(negated):
    x = rb.device_put(np.float32([1, -2]))
    negated(x)
    x.delete()
    with pytest.raises(DeletedArrayError, match="f32"):
        negated(x)


def test_threads_and_forgotten_programs(negated, asked):
    x = rb.device_put(np.float32([1, -2]))
    negated(x)
    out = []
    thread = threading.Thread(target=lambda: out.append(negated(x).tolist()))
    thread.start()
    thread.join()
    assert out == [[-1, 2]]
    rb.clear_caches()
    del asked[:]
    assert negated(x).tolist() == [-1, 2] and len(asked) == 1


def test_results_are_checked_where_that_is_asked_for():
    log = eager_unary(lax.log.op(), "f", lax.log)
    x = rb.device_put(np.float32([-1]))
    assert np.isnan(log(x)).all() and np.isnan(log(x)).all()
    with rb.debug_nans(True), pytest.raises(FloatingPointError, match="'log'"):
        log(x)
