"""What signatures in ``lax`` say of arrays.

A function takes and returns tracers too, which have no class in common with arrays and NumPy's, so for a type
checker these are anything; the types that users see are in ``__init__.pyi`` and ``rabbet.typing``.
"""

from typing import Any, TypeAlias

# An Array, a tracer that stands for one, an array or number of NumPy's or Python's.
ArrayLike: TypeAlias = Any
# An Array, or within a transformed function a tracer.
ArrayOrTracer: TypeAlias = Any
# A dtype, its name, a class of Python's or NumPy's, an extended dtype.
DTypeLike: TypeAlias = Any

__all__ = ["ArrayLike", "ArrayOrTracer", "DTypeLike"]
