"""Functions as ONNX models, for runtimes that know nothing of Rabbet.

The library ``onnx`` is imported by the first call, not with this module.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.onnx.exporting import export
from rabbet.onnx.graph import Graph
from rabbet.onnx.rules import rule

__all__ = ["Graph", "export", "rule"]

_public_module(globals())
