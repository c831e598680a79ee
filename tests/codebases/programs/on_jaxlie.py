"""rotations and poses, logarithms, a derivative on the manifold"""

# packages: jaxlie
import jax.numpy as jnp
import jaxlie

t = jaxlie.SE3.exp(jnp.array([0.1, 0.2, 0.3, 0.4, -0.5, 0.6]))
r = jaxlie.SO3.from_rpy_radians(0.1, 0.2, 0.3)
g = jaxlie.manifold.grad(lambda r: (r @ jnp.array([1.0, 2.0, 3.0]))[0])(r)
print(
    *map(float, t.log()),
    *map(float, (t.inverse() @ t).as_matrix().ravel()[:4]),
    *map(float, g),
    *map(float, r.wxyz),
)
