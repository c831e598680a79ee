"""MLIR module objects, for the two calls that take no text: host callbacks and ahead-of-time compilation.

`adapter` imports this file when one of them is made: the bindings take about 0.1 s to import.
"""

import functools

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo


@functools.cache
def context():
    """Return the MLIR context that all modules share. Importing the bindings takes about 0.1 s."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made = ir.Context()
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(made)
    return made


def parse(text):
    """Return `text` as an MLIR module object; raises `MLIRError` with positions."""
    return ir.Module.parse(text, context=context())
