"""Sinkhorn, its gradient, and a Gromov-Wasserstein plan"""

# packages: ott-jax
import jax
import jax.numpy as jnp
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn

x = jax.random.normal(jax.random.PRNGKey(0), (6, 2))
y = jax.random.normal(jax.random.PRNGKey(1), (5, 2)) + 1


def cost(x):
    return sinkhorn.Sinkhorn()(
        linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.5))
    ).reg_ot_cost


out = sinkhorn.Sinkhorn()(linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.5)))
print(float(cost(x)), float(jnp.abs(jax.grad(cost)(x)).sum()), float(out.matrix.sum()), float(out.converged))
