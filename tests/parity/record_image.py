"""Write plugins/functions/image/tests/known_answers.json: images that jax.image makes.

Tests read them where jax is not installed.

Run it by hand, with jax installed: python tests/parity/record_image.py
"""

import json
import pathlib

import jax
import numpy as np

TABLE = pathlib.Path(__file__).resolve().parents[2] / "plugins/functions/image/tests/known_answers.json"
PICTURE = np.arange(30, dtype="f4").reshape(5, 6) ** 1.5
METHODS = ("linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area")
MOVED = {"scale": [1.3, 0.6], "translation": [0.4, -1.2]}


def main():
    answers = []
    for method in METHODS:
        for antialias in (True, False):
            options = {"method": method, "antialias": antialias}
            for shape in ([8, 9], [3, 2]):
                out = jax.image.resize(PICTURE, shape, **options)
                answers.append({**options, "shape": shape, "values": np.asarray(out).tolist()})
            moved = [np.float32(x) for x in MOVED.values()]
            out = jax.image.scale_and_translate(PICTURE, (7, 8), (0, 1), *moved, **options)
            answers.append({**options, **MOVED, "shape": [7, 8], "values": np.asarray(out).tolist()})
    TABLE.write_text("[\n" + ",\n".join([json.dumps(a) for a in answers]) + "\n]\n")


if __name__ == "__main__":
    main()
