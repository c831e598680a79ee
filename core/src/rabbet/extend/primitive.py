"""A primitive: ``Primitive`` with its rules beside it, what rules are made of, and all primitives of core.

``extend.primitive.dot_general``, ``extend.primitive.reduce_sum`` and so on are the primitives themselves, for
``@rules.primitive(...)`` and for comparing with ``equation.primitive``; ``dir`` lists them. One whose name is
a word of Python has another here, that of ``lax`` or with an underscore: ``bitwise_and``, ``while_``.
"""

from __future__ import annotations

from typing import Any

from rabbet.lax.contractions import canonical_precision
from rabbet.lowering.custom_calls import column_major, row_major
from rabbet.lowering.host_callbacks import write_python_call
from rabbet.primitives.batching import move_axis, new_axis
from rabbet.primitives.calls import call_op
from rabbet.primitives.checks import accept, elementwise_aval
from rabbet.primitives.elementwise import add_tangents
from rabbet.primitives.no_tangent import no_tangent
from rabbet.primitives.zeros import full_of_type, instantiate
from rabbet.program.avals import ShapedArray
from rabbet.program.effects import Effect, effect_names
from rabbet.program.python_scalars import operand_avals
from rabbet.rules.operator import Op
from rabbet.rules.payloads import Batched, Dual, Linear, Zero, tangent_aval, zero_tangent
from rabbet.rules.primitive import Primitive

__all__ = [
    "Batched",
    "Dual",
    "Effect",
    "Linear",
    "Op",
    "Primitive",
    "ShapedArray",
    "Zero",
    "accept",
    "add_tangents",
    "call_op",
    "canonical_precision",
    "column_major",
    "effect_names",
    "elementwise_aval",
    "full_of_type",
    "instantiate",
    "move_axis",
    "new_axis",
    "no_tangent",
    "operand_avals",
    "row_major",
    "tangent_aval",
    "write_python_call",
    "zero_tangent",
]


def __getattr__(name: str) -> Any:
    from rabbet.primitives import catalogue

    found = catalogue.by_public_name().get(name)
    if found is None:
        raise AttributeError(
            f"rabbet.extend.primitive has no {name!r}; dir() lists it and the primitives of core"
        )
    return found


def __dir__() -> list[str]:
    from rabbet.primitives import catalogue

    return sorted({*__all__, *catalogue.by_public_name()})
