"""Logistic regression by Newton's method: the Hessian is a function like any other."""

import rabbet as rb
import rabbet.numpy as rnp


def loss(w, x, y):
    return rnp.mean(rnp.logaddexp(0.0, -y * (x @ w))) + 0.01 * w @ w


@rb.jit
def newton(w, x, y):
    return w - rnp.linalg.solve(rb.hessian(loss)(w, x, y), rb.grad(loss)(w, x, y))


def main():
    x = rb.random.normal(rb.random.key(0), (100, 3))
    y = rnp.sign(x @ rnp.array([1.0, -2.0, 0.5]) + 0.3 * rb.random.normal(rb.random.key(1), (100,)))
    w = rnp.zeros(3)
    for _ in range(6):
        w = newton(w, x, y)
    slope = rnp.linalg.norm(rb.grad(loss)(w, x, y))
    return {"weights": w, "slope": rnp.round(slope, 4), "right": rnp.mean(rnp.sign(x @ w) == y)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
