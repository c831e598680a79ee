"""Conway's game of life: neighbours are rolled arrays; a glider after 4 rounds is one cell further."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def round_of(cells, _):
    moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    near = sum(rnp.roll(cells, move, (0, 1)) for move in moves)
    cells = ((near == 3) | ((cells == 1) & (near == 2))).astype("int32")
    return cells, rnp.sum(cells)


@rb.jit
def play(cells):
    return lax.scan(round_of, cells, length=4)


def main():
    glider = rnp.zeros((8, 8), "int32").at[rnp.array([0, 1, 2, 2, 2]), rnp.array([1, 2, 0, 1, 2])].set(1)
    after, alive = play(glider)
    return {
        "alive": alive,
        "moved": rnp.array_equal(after, rnp.roll(glider, (1, 1), (0, 1))),
        "cells": after[:5],
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
