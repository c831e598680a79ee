"""SciPy's functions for the array API standard, on JAX's arrays and inside jit."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import jax
import jax.numpy as jnp
from scipy import fft, signal, special, stats
from scipy.spatial.transform import Rotation

jax.config.update("jax_enable_x64", True)
x = jnp.linspace(0.1, 2.0, 24).reshape(4, 6)
numbers = [
    special.logsumexp(x, axis=1).sum(),
    jax.jit(special.log_softmax)(x)[0, 0],
    special.gammainc(x, 1.5).sum(),
    jnp.abs(fft.rfft(x)).sum(),
    signal.hilbert(x).imag[1, 2],
    jax.jit(lambda x: stats.zscore(x, axis=0))(x).std(),
    stats.pearsonr(x[0], x[1] ** 2).statistic,
    Rotation.from_rotvec(x[0, :3]).apply(x[1, :3]).sum(),
]
assert all(isinstance(n, jax.Array) for n in numbers)
print(*map(float, numbers))
