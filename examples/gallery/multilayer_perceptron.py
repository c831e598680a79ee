"""Two spirals, told apart by a small network that Adam trains."""

import rabbet as rb
import rabbet.numpy as rnp


def spirals(n=60):
    t = rnp.linspace(0.5, 3.0, n)
    one = rnp.stack([t * rnp.cos(3 * t), t * rnp.sin(3 * t)], axis=1)
    return rnp.concatenate([one, -one]), rnp.concatenate([rnp.zeros(n), rnp.ones(n)])


def init(key, sizes=(2, 32, 32, 1)):
    keys = rb.random.split(key, 3)
    make = rb.nn.initializers.glorot_normal()
    return [{"w": make(k, (m, n)), "b": rnp.zeros(n)} for k, m, n in zip(keys, sizes, sizes[1:])]


def predict(params, x):
    for layer in params[:-1]:
        x = rb.nn.relu(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss(params, x, y):
    z = predict(params, x)
    return rnp.mean(rnp.logaddexp(0.0, z) - y * z)


@rb.jit
def step(i, params, m, v, x, y):
    g = rb.grad(loss)(params, x, y)
    m = rb.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = rb.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    scale = 0.02 * rnp.sqrt(1 - 0.999 ** (i + 1)) / (1 - 0.9 ** (i + 1))
    return rb.tree.map(lambda p, m, v: p - scale * m / (rnp.sqrt(v) + 1e-8), params, m, v), m, v


def main():
    x, y = spirals()
    params = init(rb.random.key(0))
    m = v = rb.tree.map(rnp.zeros_like, params)
    first = float(loss(params, x, y))
    for i in range(200):
        params, m, v = step(float(i), params, m, v, x, y)
    right = rnp.mean((predict(params, x) > 0) == (y > 0.5))
    return {"loss before": first, "loss after": loss(params, x, y), "right": right}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
