"""stochastic estimates of a trace"""

# packages: traceax
import jax
import jax.numpy as jnp
import lineax as lx
import traceax as tx

op = lx.MatrixLinearOperator(jnp.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]))
print(float(tx.HutchinsonEstimator().estimate(jax.random.PRNGKey(0), op, 10)[0]))
