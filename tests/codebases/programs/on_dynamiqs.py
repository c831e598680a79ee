"""a driven oscillator by a solver of Schrodinger's equation"""

# packages: dynamiqs
import dynamiqs as dq
import jax.numpy as jnp

n = 6
a = dq.destroy(n)
number = dq.dag(a) @ a
h = number + 0.3 * (a + dq.dag(a))
out = dq.sesolve(h, dq.fock(n, 0), jnp.linspace(0, 1.0, 3), exp_ops=[number], progress_meter=False)
print(*map(float, out.expects[0].real))
