"""A neural differential equation: odeint within the loss, its gradient by the adjoint equation."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental.ode import odeint

TIMES = rnp.linspace(0.0, 2.0, 9)


def field(y, t, params):
    return rnp.tanh(y @ params["a"]) @ params["b"]


def loss(params, start, path):
    return rnp.mean((odeint(field, start, TIMES, params) - path) ** 2)


@rb.jit
def step(params, start, path):
    value, g = rb.value_and_grad(loss)(params, start, path)
    return rb.tree.map(lambda p, g: p - 0.2 * g, params, g), value


def main():
    start = rnp.array([1.0, 0.0])
    path = rnp.stack([rnp.cos(TIMES), -rnp.sin(TIMES)], axis=1)
    a, b = rb.random.split(rb.random.key(0))
    params = {"a": 0.5 * rb.random.normal(a, (2, 8)), "b": 0.5 * rb.random.normal(b, (8, 2))}
    first = float(loss(params, start, path))
    for _ in range(60):
        params, value = step(params, start, path)
    return {"loss before": first, "loss after": value}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
