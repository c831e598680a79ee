"""total variation denoising by ADMM"""

# packages: scico
import jax
import numpy as np
import scico.numpy as snp
from scico import functional, linop, loss
from scico.optimize.admm import ADMM, LinearSubproblemSolver

x = snp.array(np.tile(np.repeat([0.0, 1.0], 4), (8, 1)).astype(np.float32)) + 0.1 * jax.random.normal(
    jax.random.PRNGKey(0), (8, 8)
)
C = linop.FiniteDifference(input_shape=x.shape, append=0)
solver = ADMM(
    f=loss.SquaredL2Loss(y=x),
    g_list=[0.1 * functional.L21Norm()],
    C_list=[C],
    rho_list=[1.0],
    x0=x,
    maxiter=5,
    subproblem_solver=LinearSubproblemSolver(cg_kwargs={"maxiter": 5}),
)
out = solver.solve()
b = snp.blockarray((snp.ones(3), snp.zeros((2, 2))))
print(float(out.sum()), float(snp.abs(out).max()), float(snp.sum(b * 2)))
