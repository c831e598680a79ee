"""Heat spreads along a rod; where it was put is found again by gradient descent through the simulation."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def simulate(u):
    def step(u, _):
        inside = u[1:-1] + 0.4 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return rnp.pad(inside, 1), None

    return lax.scan(step, u, length=25)[0]


@rb.jit
def improve(u, seen):
    value, slope = rb.value_and_grad(lambda u: rnp.sum((simulate(u) - seen) ** 2))(u)
    return u - 0.5 * slope, value


def main():
    truth = rnp.zeros(32).at[8:12].set(1.0)
    seen, u = simulate(truth), rnp.zeros(32)
    first = float(rnp.sum(seen**2))
    for _ in range(200):
        u, value = improve(u, seen)
    return {"error before": first, "error after": value, "hottest place": rnp.argmax(u)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
