"""DP-SGD: gradients of single examples by vmap, clipped each, added up with noise."""

import rabbet as rb
import rabbet.numpy as rnp


def loss(w, x, y):
    return rnp.logaddexp(0.0, -y * (x @ w))


@rb.jit
def step(w, key, x, y, bound=1.0, noise=0.5):
    slopes = rb.vmap(rb.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    norms = rnp.linalg.norm(slopes, axis=1, keepdims=True)
    clipped = slopes * rnp.minimum(1.0, bound / norms)
    total = rnp.sum(clipped, axis=0) + noise * bound * rb.random.normal(key, w.shape)
    return w - 0.5 * total / len(x), rnp.mean(norms > bound)


def main():
    key = rb.random.key(0)
    x = rb.random.normal(key, (200, 5))
    y = rnp.sign(x @ rnp.array([2.0, -1.0, 0.0, 0.5, 1.0]))
    w = rnp.zeros(5)
    for i in range(60):
        w, share = step(w, rb.random.fold_in(key, i), x, y)
    return {"weights": w, "clipped at last": share, "right": rnp.mean(rnp.sign(x @ w) == y)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
