"""The Mandelbrot set: complex numbers, one while_loop for each point, side by side by vmap."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def rounds(c, most=40):
    def more(state):
        z, n = state
        return (rnp.abs(z) < 2) & (n < most)

    return lax.while_loop(more, lambda s: (s[0] ** 2 + c, s[1] + 1), (rnp.zeros_like(c), 0))[1]


def main():
    grid = rnp.linspace(-2.0, 0.6, 40)[None] + 1j * rnp.linspace(-1.1, 1.1, 20)[:, None]
    counts = rb.jit(rb.vmap(rb.vmap(rounds)))(grid)
    for row in counts:
        print("".join(" .:-=+*#%@"[min(int(n) // 4, 9)] for n in row))
    return {"inside": rnp.mean(counts == 40)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
