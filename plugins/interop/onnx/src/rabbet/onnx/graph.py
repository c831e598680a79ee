"""A graph of ONNX while it is written: nodes, constants, and names that are given once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


def library():
    """The module ``onnx``; ImportError with what to do where there is none."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            "rabbet.onnx needs the library onnx, which is not installed here: pip install onnx"
        ) from error
    return onnx


class Value(NamedTuple):
    """A value of the graph: its name, its type, and its NumPy array if it is known when the graph is
    written."""

    name: str
    aval: Any
    known: np.ndarray | None = None

    @property
    def shape(self):
        return self.aval.shape

    @property
    def dtype(self):
        return self.aval.dtype

    @property
    def ndim(self):
        return self.aval.ndim


class Graph:
    """What a rule of ``rabbet.onnx.rule`` writes into.

    Example:
      >>> hasattr(rb.onnx.Graph, "node") and hasattr(rb.onnx.Graph, "constant")
      True
    """

    def __init__(self, taken=()):
        self.taken = set(taken)  # the names of inputs and outputs
        self.nodes: list = []
        self.initializers: dict[str, Any] = {}
        self.constants: dict[tuple, str] = {}
        self.count = 0

    def fresh(self) -> str:
        """A name that nothing has."""
        self.count += 1
        while f"v{self.count}" in self.taken:
            self.count += 1
        return f"v{self.count}"

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Write a node; return the name of its result, or a list of names for several ``outputs``."""
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append(library().helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: Any = None) -> str:
        """The name of a constant; equal ones are one."""
        x = np.asarray(value, dtype)
        key = (x.dtype, x.shape, x.tobytes()) if x.size < 1000 else (id(value), "array")
        if key not in self.constants:
            name = self.constants[key] = self.fresh()
            tensor = library().numpy_helper.from_array(np.ascontiguousarray(x).reshape(x.shape), name)
            self.initializers[name] = tensor, value  # which keeps its identity its own
        return self.constants[key]

    def reshape(self, name: str, shape: Any) -> str:
        """A value of another shape."""
        return self.node("Reshape", name, self.constant(tuple(shape), np.int64))

    def transpose(self, name: str, order: Any) -> str:
        """A value with its dimensions in another order."""
        order = list(order)
        return name if order == sorted(order) else self.node("Transpose", name, perm=order)

    def cast(self, name: str, dtype: Any) -> str:
        """A value of another dtype."""
        return self.node("Cast", name, to=element_type(dtype))


def element_type(dtype):
    """ONNX's number for a dtype; TypeError where it has none."""
    try:
        return library().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    except (KeyError, ValueError, TypeError):
        raise TypeError(f"ONNX has no dtype for {dtype}") from None


__all__ = ["Graph", "Value", "element_type", "library"]
