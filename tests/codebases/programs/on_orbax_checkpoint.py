"""a checkpoint saved and restored, and the manager"""

# packages: orbax-checkpoint
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

folder = (
    ocp.test_utils.erase_and_create_empty(tempfile.mkdtemp() + "/c")
    if hasattr(ocp, "test_utils")
    else tempfile.mkdtemp()
)
tree = {"w": jnp.arange(6.0).reshape(2, 3), "n": 3, "deep": [jnp.ones(2, jnp.bfloat16)]}
with ocp.StandardCheckpointer() as saver:
    saver.save(f"{folder}/one", tree)
    saver.wait_until_finished()
    back = saver.restore(f"{folder}/one", jax.tree.map(lambda x: x, tree))
with ocp.CheckpointManager(f"{folder}/many", options=ocp.CheckpointManagerOptions(max_to_keep=2)) as manager:
    for step in range(3):
        manager.save(step, args=ocp.args.StandardSave({"x": jnp.full(2, step * 1.0)}))
    manager.wait_until_finished()
    steps = manager.all_steps()
    last = manager.restore(manager.latest_step())
print(
    float(np.sum(back["w"])),
    float(back["n"]),
    float(np.sum(back["deep"][0])),
    *map(float, steps),
    float(last["x"][0]),
)
