"""Optimal transport between two clouds by Sinkhorn's iteration, in logarithms, until it has converged."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


@rb.jit
def transport(x, y, strength=0.05):
    cost = rnp.sum((x[:, None] - y[None]) ** 2, axis=-1)
    a, b = -rnp.log(len(x)) * rnp.ones(len(x)), -rnp.log(len(y)) * rnp.ones(len(y))

    def update(state):
        f, g, _, rounds = state
        f = strength * (a - rb.nn.logsumexp((g[None] - cost) / strength, axis=1))
        g = strength * (b - rb.nn.logsumexp((f[:, None] - cost) / strength, axis=0))
        rows = rb.nn.logsumexp((f[:, None] + g[None] - cost) / strength, axis=1)
        return f, g, rnp.max(rnp.abs(rnp.exp(rows) - rnp.exp(a))), rounds + 1

    start = rnp.zeros(len(x)), rnp.zeros(len(y)), rnp.inf, 0
    f, g, error, rounds = lax.while_loop(lambda s: (s[2] > 1e-5) & (s[3] < 500), update, start)
    plan = rnp.exp((f[:, None] + g[None] - cost) / strength)
    return plan, rnp.sum(plan * cost), error, rounds


def main():
    x = rb.random.normal(rb.random.key(0), (20, 2))
    y = x[::-1] * 0.5 + rnp.array([2.0, 0.0])
    plan, cost, error, _ = transport(x, y)
    return {"cost": cost, "error of the rows": error, "sum of the columns": rnp.sum(plan, axis=0)[:4]}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
