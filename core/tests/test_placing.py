"""Where results are put: ``device_put``'s options, ``out_sharding``, tokens."""

import os
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.tree import TreeError

ROW = device_array(np.array([3.0, 1.0, 2.0], np.float32))

# With two devices, in a process of its own.
ELSEWHERE = """
import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet.trace.staging import stage
here, there = rb.devices("cpu")
x, sharding = rb.device_put(np.ones((2, 3), np.float32)), rb.device_put(1.0, there).sharding
results = [
    lax.reshape(x, (3, 2), out_sharding=sharding), lax.full((2,), 1.0, sharding=sharding),
    lax.full_like(x, 1.0, sharding=sharding), lax.reduce_sum(x, (0,), out_sharding=sharding),
    lax.dot(x, lax.transpose(x, (1, 0)), out_sharding=sharding),
    lax.reduce_max(x, (0,), out_sharding=sharding),
    lax.broadcast_in_dim(x, (2, 2, 3), (1, 2), out_sharding=sharding),
    lax.dot_general(x, x, (((1,), (1,)), ((), ())), out_sharding=sharding),
    rb.device_put(x, there, src=here, donate=True),
]
assert all(r.device is there and r.committed for r in results), [r.device for r in results]
assert not x.is_deleted() and rb.device_put((x, {"a": x}), (there, None))[1]["a"].device is here
filled = lambda x: lax.full((2,), 1.0, sharding=sharding)
for traced in (filled, lambda x: lax.reshape(x, 6, out_sharding=sharding)):
    try:
        stage(traced, [x.aval])
    except NotImplementedError as error:
        assert "asks for cpu:1 in a function that is traced" in str(error), error
    else:
        raise AssertionError("a program has no device yet")
"""


@pytest.mark.needs("cpu")
def test_results_go_where_a_sharding_says():
    env = {**os.environ, "RABBET_NUM_CPU_DEVICES": "2", "RABBET_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], env=env, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr


def test_the_memory_of_one_device():
    usual, *others = rb.devices()[0].memory_kinds()
    named = type(ROW.sharding)(ROW.device, memory_kind=usual)
    assert named == ROW.sharding and rb.device_put(ROW, named).sharding == ROW.sharding
    with pytest.raises(ValueError, match=f"no memory 'attic'; it has {usual}"):
        type(ROW.sharding)(ROW.device, memory_kind="attic")
    for other in others:
        there = type(ROW.sharding)(ROW.device, memory_kind=other)
        moved = rb.device_put(ROW, there)
        assert there != ROW.sharding and moved.sharding == there and moved.device is ROW.device
        assert (moved + 1).tolist() == (ROW + 1).tolist() and (moved + 1).sharding == moved.sharding


def test_the_device_that_an_array_is_on_fits():
    assert lax.reduce_max(ROW, (0,), out_sharding=ROW.sharding).device is ROW.device


@pytest.mark.parametrize(
    "function",
    [
        lambda s: lax.reshape(ROW, (1, 3), out_sharding=s),
        lambda s: lax.broadcasted_iota("int32", (3,), 0, out_sharding=s),
        lambda s: lax.full((3,), 1.0, sharding=s),
        lambda s: ROW.at[0].get(out_sharding=s),
        lambda s: ROW.at[0].set(2.0, out_sharding=s),
    ],
)
def test_other_shardings_are_refused(function):
    with pytest.raises(TypeError, match=r"harding.? must be None or a Sharding.*got 'all'"):
        function("all")


def test_device_put_shares_or_copies():
    def address(x):
        return x.raw.unsafe_buffer_pointer()

    assert address(rb.device_put(ROW, may_alias=True)) == address(ROW)
    copied = rb.device_put([ROW, ROW], ROW.device, may_alias=[False, None])
    assert (address(copied[0]) == address(ROW), address(copied[1]) == address(ROW)) == (False, True)
    assert np.asarray(rb.device_put(ROW, donate=True)).tolist() == [3, 1, 2] and not ROW.is_deleted()


def test_device_put_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="donate and may_alias cannot both be True"):
        rb.device_put(ROW, donate=True, may_alias=True)
    with pytest.raises(
        TypeError, match=r"src must be a Device .* got 'cpu'; it may be rb.devices\('cpu'\)\[0\]"
    ):
        rb.device_put(ROW, src="cpu")
    with pytest.raises(TreeError, match="device_put: donate is not a prefix of x"):
        rb.device_put((ROW, ROW), donate=(True,))


def test_ways_of_reading():
    assert [float(ROW.at[1].get(strategy=s)) for s in ("auto", "gather", "dynamic_slice")] == [1, 1, 1]
    with pytest.raises(ValueError, match="strategy must be one of"):
        ROW.at[1].get(strategy="guess")
