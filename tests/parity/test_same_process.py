"""Rabbet and jax in one process, in either order: neither notices the other.

jax rewrites some of jaxlib's classes when it is imported, and Rabbet uses these classes. Each order runs in
a process of its own.
"""

import subprocess
import sys

import pytest

pytest.importorskip("jax")

USE_RABBET = """
import numpy as np
import rabbet as rb
x = rb.device_put(np.arange(4, dtype=np.float32))
assert np.asarray(x * x + 1).tolist() == [1, 2, 5, 10]
assert rb.device_put(np.arange(3)).dtype == np.int32
assert float(x[2] if hasattr(x, '__getitem__') else 2.0) == 2.0
assert type(x).__module__.startswith('rabbet')
assert x.device.platform == 'cpu' and x.device.memory_kinds()[0] == 'device'
assert rb.devices()[0].sharding.memory_kind in (None, 'device')
"""
USE_JAX = """
import numpy as np
import jax, jax.numpy as jnp
assert not jax.config.jax_enable_x64
y = jax.jit(lambda v: jnp.linalg.cholesky(v @ v.T + jnp.eye(3)))(jnp.ones((3, 3)))
assert y.dtype == jnp.float32 and y.shape == (3, 3) and y.sharding.memory_kind is not None
assert jnp.arange(3).sum() == 3 and jnp.arange(3).dtype == jnp.int32
assert jax.tree.leaves({'b': 1, 'a': None, 'c': [2, 3]}) == [1, 2, 3]
assert jax.grad(lambda v: jnp.sin(v).sum())(jnp.zeros(2)).tolist() == [1, 1]
"""
ORDERS = {
    "jax first": [USE_JAX, USE_RABBET, USE_JAX, USE_RABBET],
    "rabbet first": [USE_RABBET, USE_JAX, USE_RABBET, USE_JAX],
    "jax imported only": ["import jax", USE_RABBET, USE_JAX],
    "caches cleared": [USE_RABBET, USE_JAX, "jax.clear_caches(); rb.clear_caches()", USE_RABBET, USE_JAX],
}
EXCHANGE = """
import jax, jax.numpy as jnp, numpy as np, rabbet as rb
from rabbet.runtime.transfer import from_dlpack
x = rb.device_put(np.arange(1024, dtype=np.float32))
theirs = jax.dlpack.from_dlpack(x)
assert theirs.tolist() == list(range(1024))
assert jnp.asarray(x).sum() == 1023 * 512
back = from_dlpack(jnp.arange(1024.0) * 2)
assert np.asarray(back + x).tolist() == [3.0 * i for i in range(1024)]
half = from_dlpack(jnp.ones(3, jnp.bfloat16))
assert np.asarray(half).astype(float).tolist() == [1, 1, 1]
assert not isinstance(x, jax.Array)
"""
UNCHANGED = """
import jaxlib._jax as raw
import jaxlib.xla_client
def surface():
    classes = [v for v in vars(raw).values() if isinstance(v, type)]
    return {c.__name__: {n: id(v) for n, v in vars(c).items()} for c in classes}
before = surface()
import numpy as np
import rabbet as rb
x = rb.device_put(np.ones(3, np.float32))
assert np.asarray(x + x).tolist() == [2, 2, 2]
after = surface()
assert before == after, [n for n in before if before[n] != after.get(n)]
"""


def run(script):
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.narrow
def test_both_work_in_any_order(order):
    run("\n".join(ORDERS[order]))


@pytest.mark.parametrize("first", ["import jax", "import rabbet"])
def test_arrays_are_exchanged_without_either_noticing(first):
    run(first + EXCHANGE)


def test_rabbet_changes_no_class_of_jaxlib():
    run(UNCHANGED)
