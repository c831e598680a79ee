"""buffers of items and of trajectories"""

# packages: flashbax
import flashbax as fbx
import jax
import jax.numpy as jnp

buffer = fbx.make_flat_buffer(max_length=16, min_length=2, sample_batch_size=4)
state = buffer.init({"o": jnp.zeros(2)})
for i in range(6):
    state = jax.jit(buffer.add)(state, {"o": jnp.full(2, float(i))})
batch = jax.jit(buffer.sample)(state, jax.random.PRNGKey(0))
pr = fbx.make_prioritised_flat_buffer(16, 2, 4)
s2 = pr.init({"o": jnp.zeros(2)})
for i in range(6):
    s2 = pr.add(s2, {"o": jnp.full(2, float(i))})
b2 = pr.sample(s2, jax.random.PRNGKey(1))
s2 = pr.set_priorities(s2, b2.indices, jnp.arange(4.0) + 1)
print(
    *map(float, batch.experience.first["o"][:, 0]),
    *map(float, b2.experience.first["o"][:, 0]),
    *map(float, b2.probabilities),
    int(buffer.can_sample(state)),
)
