"""Shallow water on a torus: a 2-D stencil, 20 time steps under `fori_loop` in one call.

    python shallow_water.py rabbet|jax|torch|torch_compile|numpy [tiny]

Linear advection is left out; gravity, rotation and friction are in: the height and two velocities on a grid
whose points are collocated, leap by the symplectic Euler method, with neighbours read by `roll`.
"""

import harness
import numpy as np

SIZES = {"full": {"side": 256, "steps": 20}, "tiny": {"side": 8, "steps": 2}}
GRAVITY, CORIOLIS, FRICTION, DT, DX = 9.81, 0.1, 0.001, 0.01, 1.0


def data(side):
    """A bump of water at rest: height and the two velocities, float32."""
    x = np.linspace(-1, 1, side, dtype="f4")
    height = 1 + 0.1 * np.exp(-20 * (x[:, None] ** 2 + x[None, :] ** 2))
    return height.astype("f4"), np.zeros((side, side), "f4"), np.zeros((side, side), "f4")


def advance(roll, state):
    """One time step, for any framework's `roll(array, shift, axis)`."""
    height, u, v = state
    slope = lambda a, axis: (roll(a, -1, axis) - roll(a, 1, axis)) * (0.5 / DX)
    u, v = (
        u + DT * (CORIOLIS * v - GRAVITY * slope(height, 0) - FRICTION * u),
        v + DT * (-CORIOLIS * u - GRAVITY * slope(height, 1) - FRICTION * v),
    )
    height = height - DT * (slope(height * u, 0) + slope(height * v, 1))
    return height, u, v


def energy(state):
    height, u, v = state
    return (0.5 * height * (u * u + v * v) + 0.5 * GRAVITY * height * height).mean()


def build(fw, side, steps):
    def step(state):
        state = fw.lax.fori_loop(0, steps, lambda i, s: advance(fw.numpy.roll, s), state)
        return state, energy(state)

    return step, tuple(fw.numpy.asarray(a) for a in data(side))


def build_torch(torch, side, steps):
    once = torch.compiled(lambda state: advance(torch.roll, state))

    def step(state):
        for _ in range(steps):
            state = once(state)
        return state, energy(state)

    return step, tuple(torch.from_numpy(a) for a in data(side))


def build_numpy(numpy, side, steps):
    def step(state):
        for _ in range(steps):
            state = advance(numpy.roll, state)
        return state, energy(state)

    return step, data(side)


BUILDERS = {"rabbet": build, "jax": build, "torch": build_torch, "numpy": build_numpy}

if __name__ == "__main__":
    harness.main(BUILDERS, SIZES)
