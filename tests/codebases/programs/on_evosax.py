"""CMA-ES and a population method on a sphere"""

# packages: evosax
import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES

print_these = []
for make in (CMA_ES,):
    es = make(population_size=8, solution=jnp.zeros(3))
    p = es.default_params
    key = jax.random.key(0)
    s = es.init(key, jnp.ones(3), p)
    for i in range(5):
        k = jax.random.fold_in(key, i)
        x, s = es.ask(k, s, p)
        s, m = es.tell(k, x, jnp.sum((x - 0.5) ** 2, 1), s, p)
    print_these += [float(m["best_fitness"]), float(s.mean.sum())]
print(*print_these)
