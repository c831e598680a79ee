"""What there is once of each kind is kept as long as somebody holds it, and not forever."""

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.primitive import ShapedArray, reduce_sum
from rabbet.messages import source_positions
from rabbet.program import avals
from rabbet.program.interned import Alive, interned
from rabbet.runtime import array_parts
from rabbet.runtime.arrays import placement as placements
from rabbet.runtime.arrays import sharding
from rabbet.runtime.platforms import device_groups


class Thing:
    pass


def test_one_object_while_anybody_holds_it():
    make = interned(2)(lambda name: Thing())
    first = make("a")
    for name in "bcd":  # it is no longer among the last two
        make(name)
    assert make("a") is first
    for name in "bcd":
        make(name)
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None


def test_threads_that_make_one_at_a_time_get_the_same():
    alive, barrier, found = Alive(), threading.Barrier(8), []

    def ask(thing):
        barrier.wait()
        found.append(alive.only("key", thing))

    threads = [threading.Thread(target=ask, args=(Thing(),)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1


def test_types_of_arrays_are_one_object_after_many_others():
    held = ShapedArray((5, 7), "float32")
    for size in range(avals.MOST_AVALS + 10):
        ShapedArray((size, 9191), "float32")
    assert ShapedArray((5, 7), np.dtype("float32")) is held


def test_types_of_arrays_that_nobody_holds_are_forgotten():
    for size in range(3 * avals.MOST_AVALS):
        ShapedArray((size, 9192), "float32")
    gc.collect()
    assert len(avals._interned) <= avals.MOST_AVALS
    assert len(avals._alive.objects) < 2 * avals.MOST_AVALS


def test_an_array_finds_its_program_after_many_places():
    x = rb.device_put(np.zeros((3, 9193), np.float32))
    neg = lax.neg.op()
    neg(x)
    programs = len(neg.programs)
    host = np.zeros((placements.MOST_PLACEMENTS + 10, 1), np.int8)
    for size in range(len(host)):
        rb.device_put(host[:size])
    y = rb.device_put(np.zeros((3, 9193), np.float32))
    assert y.spec is x.spec
    neg(y)
    assert len(neg.programs) == programs


@pytest.mark.parametrize(
    "cached",
    [placements.placement, placements.spread_placement, sharding.raw_sharding, device_groups.device_group],
)
def test_what_is_known_of_places_has_a_bound(cached):
    assert cached.cache_info().maxsize <= 4096


def test_an_operator_forgets_types_past_a_bound(monkeypatch):
    monkeypatch.setattr("rabbet.rules.operator.MOST_OUTS", 10)
    op = reduce_sum.op(axes=(1,))
    for size in range(100):
        assert op.out((ShapedArray((size, 9194), "float32"),)).shape == (size,)
    assert len(op._outs) <= 10


@pytest.mark.needs("cpu")
def test_programs_that_bring_arrays_to_other_layouts_have_a_bound(monkeypatch):
    monkeypatch.setattr(array_parts, "MOST_RELAYERS", 4)
    array_parts.forget_relayers()
    layout = sharding.EverywhereSharding(rb.extend.sharding.device_group((rb.devices()[0],)))
    for size in range(1, 12):
        array_parts.relaid(rb.device_put(np.zeros(size, np.float32), layout), layout)
    assert 0 < len(array_parts._relayers) <= 4


def test_files_of_frames_have_a_bound(monkeypatch):
    monkeypatch.setattr(source_positions, "MOST_VERDICTS", 10)
    for cell in range(100):
        assert not source_positions.is_internal(f"/notebook/cell-{cell}")
    assert 0 < len(source_positions._verdicts) <= 10
    assert source_positions.is_internal(rb.__file__)


KEYS = """
class Key:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        return isinstance(other, Key) and self is other
"""
AT_EXIT = """
import sys
import types

class Thing:
    pass

sys.modules["holder"] = holder = types.ModuleType("holder")
import keys
from rabbet.program.interned import Alive

holder._things, holder.alive = [Thing(), Thing(), Thing()], Alive()  # goes after `keys`, in this order
for thing in holder._things:
    holder.alive.only(keys.Key(), thing)
sys.kept = holder, keys  # a module that nobody has is not taken down: its functions keep their names
del thing
"""


def test_things_that_die_while_modules_are_taken_down_compare_no_keys(tmp_path):
    (tmp_path / "keys.py").write_text(KEYS)
    done = subprocess.run([sys.executable, "-c", AT_EXIT], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
