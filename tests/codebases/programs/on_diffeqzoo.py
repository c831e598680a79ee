"""Lotka and Volterra's equations solved by odeint"""

# packages: diffeqzoo
import jax.numpy as jnp
from diffeqzoo import backend, ivps
from jax.experimental.ode import odeint

backend.select("jax")
f, u0, span, args = ivps.lotka_volterra()
print(*map(float, odeint(lambda u, t: f(u, *args), u0, jnp.linspace(0, 1.0, 3))[-1]))
