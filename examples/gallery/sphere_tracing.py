"""Sphere tracing: a picture of a ball, its shading from the gradient of its distance function."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def distance(p):
    return rnp.minimum(rnp.linalg.norm(p - rnp.array([0.0, 0.0, 3.0])) - 1.0, p[1] + 1.0)


def shade(direction):
    direction = direction / rnp.linalg.norm(direction)
    length = lax.fori_loop(0, 40, lambda _, t: t + distance(t * direction), 0.0)
    hit = length * direction
    normal = rb.grad(distance)(hit)
    light = rnp.array([0.5, 0.7, -0.5]) / rnp.sqrt(0.99)
    return rnp.where(distance(hit) < 1e-2, rnp.maximum(normal @ light, 0.05), 0.0)


def main():
    x, y = rnp.meshgrid(rnp.linspace(-0.6, 0.6, 36), rnp.linspace(0.5, -0.5, 18))
    picture = rb.jit(rb.vmap(rb.vmap(shade)))(rnp.stack([x, y, rnp.ones_like(x)], axis=-1))
    for row in picture:
        print("".join(" .:-=+*#%@"[min(int(v * 10), 9)] for v in row))
    return {"mean": rnp.mean(picture), "middle": picture[9, 18]}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
