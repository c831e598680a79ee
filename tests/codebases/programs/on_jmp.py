"""mixed precision with a loss scale"""

# packages: jmp
import jax
import jax.numpy as jnp
import jmp

policy = jmp.get_policy("params=float32,compute=bfloat16,output=float32")
scale = jmp.DynamicLossScale(jnp.float32(2**10), period=2)
p = {"w": jnp.arange(3.0)}


@jax.jit
def step(p, scale):
    g = jax.grad(lambda p: scale.scale(policy.cast_to_output((policy.cast_to_compute(p)["w"] ** 2).sum())))(p)
    g = scale.unscale(g)
    finite = jmp.all_finite(g)
    return jmp.select_tree(finite, jax.tree.map(lambda a, b: a - 0.1 * b, p, g), p), scale.adjust(finite)


for _ in range(4):
    p, scale = step(p, scale)
print(*map(float, p["w"]), float(scale.loss_scale))
