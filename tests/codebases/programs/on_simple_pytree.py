"""a class that is a tree"""

# packages: simple-pytree
import jax
import jax.numpy as jnp
from simple_pytree import Pytree, static_field


class Foo(Pytree):
    y: int = static_field()

    def __init__(self, x, y):
        self.x, self.y = x, y


f = Foo(jnp.arange(3.0), 2)
print(*map(float, jax.jit(lambda f: jax.tree.map(lambda x: x * f.y, f))(f).x), f.y)
