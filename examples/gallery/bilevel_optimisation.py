"""Bilevel optimisation: the strength of a penalty, by the implicit function theorem (custom_root)."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def data(key, rows):
    x = rb.random.normal(key, (rows, 8))
    noise = rb.random.normal(rb.random.fold_in(key, 1), (rows,))
    return x, x[:, 0] - 2 * x[:, 1] + noise


TRAIN, VALID = data(rb.random.key(0), 10), data(rb.random.key(1), 40)


def fit(log_strength):
    x, y = TRAIN

    def residual(w):
        return x.T @ (x @ w - y) + rnp.exp(log_strength) * w

    def solve(f, w):
        return rnp.linalg.solve(rb.jacobian(f)(w), -f(rnp.zeros_like(w)))

    return lax.custom_root(residual, rnp.zeros(8), solve, lambda g, b: rnp.linalg.solve(rb.jacobian(g)(b), b))


@rb.jit
def step(log_strength):
    def loss(log_strength):
        x, y = VALID
        return rnp.mean((x @ fit(log_strength) - y) ** 2)

    value, slope = rb.value_and_grad(loss)(log_strength)
    return log_strength - slope, value


def main():
    log_strength, values = rnp.float32(-4.0), []
    for _ in range(40):
        log_strength, value = step(log_strength)
        values.append(float(value))
    return {"loss before": values[0], "loss after": values[-1], "weights": fit(log_strength)[:3]}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
