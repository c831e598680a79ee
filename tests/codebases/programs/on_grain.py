"""batches of a pipeline into a jitted function"""

# packages: grain
import grain
import jax
import numpy as np

data = (
    grain.MapDataset.source([{"x": np.full(3, i, np.float32)} for i in range(12)])
    .shuffle(seed=1)
    .map(lambda d: {"x": d["x"] * 2})
    .batch(4)
)
f = jax.jit(lambda b, k: (b["x"] * jax.random.uniform(k, (3,))).sum())
print(*(float(f(b, jax.random.key(i))) for i, b in enumerate(data)), len(data))
