"""spherical harmonics, tensor products, equivariance"""

# packages: e3nn-jax
import e3nn_jax as e3nn
import jax
import jax.numpy as jnp

x = jax.random.normal(jax.random.PRNGKey(0), (4, 3))
sh = e3nn.spherical_harmonics("0e+1o+2e", e3nn.IrrepsArray("1o", x), True)
tp = e3nn.tensor_product(sh, sh, filter_ir_out=["0e", "1o"])
D = e3nn.Irreps("1o").D_from_angles(0.1, 0.2, 0.3)
print(
    float(sh.array.sum()),
    float(jnp.abs(tp.array).sum()),
    *map(float, D.ravel()[:4]),
    float(e3nn.norm(sh).array.sum()),
)
