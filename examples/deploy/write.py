"""Write a trained function as a portable program: ``python write.py FOLDER``."""

import pathlib
import sys

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import export

WEIGHTS = rnp.array([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]])


@rb.jit
def predict(x):
    """What is deployed: rows of three numbers to probabilities of two classes."""
    return rb.nn.softmax(x @ WEIGHTS, axis=-1)


def main(folder):
    exported = export.export(predict, platforms=("cpu",))(rb.ShapeDtypeStruct((4, 3), "float32"))
    (folder / "predict.stablehlo").write_bytes(exported.mlir_module_serialized)  # for load.py
    (folder / "predict.rabbet").write_bytes(exported.serialize())  # for rabbet.export and jax.export


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
