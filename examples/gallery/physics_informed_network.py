"""A physics-informed network: u'' = -u, u(0) = 0, u'(0) = 1, by second derivatives within the loss."""

import rabbet as rb
import rabbet.numpy as rnp


def init(key, sizes=(1, 16, 16, 1)):
    keys = rb.random.split(key, len(sizes))
    return [
        (rb.random.normal(k, (m, n)) / rnp.sqrt(m), rnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])
    ]


def net(params, t):
    h = rnp.array([t])
    for w, b in params[:-1]:
        h = rnp.tanh(h @ w + b)
    w, b = params[-1]
    return (h @ w + b)[0]


def loss(params, times):
    u = lambda t: t + t**2 * net(params, t)  # which begins as it should
    residual = rb.vmap(lambda t: rb.grad(rb.grad(u))(t) + u(t))(times)
    return rnp.mean(residual**2)


@rb.jit
def step(state, times):
    params, moment, square, count = state
    value, g = rb.value_and_grad(loss)(params, times)
    count = count + 1
    moment = rb.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moment, g)
    square = rb.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, g)
    rate = 0.01 * rnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
    params = rb.tree.map(lambda p, m, s: p - rate * m / (rnp.sqrt(s) + 1e-8), params, moment, square)
    return (params, moment, square, count), value


def main():
    params, times = init(rb.random.key(0)), rnp.linspace(0.0, 3.0, 32)
    zeros = rb.tree.map(rnp.zeros_like, params)
    state, first = (params, zeros, zeros, 0.0), float(loss(params, times))
    for _ in range(400):
        state, value = step(state, times)
    error = rb.vmap(lambda t: t + t**2 * net(state[0], t))(times) - rnp.sin(times)
    return {"loss before": first, "loss after": value, "largest error": rnp.max(rnp.abs(error))}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
