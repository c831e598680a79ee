"""a sparse Jacobian"""

# packages: sparsejac
import jax.numpy as jnp
import sparsejac
from jax.experimental import sparse

pattern = sparse.BCOO.fromdense(jnp.eye(4))
jac = sparsejac.jacrev(lambda x: x**2, sparsity=pattern)(jnp.arange(4.0))
print(*map(float, jac.todense().diagonal()))
