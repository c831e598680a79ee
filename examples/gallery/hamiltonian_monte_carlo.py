"""Hamiltonian Monte Carlo: chains side by side by vmap, leapfrog steps by fori_loop."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

COVARIANCE = rnp.array([[1.0, 0.6], [0.6, 2.0]])
PRECISION = rnp.linalg.inv(COVARIANCE)


def potential(q):
    return 0.5 * q @ PRECISION @ q


def transition(q, key, size=0.25, steps=8):
    key_p, key_u = rb.random.split(key)
    p = rb.random.normal(key_p, q.shape)

    def leap(_, state):
        q, p = state
        p = p - 0.5 * size * rb.grad(potential)(q)
        q = q + size * p
        return q, p - 0.5 * size * rb.grad(potential)(q)

    new_q, new_p = lax.fori_loop(0, steps, leap, (q, p))
    change = potential(q) + 0.5 * p @ p - potential(new_q) - 0.5 * new_p @ new_p
    accepted = rnp.log(rb.random.uniform(key_u)) < change
    return rnp.where(accepted, new_q, q), accepted


@rb.jit
def chain(key):
    def step(q, key):
        q, accepted = transition(q, key)
        return q, (q, accepted)

    return lax.scan(step, rnp.zeros(2), rb.random.split(key, 250))[1]


def main():
    samples, accepted = rb.vmap(chain)(rb.random.split(rb.random.key(1), 16))
    kept = samples[:, 50:].reshape(-1, 2)
    return {"mean": rnp.mean(kept, axis=0), "covariance": rnp.cov(kept.T), "accepted": rnp.mean(accepted)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
