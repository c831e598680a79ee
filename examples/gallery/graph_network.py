"""A graph network: messages along edges are added up by segment_sum; it learns the distance to a node."""

import rabbet as rb
import rabbet.numpy as rnp

NODES = 12
FROM = rnp.array([*range(NODES), *[(i + 1) % NODES for i in range(NODES)]])
TO = rnp.array([*[(i + 1) % NODES for i in range(NODES)], *range(NODES)])


def init(key, width=16):
    keys = rb.random.split(key, 4)
    sizes = [(1, width), (2 * width, width), (2 * width, width), (width, 1)]
    return [rb.random.normal(k, s) / rnp.sqrt(s[0]) for k, s in zip(keys, sizes)]


def predict(params, marks):
    enter, message, update, leave = params
    h = rnp.tanh(marks[:, None] @ enter)
    for _ in range(6):
        sent = rnp.tanh(rnp.concatenate([h[FROM], h[TO]], axis=1) @ message)
        h = rnp.tanh(rnp.concatenate([h, rb.ops.segment_sum(sent, TO, NODES)], axis=1) @ update)
    return (h @ leave)[:, 0]


def loss(params, marks, distances):
    return rnp.mean((rb.vmap(predict, in_axes=(None, 0))(params, marks) - distances) ** 2)


@rb.jit
def step(params, marks, distances):
    value, slope = rb.value_and_grad(loss)(params, marks, distances)
    return [p - 0.05 * g for p, g in zip(params, slope)], value


def main():
    marks = rnp.eye(NODES)
    gap = rnp.abs(rnp.arange(NODES)[:, None] - rnp.arange(NODES)[None])
    distances = rnp.minimum(gap, NODES - gap) / 6.0
    params = init(rb.random.key(0))
    first = float(loss(params, marks, distances))
    for _ in range(150):
        params, value = step(params, marks, distances)
    return {"loss before": first, "loss after": value}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
