"""an adaptive ODE and its gradient, a stochastic equation, an implicit solver"""

# packages: diffrax
import diffrax as dfx
import jax
import jax.numpy as jnp


def solve(k, solver, controller):
    term = dfx.ODETerm(lambda t, y, k: -k * y)
    sol = dfx.diffeqsolve(
        term,
        solver,
        0.0,
        1.0,
        0.1,
        jnp.array([1.0, 2.0]),
        args=k,
        stepsize_controller=controller,
        saveat=dfx.SaveAt(ts=jnp.linspace(0, 1, 4)),
    )
    return sol.ys.sum()


pid = dfx.PIDController(rtol=1e-4, atol=1e-5)
value, grad = jax.value_and_grad(lambda k: solve(k, dfx.Tsit5(), pid))(0.7)
implicit = solve(0.7, dfx.Kvaerno3(), pid)
path = dfx.VirtualBrownianTree(0.0, 1.0, 1e-3, (), jax.random.PRNGKey(0))
terms = dfx.MultiTerm(dfx.ODETerm(lambda t, y, a: -y), dfx.ControlTerm(lambda t, y, a: 0.1, path))
sde = dfx.diffeqsolve(terms, dfx.Euler(), 0.0, 1.0, 0.05, 1.0)
print(float(value), float(grad), float(implicit), float(sde.ys[0]))
