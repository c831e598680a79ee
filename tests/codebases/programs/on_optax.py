"""a chain of transformations, schedules, LBFGS with line search"""

# packages: optax
import jax
import jax.numpy as jnp
import optax


def f(p):
    return jnp.sum((p["w"] - jnp.arange(3.0)) ** 4) + jnp.sum(p["b"] ** 2)


p = {"w": jnp.ones(3), "b": jnp.full(2, 2.0)}
tx = optax.chain(
    optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(0.1, 20)), optax.ema(0.9)
)
state = tx.init(p)


@jax.jit
def step(p, state):
    updates, state = tx.update(jax.grad(f)(p), state, p)
    return optax.apply_updates(p, updates), state


for _ in range(20):
    p, state = step(p, state)
solver = optax.lbfgs()
q = {"w": jnp.ones(3), "b": jnp.full(2, 2.0)}
s = solver.init(q)
vg = optax.value_and_grad_from_state(f)
for _ in range(5):
    value, grad = vg(q, state=s)
    u, s = solver.update(grad, s, q, value=value, grad=grad, value_fn=f)
    q = optax.apply_updates(q, u)
print(float(f(p)), *map(float, p["w"]), float(f(q)))
