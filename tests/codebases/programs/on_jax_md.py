"""molecular dynamics: energies, forces, steps of a soft sphere gas"""

# packages: jax-md
import jax
import jax.numpy as jnp
from jax_md import energy, minimize, simulate, space

displacement, shift = space.periodic(4.0)
r = jax.random.uniform(jax.random.PRNGKey(0), (12, 2)) * 4
e = energy.soft_sphere_pair(displacement)
init, apply = minimize.fire_descent(e, shift)
s = init(r)
for _ in range(10):
    s = jax.jit(apply)(s)
i2, a2 = simulate.nve(e, shift, 1e-3)
st = i2(jax.random.PRNGKey(1), s.position, kT=0.1)
st = jax.lax.fori_loop(0, 5, lambda i, st: a2(st), st)
print(
    float(e(r)), float(e(s.position)), float(jnp.abs(jax.grad(e)(r)).sum()), float(jnp.abs(st.momentum).sum())
)
