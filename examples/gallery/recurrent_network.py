"""A recurrent network by scan learns to remember the first number of a sequence."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def init(key, width=12):
    a, b, c = rb.random.split(key, 3)
    return {
        "in": 0.5 * rb.random.normal(a, (1, width)),
        "hidden": rb.nn.initializers.orthogonal()(b, (width, width)),
        "out": 0.5 * rb.random.normal(c, (width,)),
    }


def predict(params, sequence):
    def step(h, x):
        return rnp.tanh(x[None] @ params["in"] + h @ params["hidden"]), None

    h, _ = lax.scan(step, rnp.zeros(12), sequence)
    return h @ params["out"]


def loss(params, sequences):
    return rnp.mean((rb.vmap(predict, in_axes=(None, 0))(params, sequences) - sequences[:, 0]) ** 2)


@rb.jit
def step(params, sequences):
    value, g = rb.value_and_grad(loss)(params, sequences)
    return rb.tree.map(lambda p, g: p - 0.05 * g, params, g), value


def main():
    sequences = rb.random.uniform(rb.random.key(1), (64, 8), minval=-1.0)
    params = init(rb.random.key(0))
    first = float(loss(params, sequences))
    for _ in range(150):
        params, value = step(params, sequences)
    return {"loss before": first, "loss after": value}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
