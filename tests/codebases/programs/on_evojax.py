"""PGPE on a sphere"""

# packages: evojax
import jax.numpy as jnp
from evojax.algo import PGPE

solver = PGPE(pop_size=8, param_size=3, optimizer="adam", seed=1)
for _ in range(5):
    x = solver.ask()
    solver.tell(-jnp.sum((x - 0.5) ** 2, 1))
print(*map(float, solver.best_params))
