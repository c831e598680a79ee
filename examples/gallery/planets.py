"""Three bodies, moved by a symplectic step; the energy stays."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

MASS = rnp.array([1.0, 0.01, 0.005])


def potential(x):
    away = x[:, None] - x[None] + rnp.eye(3)[..., None]
    distance = rnp.sqrt(rnp.sum(away**2, axis=-1))
    return -0.5 * rnp.sum((1 - rnp.eye(3)) * MASS[:, None] * MASS[None] / distance)


def energy(x, v):
    return potential(x) + 0.5 * rnp.sum(MASS[:, None] * v**2)


@rb.jit
def orbit(x, v, size=0.01):
    pull = lambda x: -rb.grad(potential)(x) / MASS[:, None]

    def step(state, _):
        x, v = state
        v = v + 0.5 * size * pull(x)
        x = x + size * v
        v = v + 0.5 * size * pull(x)
        return (x, v), energy(x, v)

    return lax.scan(step, (x, v), length=600)


def main():
    x = rnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    v = rnp.array([[0.0, 0.0], [0.0, 1.0], [-0.7, 0.0]])
    (x, _), energies = orbit(x, v)
    return {
        "energy": energies[-1],
        "spread of the energy": rnp.max(energies) - rnp.min(energies) < 1e-4,
        "places": x,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
