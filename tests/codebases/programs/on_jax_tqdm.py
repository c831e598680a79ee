"""a progress bar in a scan"""

# packages: jax-tqdm
import jax
import jax.numpy as jnp
from jax_tqdm import scan_tqdm


@scan_tqdm(10)
def body(c, i):
    return c + i, c


out, ys = jax.jit(lambda: jax.lax.scan(body, 0, jnp.arange(10)))()
print(float(out), float(ys.sum()))
