"""How elementwise functions are made from primitives.

Each of them promotes dtypes, broadcasts and then does one operation. On arrays that need neither it calls
the primitive at once, which is all that an eager ``tanh(x)`` should cost. In every other case promotion,
broadcasting and operation are one compiled program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import Array
from rabbet.extend.functions import eager_unary, fold_traceback, folds_itself, fused
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import Tracer
from rabbet.numpy.support.arguments import check, promote, promote_to_float

if TYPE_CHECKING:
    from rabbet.typing import Value

ARRAYS = frozenset((Array, Tracer))
NUMBERS = "iufc"
FLOATS = "fc"


def named(function: Callable[..., Any], name: str, doc: str) -> Any:
    """The function under its public name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "rabbet.numpy"
    return function


SHAPE = "Elementwise, in the shape of ``x``. NumPy's ``out=`` and ``where=`` are not supported."
IN_FLOATS = (
    "Elementwise, in the shape of ``x``. Floats and complex numbers keep their dtype, integers and booleans\n"
    "    become floats. NumPy's ``out=`` and ``where=`` are not supported."
)
PROMOTED = (
    "Elementwise: the operands are promoted to one dtype (``promote_types``) and broadcast to one shape.\n"
    "    NumPy's ``out=`` and ``where=`` are not supported."
)
PROMOTED_TO_FLOAT = (
    "Elementwise, in floats: the operands are promoted to one dtype (``promote_types``), integers and\n"
    "    booleans to floats, and broadcast to one shape. NumPy's ``out=`` and ``where=`` are not supported."
)


def with_contract(doc: str, contract: str) -> str:
    """A docstring with what holds for its kind of function between its first paragraph and its example."""
    said, gap, example = doc.partition("\n\n")
    return f"{said}\n\n    {contract}{gap}{example}"


def unary(
    name: str,
    primitive: Primitive | Callable[..., Any],
    doc: str,
    *,
    kinds: str = NUMBERS,
    prepare: Callable[..., Any] | None = None,
    otherwise: Callable[..., Any] | None = None,
    contract: str = SHAPE,
) -> Callable[..., Any]:
    """Make a function of one array.

    Args:
      name: its public name.
      primitive: what to do with the prepared array.
      doc: its docstring.
      kinds: dtype kinds (``ShapedArray.kind``) on which the primitive is called at once.
      prepare: ``(name, x) -> x`` for the others; by default refuses what is not an array.
      otherwise: what to do with the others instead of ``primitive``.
      contract: what the docstring says of shapes and dtypes.
    """
    doc = with_contract(doc, contract)
    computation = otherwise or primitive

    def prepared(x: Value) -> Value:
        if prepare is None:
            check(name, x)
            return computation(x)
        return computation(prepare(name, x))

    general = fused(named(prepared, name, doc))

    def function(x: Value, /) -> Value:
        try:
            return primitive(x) if type(x) in ARRAYS and x.aval.kind in kinds else general(x)
        except Exception as error:
            fold_traceback(error)
            raise

    folds_itself(function)
    if isinstance(primitive, Primitive):
        function = eager_unary(primitive.op(), kinds, function)
    return named(function, name, doc)


def to_float(name: str, x: Value) -> Value:
    """``x`` in a float dtype."""
    return promote_to_float(name, x)[0]


def float_unary(name: str, primitive: Primitive | Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Make a function of one array that computes in floats: integers and booleans are converted."""
    return unary(name, primitive, doc, kinds=FLOATS, prepare=to_float, contract=IN_FLOATS)


def binary(
    name: str,
    primitive: Any,
    doc: str,
    *,
    kinds: str = NUMBERS,
    prepare: Callable[..., Any] = promote,
    otherwise: Callable[..., Any] | None = None,
    contract: str = PROMOTED,
) -> Callable[..., Any]:
    """Make a function of two arrays: promoted to one dtype, broadcast to one shape.

    Args:
      name: its public name.
      primitive: what to do with the two prepared arrays.
      doc: its docstring.
      kinds: dtype kinds (``ShapedArray.kind``) on which the primitive is called at once if both operands
        are of one type.
      prepare: ``(name, x, y) -> (x, y)`` for the others.
      otherwise: what to do with the others instead of ``primitive``.
      contract: what the docstring says of shapes and dtypes.
    """
    doc = with_contract(doc, contract)
    computation = otherwise or primitive

    def prepared(x: Value, y: Value) -> Any:
        return computation(*prepare(name, x, y))

    general = fused(named(prepared, name, doc))

    def function(x: Value, y: Value, /) -> Value:
        try:
            if type(x) in ARRAYS:
                aval = x.aval
                if aval.kind in kinds:
                    if type(y) in ARRAYS:
                        if y.aval is aval:
                            return primitive(x, y)
                    elif type(y) in aval.adopting:
                        return primitive(x, y)
            elif type(y) in ARRAYS and y.aval.kind in kinds and type(x) in y.aval.adopting:
                return primitive(x, y)
            return general(x, y)
        except Exception as error:
            fold_traceback(error, name)
            raise

    return folds_itself(named(function, name, doc))


def float_binary(name: str, primitive: Primitive, doc: str) -> Callable[..., Any]:
    """Make a function of two arrays that computes in floats."""
    return binary(name, primitive, doc, kinds=FLOATS, prepare=promote_to_float, contract=PROMOTED_TO_FLOAT)


__all__ = [
    "ARRAYS",
    "FLOATS",
    "NUMBERS",
    "binary",
    "float_binary",
    "float_unary",
    "named",
    "to_float",
    "unary",
]
