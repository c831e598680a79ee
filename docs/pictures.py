"""The pictures of the landing page and of the gallery, made by the programs of `examples/gallery`.

    python docs/pictures.py                 # writes docs/assets/gallery/*.png

Each picture is an array of red, green and blue between 0 and 1 that the functions of one program compute.
"""

import importlib.util
import pathlib
import shutil
import struct
import sys
import zlib

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "assets" / "gallery"
# From dark to light, and from one class to the other.
WARM = [(0.05, 0.03, 0.20), (0.35, 0.10, 0.45), (0.85, 0.30, 0.30), (0.98, 0.70, 0.25), (1.00, 0.97, 0.80)]
TWO = [(0.10, 0.35, 0.60), (0.55, 0.75, 0.90), (0.97, 0.96, 0.92), (0.98, 0.75, 0.50), (0.80, 0.35, 0.10)]


def program(name):
    """The module of a program of the gallery."""
    path = HERE.parent / "examples" / "gallery" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coloured(values, colours):
    """Numbers between 0 and 1 as colours, [rows, columns, 3]."""
    at = np.linspace(0, 1, len(colours))
    return np.stack([np.interp(values, at, [colour[i] for colour in colours]) for i in range(3)], axis=-1)


def mandelbrot(width, height):
    """How many rounds each point stays, on a scale of logarithms."""
    rounds = program("mandelbrot").rounds
    x, y = rnp.linspace(-2.1, 0.7, width), rnp.linspace(-1.05, 1.05, height)
    counts = rb.jit(rb.vmap(rb.vmap(lambda c: rounds(c, 120))))(x[None] + 1j * y[:, None])
    shown = np.log1p(np.asarray(counts)) / np.log(121)
    return coloured(np.where(np.asarray(counts) == 120, 0, shown), WARM)


def sphere_tracing(width, height):
    """A ball on a plane: each ray by itself, its shade from a gradient."""
    shade = program("sphere_tracing").shade
    x, y = rnp.meshgrid(rnp.linspace(-0.6, 0.6, width), rnp.linspace(0.45, -0.45, height))
    picture = rb.jit(rb.vmap(rb.vmap(shade)))(rnp.stack([x, y, rnp.ones_like(x)], axis=-1))
    return coloured(np.clip(np.asarray(picture), 0, 1), WARM)


def multilayer_perceptron(width, height, steps=300):
    """Where the trained network sees one spiral and where the other, and the points that it was shown."""
    net = program("multilayer_perceptron")
    x, y = net.spirals()
    params = net.init(rb.random.key(0))
    m = v = rb.tree.map(rnp.zeros_like, params)
    for i in range(steps):
        params, m, v = net.step(float(i), params, m, v, x, y)
    side = 3.3
    across, down = rnp.linspace(-side * 4 / 3, side * 4 / 3, width), rnp.linspace(side, -side, height)
    places = rnp.stack(rnp.meshgrid(across, down), axis=-1).reshape(-1, 2)
    likely = rb.nn.sigmoid(rb.jit(net.predict)(params, places)).reshape(height, width)
    picture = coloured(np.asarray(likely), TWO)
    for (a, b), label in zip(np.asarray(x), np.asarray(y)):
        row = int((1 - b / side) / 2 * (height - 1))
        column = int((1 + a / (side * 4 / 3)) / 2 * (width - 1))
        shown = (0.40, 0.13, 0.02) if label else (0.02, 0.12, 0.28)
        picture[max(row - 2, 0) : row + 3, max(column - 2, 0) : column + 3] = shown
    return picture


def heat_equation(width, height):
    """Warmth along a rod, from the first moment at the top to the last below."""
    rod = program("heat_equation")
    start = rnp.zeros(32).at[8:12].set(1.0).at[22:24].set(0.8)
    then = lax.scan(lambda u, _: (rod.simulate(u), u), start, length=12)[1]
    rows = np.linspace(0, 11.999, height).astype(int)
    columns = np.linspace(0, 31.999, width).astype(int)
    shown = np.sqrt(np.clip(np.asarray(then), 0, 1))[rows][:, columns]
    return coloured(shown, WARM)


PICTURES = [mandelbrot, sphere_tracing, multilayer_perceptron, heat_equation]


def png(picture):
    """The bytes of a PNG file."""
    pixels = (np.clip(picture, 0, 1) * 255).round().astype(np.uint8)
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def main():
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for draw in PICTURES:
        path = FOLDER / f"{draw.__name__}.png"
        path.write_bytes(png(draw(400, 300)))
        print(path.relative_to(HERE.parent), path.stat().st_size)
    shutil.copy(HERE.parent / "examples" / "elastic" / "timeline.svg", FOLDER)  # made by that example


if __name__ == "__main__":
    sys.exit(main())
