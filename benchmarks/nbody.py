"""Gravity between all pairs of bodies: 10 leapfrog steps under `lax.scan` in one call.

python nbody.py rabbet|jax|torch|torch_compile|numpy [tiny]
"""

import harness
import numpy as np

SIZES = {"full": {"bodies": 512, "steps": 10}, "tiny": {"bodies": 6, "steps": 2}}
DT, SOFTENING = 0.001, 0.05


def data(bodies):
    """Positions, velocities (float32, [bodies, 3]) and masses that sum to 1."""
    rng = np.random.default_rng(0)
    positions = rng.standard_normal((bodies, 3), "f4")
    velocities = rng.standard_normal((bodies, 3), "f4") * np.float32(0.3)
    return positions, velocities, np.full(bodies, 1 / bodies, "f4")


def acceleration(positions, masses):
    """The pull of all on each, for arrays of any framework."""
    apart = positions[None, :, :] - positions[:, None, :]
    square = (apart * apart).sum(-1) + SOFTENING**2
    weight = masses[None, :] / (square * square**0.5)
    return (weight[:, :, None] * apart).sum(1)


def leap(positions, velocities, masses):
    """One kick-drift-kick step."""
    velocities = velocities + 0.5 * DT * acceleration(positions, masses)
    positions = positions + DT * velocities
    return positions, velocities + 0.5 * DT * acceleration(positions, masses)


def kinetic(velocities, masses):
    return 0.5 * (masses[:, None] * velocities * velocities).sum()


def build(fw, bodies, steps):
    *state, masses = (fw.numpy.asarray(a) for a in data(bodies))

    def step(state):
        state, _ = fw.lax.scan(lambda s, _: (leap(*s, masses), None), state, None, length=steps)
        return state, kinetic(state[1], masses)

    return step, tuple(state)


def build_eager(convert, compiled, bodies, steps):
    *state, masses = (convert(a) for a in data(bodies))
    once = compiled(leap)

    def step(state):
        for _ in range(steps):
            state = once(*state, masses)
        return state, kinetic(state[1], masses)

    return step, tuple(state)


def build_torch(torch, **size):
    return build_eager(torch.from_numpy, torch.compiled, **size)


def build_numpy(numpy, **size):
    return build_eager(numpy.asarray, lambda fn: fn, **size)


BUILDERS = {"rabbet": build, "jax": build, "torch": build_torch, "numpy": build_numpy}

if __name__ == "__main__":
    harness.main(BUILDERS, SIZES)
