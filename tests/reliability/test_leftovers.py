"""What does not grow with the number of calls: functions that died, and what jaxlib puts aside."""

import gc
import sys
import weakref

import numpy as np
import pytest
import rabbet as rb
from rabbet.extend.backend import free_leftovers
from rabbet.extend.functions import on_clear_caches
from rabbet.extend.wrapping import is_internal

X = np.float32([1.0, 2.0])


def objects_after(calls, f):
    """How many more objects there are after so many calls."""
    for _ in range(5):
        f()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(calls):
        f()
    gc.collect()
    return len(gc.get_objects()) - before


@pytest.mark.needs("jit", "grad", "pmap")
@pytest.mark.parametrize(
    "make",
    [
        lambda: rb.jit(lambda x: x * 2),
        lambda: rb.grad(rb.jit(lambda x: (x * x).sum())),
        lambda: rb.pmap(lambda x: x * 2),
    ],
    ids=["jit", "grad", "pmap"],
)
def test_functions_that_died_leave_nothing(make):
    x = rb.device_put(X[:1])
    assert objects_after(60, lambda: make()(x)) < 60


def test_what_died_is_not_told():
    class Owner:
        cleared = 0

        def clear(self):
            self.cleared += 1

    owner, told = Owner(), []
    on_clear_caches(Owner.clear, of=owner)
    on_clear_caches(lambda owner: told.append(1), of=owner)
    rb.clear_caches()
    assert owner.cleared == len(told) == 1
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None
    rb.clear_caches()
    assert len(told) == 1


@pytest.mark.needs("cpu")
def test_what_jaxlib_put_aside_goes_with_garbage():
    """Memory in Python's own allocator, of which each run of a program leaves a call stack."""
    x = rb.device_put(X)
    for _ in range(100):
        x = -x
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(3000):
        x = -x
    gc.collect()
    assert sys.getallocatedblocks() - before < 1000


@pytest.mark.needs("cpu")
def test_no_signal_is_handled_where_garbage_is_collected():
    """Python drops what is raised there: Ctrl-C was lost that came while garbage was collected."""
    rb.device_put(X)
    begun = []
    sys.setprofile(lambda frame, event, argument: begun.append(frame.f_code) if event == "call" else None)
    try:
        gc.collect()
    finally:
        sys.setprofile(None)
    assert [code for code in begun if is_internal(code.co_filename)] == []


@pytest.mark.needs("cpu")
def test_what_jaxlib_put_aside_can_be_freed():
    x = rb.device_put(X)
    for _ in range(100):
        x = -x
    free_leftovers()
    before = sys.getallocatedblocks()
    for _ in range(3000):
        x = -x
    free_leftovers()
    assert sys.getallocatedblocks() - before < 1000
