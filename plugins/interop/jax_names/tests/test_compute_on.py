"""compute_on: operations that run on the host of an accelerator say so; values stay what they are."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import ConfigError

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "grad")
X = np.arange(4, dtype=np.float32)
MARK = '_xla_compute_type = "host"'


def on_host(**options):
    from rabbet.experimental.compute_on import compute_on

    return compute_on(lambda x: rb.numpy.sin(x) * 2, compute_type="device_host", **options)


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_operations_say_where_they_run(platform):
    f = lambda x: on_host()(x) + 1
    text = rb.jit(f).trace(X).lower(platform=platform).as_text()
    lines = text.splitlines()
    assert all(MARK in line for line in lines if "sine" in line or "multiply" in line)
    assert not any(MARK in line for line in lines if "stablehlo.add" in line)


def test_values_and_gradients():
    f = lambda x: on_host(out_memory_spaces=rb.memory.Space.Device)(x) + 1
    want = 2 * np.sin(X) + 1
    np.testing.assert_allclose(f(X), want, rtol=1e-6)
    np.testing.assert_allclose(rb.jit(f)(X), want, rtol=1e-6)
    np.testing.assert_allclose(rb.grad(lambda x: f(x).sum())(X), 2 * np.cos(X), rtol=1e-6)


def test_an_optimizer_in_the_memory_of_the_host():
    """What is kept there is computed with there, and only what the device needs comes back."""
    host, device = rb.memory.Space.Host, rb.memory.Space.Device
    from rabbet.experimental.compute_on import compute_on

    def step(m, g):
        updated = compute_on(lambda m, g: 0.9 * m + g, compute_type="device_host")
        m = updated(rb.device_put(m, host), rb.device_put(g, host))
        return m, rb.device_put(m, device)

    text = rb.jit(step).trace(X, X).lower(platform="tpu").as_text()
    assert text.count("annotate_device_placement") == 3 and MARK in text
    m, update = rb.jit(step)(X, X)
    np.testing.assert_allclose(update, 1.9 * X, rtol=1e-6)
    assert m.sharding.memory_kind == "pinned_host"


def test_as_a_block_and_refusals():
    from rabbet.experimental.compute_on import compute_on

    def f(x):
        with compute_on("device_host"):
            y = x * 2
        return y + 1

    assert MARK in rb.jit(f).trace(X).lower(platform="tpu").as_text()
    with pytest.raises(ConfigError, match="no type 'moon'"):
        compute_on(lambda x: x, compute_type="moon")(X)
    with pytest.raises(ConfigError, match="give compute_type"):
        compute_on(lambda x: x)
