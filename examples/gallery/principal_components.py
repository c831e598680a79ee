"""The largest principal component by power iteration, beside the singular value decomposition."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


@rb.jit
def largest(x):
    centred = x - rnp.mean(x, axis=0)

    def step(_, v):
        v = centred.T @ (centred @ v)
        return v / rnp.linalg.norm(v)

    v = lax.fori_loop(0, 100, step, rnp.ones(x.shape[1]) / rnp.sqrt(x.shape[1]))
    return v, rnp.linalg.norm(centred @ v)


def main():
    x = rb.random.normal(rb.random.key(0), (50, 4)) * rnp.array([3.0, 1.0, 0.5, 0.1])
    v, size = largest(x)
    exact = rnp.linalg.svd(x - rnp.mean(x, axis=0), compute_uv=False)[0]
    return {"direction": v, "singular value": size, "by svd": exact}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
