"""A Kalman filter by scan; its likelihood is differentiated to find the noise of the process."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

MOVE = rnp.array([[1.0, 1.0], [0.0, 1.0]])
SEEN = rnp.array([[1.0, 0.0]])


def run(log_noise, observations):
    process, noise = rnp.exp(log_noise) * rnp.eye(2), 0.5 * rnp.eye(1)

    def step(state, y):
        mean, spread = state
        mean, spread = MOVE @ mean, MOVE @ spread @ MOVE.T + process
        surprise, expected = y - SEEN @ mean, SEEN @ spread @ SEEN.T + noise
        gain = spread @ SEEN.T @ rnp.linalg.inv(expected)
        likelihood = -0.5 * (
            surprise @ rnp.linalg.solve(expected, surprise) + rnp.linalg.slogdet(expected)[1]
        )
        mean, spread = mean + gain @ surprise, (rnp.eye(2) - gain @ SEEN) @ spread
        return (mean, spread), (mean[0], likelihood)

    return lax.scan(step, (rnp.zeros(2), rnp.eye(2)), observations)[1]


def main():
    times = rnp.arange(40.0)
    path = 10 * rnp.sin(times / 8)
    seen = (path + 0.7 * rb.random.normal(rb.random.key(0), (40,)))[:, None]
    slope = rb.jit(rb.value_and_grad(lambda log_noise: -rnp.sum(run(log_noise, seen)[1])))
    log_noise = 0.0
    for _ in range(30):
        value, g = slope(log_noise)
        log_noise = log_noise - 0.03 * g
    found, _ = run(log_noise, seen)
    error = lambda x: rnp.sqrt(rnp.mean((x - path)[5:] ** 2))
    return {
        "noise": rnp.exp(log_noise),
        "loss": value,
        "error seen": error(seen[:, 0]),
        "error filtered": error(found),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
