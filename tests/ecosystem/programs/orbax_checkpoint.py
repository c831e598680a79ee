"""Orbax: a training that is stopped, saved, and goes on from its checkpoint."""

import pathlib
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp

x = jnp.linspace(-1.0, 1.0, 16)[:, None]
optimizer = optax.adam(1e-1)
params = {"w": jnp.zeros((1, 1)), "b": jnp.zeros(1)}


@jax.jit
def step(params, state):
    grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - 2 * x + 1) ** 2))(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state


state = optimizer.init(params)
for _ in range(20):
    params, state = step(params, state)
with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder) / "checkpoint"
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(place, {"params": params, "state": state})
        checkpointer.wait_until_finished()
        target = jax.tree.map(jnp.zeros_like, {"params": params, "state": state})
        restored = checkpointer.restore(place, target)
    with ocp.CheckpointManager(
        pathlib.Path(folder) / "many", options=ocp.CheckpointManagerOptions(max_to_keep=2)
    ) as many:
        for count in range(3):
            added = {name: param + count for name, param in params.items()}
            many.save(count, args=ocp.args.StandardSave(added))
        many.wait_until_finished()
        latest, kept = many.latest_step(), many.all_steps()
        second = many.restore(latest, args=ocp.args.StandardRestore(params))
same = all(
    np.array_equal(a, b)
    for a, b in zip(jax.tree.leaves(restored["params"]), jax.tree.leaves(params), strict=True)
)
params, state = restored["params"], restored["state"]
for _ in range(20):
    params, state = step(params, state)
print(int(same), float(params["w"][0, 0]), float(params["b"][0]), latest, len(kept), float(second["b"][0]))
