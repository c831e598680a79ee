"""Memory that runs out: what is said, what is freed, and that the process goes on."""

import gc

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import OutOfMemoryError
from rabbet.runtime.arrays import callback_errors, memory_exhausted, values
from rabbet.runtime.jaxlib import adapter, raw_values

pytestmark = pytest.mark.needs("cpu")


def xla_error(text):
    return adapter.XlaRuntimeError(text)


@pytest.mark.parametrize(
    "said,wanted",
    [
        ("RESOURCE_EXHAUSTED: Out of memory allocating 1099511627776 bytes.", "1.0 TiB"),
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 64.00GiB.", "64.00GiB"),
        ("RESOURCE_EXHAUSTED: Attempting to allocate 96.00G. That was not possible.", "96.00G"),
        ("INTERNAL: Error preparing computation: Out of memory allocating 512 bytes.", "512 B"),
        ("RESOURCE_EXHAUSTED: the allocator gave up", "the allocator gave up"),
    ],
)
def test_the_words_of_the_runtime_are_understood(said, wanted):
    error = xla_error(said)
    assert memory_exhausted.is_exhausted(error)
    message = str(memory_exhausted.explained(error, "testing", []))
    assert message.startswith("out of memory while testing: ") and wanted in message.splitlines()[0]


def test_other_errors_are_left_alone():
    assert not memory_exhausted.is_exhausted(xla_error("INVALID_ARGUMENT: no such thing"))
    assert not memory_exhausted.is_exhausted(ValueError("out of memory"))
    assert callback_errors.out_of_memory(ValueError()) is None


def test_a_program_that_wants_too_much_is_named_with_what_lives(monkeypatch):
    device = rb.devices("cpu")[0]
    kept = [rb.device_put(np.ones((700, 110), "f4"), device) for _ in range(3)]
    with pytest.raises(OutOfMemoryError) as caught:
        lax.broadcast(rb.device_put(np.float32(1), device), (1 << 48,))
    message = str(caught.value)
    assert "while running 'broadcast_in_dim': 1024.0 TiB could not be allocated" in message
    assert f"on {device}" in message and "3 x float32[700, 110]" in message
    assert "test_memory_exhausted.py" in message  # the line that makes the array
    assert isinstance(caught.value, MemoryError) and caught.value.__cause__ is None
    assert float(kept[0][0, 0]) == 1.0
    assert lax.add(kept[0], kept[1]).shape == (700, 110)


def test_arrays_in_cycles_are_freed_and_the_program_is_tried_again():
    device = rb.devices("cpu")[0]
    gc.disable()
    try:
        cycle = [rb.device_put(np.ones(1000, "f4"), device)]
        cycle.append(cycle)
        del cycle
        error = xla_error("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.")
        assert memory_exhausted.made_room(error, device)
        assert not memory_exhausted.made_room(error, device)
        assert not memory_exhausted.made_room(xla_error("INTERNAL: another one"), device)
    finally:
        gc.enable()


class Elsewhere:
    """A device that is none of those that an array is on."""

    is_local = True

    def __init__(self, device):
        self.sharding, self.raw = device.sharding, device.raw
        self.platform, self.client = device.platform, device.client


def test_copies_and_results_that_come_late(monkeypatch):
    def fail(*args, **kwargs):
        raise xla_error("RESOURCE_EXHAUSTED: Out of memory allocating 4096 bytes.")

    x = rb.device_put(np.ones(3, "f4"))
    with pytest.raises(OutOfMemoryError, match=r"computing or copying an array: 4\.0 KiB could not"):
        callback_errors.translated(fail)
    second = rb.devices("cpu")[-1]
    monkeypatch.setattr(raw_values, "copy_to_device", fail)
    with pytest.raises(OutOfMemoryError, match=r"4\.0 KiB could not"):
        values.copy_to_device(x, Elsewhere(second), True)
    rb.device_put(np.ones(5, "f4"))
    monkeypatch.setattr(adapter, "batched_device_put", fail)
    for shape in [(5,), (5, 3, 1, 1, 2)]:  # one that was put there before, and one that was not
        with pytest.raises(OutOfMemoryError, match=r"4\.0 KiB could not be allocated\n  on cpu:0"):
            rb.device_put(np.ones(shape, "f4"))
    assert x.tolist() == [1, 1, 1]
