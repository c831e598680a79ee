"""A symbolic dimension as an array."""

from rabbet.extend.primitive import Primitive, ShapedArray

dimension_as_value = Primitive(
    "dimension_as_value", lambda dimension: ShapedArray((), "int32", True),
    doc="the number of elements along a symbolic dimension",
)  # fmt: skip

__all__ = ["dimension_as_value"]
