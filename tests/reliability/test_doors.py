"""Doors to other libraries and to files: given arrays that are gone, and interrupted at any moment."""

import pytest

pytestmark = pytest.mark.needs("cpu", "jit", "numpy")

# An array that was deleted, and one that was donated.
GONE = """
from rabbet.errors import DeletedArrayError
def deleted():
    x = rnp.arange(6.0)
    x.delete()
    return x
def donated():
    x = rnp.arange(6.0)
    rb.jit(lambda a: a + 1, donate_argnums=0)(x)
    return x
def refused(*doors):
    for make in (deleted, donated):
        for n, door in enumerate(doors):
            try:
                door(make())
            except DeletedArrayError:
                continue
            raise AssertionError((make.__name__, n))
    print("done")
"""

# Raises KeyboardInterrupt after a while, which is another one each time.
INTERRUPTED = """
import random, signal, time
def stop(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
def interrupted(act, rounds, longest):
    seen = 0
    for n in range(rounds):
        try:
            # Again each second: NumPy drops a signal that comes just as it asks an array for its values.
            signal.setitimer(signal.ITIMER_REAL, longest * (n + 1) / rounds, 1.0)
            act(n)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            seen += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert seen, "no round was interrupted"
"""


def test_exported_programs_refuse_arrays_that_are_gone(child):
    pytest.importorskip("rabbet.export")
    assert "done" in child(
        GONE
        + """
from rabbet import export
like = rb.ShapeDtypeStruct((6,), "float32")
twice = export.export(rb.jit(lambda x: x * 2))(like)
again = export.deserialize(twice.serialize())
refused(
    twice.call, again.call, lambda x: rb.jit(twice.call)(x),
    lambda x: export.export(rb.jit(lambda y: y * x))(like),
)
assert twice.call(rnp.ones(6)).tolist() == again.call(rnp.ones(6)).tolist() == [2.0] * 6
"""
    )


def test_files_of_tensors_refuse_arrays_that_are_gone_and_leave_no_file(child):
    pytest.importorskip("rabbet.safetensors")
    pytest.importorskip("rabbet.store")
    assert "done" in child(
        GONE
        + """
import os
from rabbet import safetensors, store
checkpoints = store.Checkpoints("steps")
refused(
    lambda x: safetensors.dumps({"x": x}), lambda x: safetensors.save({"x": x}, "x.safetensors"),
    lambda x: checkpoints.save(1, {"x": x, "y": np.ones(3, np.float32)}, wait=True),
)
assert checkpoints.steps() == [] and not os.path.exists("x.safetensors"), os.listdir()
checkpoints.save(1, {"x": rnp.ones(3)}, wait=True)
assert checkpoints.load()["x"].tolist() == [1.0] * 3
"""
    )


def test_pytorch_refuses_arrays_that_are_gone_and_its_tensors_stay(child):
    pytest.importorskip("torch")
    pytest.importorskip("rabbet.torch")
    assert "done" in child(
        GONE
        + """
import torch
from rabbet.torch import as_torch, from_torch, to_torch
refused(
    to_torch, torch.from_dlpack, lambda x: as_torch(lambda y: x * y)(torch.ones(6)),
    lambda x: as_torch(rb.jit(lambda y: x * y))(torch.ones(6)),
)
for lose in (lambda x: x.delete(), lambda x: rb.jit(lambda a: a + 1, donate_argnums=0)(x)):
    x = rnp.arange(100_000.0)
    tensor = to_torch(x)
    lose(x)
    others = [rnp.zeros(100_000) + i for i in range(8)]
    assert tensor[-1] == 99_999 and tensor.sum() > 0
    x = torch.arange(100_000.0)
    lose(from_torch(x))
    assert x[-1] == 99_999
"""
    )


def test_onnx_refuses_constants_that_are_gone(child):
    pytest.importorskip("onnx")
    pytest.importorskip("rabbet.onnx")
    assert "done" in child(
        GONE
        + """
from rabbet import onnx
like = rb.ShapeDtypeStruct((6,), "float32")
refused(lambda x: onnx.export(lambda y: x * y, like), lambda x: onnx.export(rb.jit(lambda y: x * y), like))
"""
    )


def test_a_checkpoint_that_is_interrupted_is_whole_or_none(child):
    pytest.importorskip("rabbet.store")
    assert "done" in child(
        INTERRUPTED
        + """
from rabbet import store
checkpoints = store.Checkpoints("steps")
state = {"w": rnp.ones((256, 1024)), "b": [rnp.zeros(10) for _ in range(20)]}
start = time.perf_counter()
checkpoints.save(0, state, wait=True)
took = time.perf_counter() - start
def save(n):
    checkpoints.save(n + 1, rb.tree.map(lambda x: x + n + 1, state), wait=True)
interrupted(save, 20, 2 * took)
try:
    checkpoints.wait()
except store.CheckpointError:
    pass
for step in checkpoints.steps():
    found = checkpoints.load(step)
    assert (np.asarray(found["w"]) == 1 + step).all() and (np.asarray(found["b"][19]) == step).all(), step
checkpoints.save(1000, state, wait=True)
assert checkpoints.latest() == 1000 and (np.asarray(checkpoints.load()["w"]) == 1).all()
print("done")
"""
    )


def test_compiled_functions_that_are_interrupted_work_on(child):
    assert "done" in child(
        INTERRUPTED
        + """
x = rnp.ones((64, 64))
long = rb.jit(lambda x: lax.fori_loop(0, 300, lambda i, x: lax.tanh(x @ x), x)).lower(x).compile()
def loop(x):
    return lax.while_loop(lambda s: s[0] < 300, lambda s: (s[0] + 1, lax.tanh(s[1] @ s[1])), (0, x))[1]
asked = rb.jit(loop).lower(x).compile()
donating = rb.jit(lambda x: lax.tanh(x @ x), donate_argnums=0).lower(x).compile()
for call in (long, asked, lambda x: donating(x + 0)):
    wanted = np.asarray(call(x))
    def many(n):
        while True:
            np.asarray(call(x))
    interrupted(many, 20, 0.05)
    assert (np.asarray(call(x)) == wanted).all()
print("done")
"""
    )


def test_calls_through_pytorch_that_are_interrupted_work_on(child):
    pytest.importorskip("torch")
    pytest.importorskip("rabbet.torch")
    assert "done" in child(
        INTERRUPTED
        + """
import torch
from rabbet.torch import as_torch
step = as_torch(rb.jit(lambda w, x: rnp.tanh(x @ w).sum()))
w, x = torch.full((64, 64), 0.01, requires_grad=True), torch.ones(64, 64)
def gradient():
    w.grad = None
    step(w, x).backward()
    return w.grad.clone()
wanted = gradient()
def many(n):
    while True:
        gradient()
interrupted(many, 20, 0.05)
assert torch.equal(gradient(), wanted)
print("done")
"""
    )
