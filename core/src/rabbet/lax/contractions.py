"""Products of matrices and of stacks of them, and how exactly to compute them."""

from __future__ import annotations

import enum
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import dtypes
from rabbet.config import config
from rabbet.errors import ShapeError, TypePromotionError
from rabbet.lax.array_types import ArrayLike, DTypeLike
from rabbet.primitives import contractions
from rabbet.primitives.checks import axis_in_range
from rabbet.primitives.convert import to_dtype
from rabbet.primitives.precision import ALIASES, Precision
from rabbet.runtime.transfer import hidden, obey_sharding, obeys_out_sharding
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value

DotDimensionNumbers = tuple
"""``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``, each a sequence of ints."""


class DotAlgorithm(NamedTuple):
    """The exact algorithm of a product of matrices: in what types operands are read and sums are kept, in how
    many steps.

    Example:
      >>> lax.DotAlgorithm('float32', 'float32', 'float32').accumulation_type
      'float32'
    """

    lhs_precision_type: str
    rhs_precision_type: str
    accumulation_type: str
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False

    @property
    def algorithm(self) -> Any:
        """Itself, as a preset has it."""
        return self


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by JAX's names, operand types first and the type of sums last. Not every device has
    every one.

    Example:
      >>> lax.dot(rnp.ones((2, 2)), rnp.ones((2, 2)), precision=lax.DotAlgorithmPreset.F32_F32_F32)
      Array([[2., 2.],
             [2., 2.]], dtype=float32)
    """

    DEFAULT = None  # what the compiler chooses for the dtypes
    # Of two floats of 8 bits in any formats; FAST_ACCUM may round sums on the way.
    ANY_F8_ANY_F8_F32 = DotAlgorithm("any_f8", "any_f8", "f32")
    ANY_F8_ANY_F8_F32_FAST_ACCUM = DotAlgorithm("any_f8", "any_f8", "f32", allow_imprecise_accumulation=True)
    ANY_F8_ANY_F8_ANY = DotAlgorithm("any_f8", "any_f8", "any")
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = DotAlgorithm("any_f8", "any_f8", "any", allow_imprecise_accumulation=True)
    F16_F16_F16 = DotAlgorithm("f16", "f16", "f16")
    F16_F16_F32 = DotAlgorithm("f16", "f16", "f32")
    BF16_BF16_BF16 = DotAlgorithm("bf16", "bf16", "bf16")
    BF16_BF16_F32 = DotAlgorithm("bf16", "bf16", "f32")
    BF16_BF16_F32_X3 = DotAlgorithm("bf16", "bf16", "f32", num_primitive_operations=3)
    BF16_BF16_F32_X6 = DotAlgorithm("bf16", "bf16", "f32", num_primitive_operations=6)
    BF16_BF16_F32_X9 = DotAlgorithm("bf16", "bf16", "f32", num_primitive_operations=9)
    TF32_TF32_F32 = DotAlgorithm("tf32", "tf32", "f32")
    TF32_TF32_F32_X3 = DotAlgorithm("tf32", "tf32", "f32", num_primitive_operations=3)
    F32_F32_F32 = DotAlgorithm("f32", "f32", "f32")
    F64_F64_F64 = DotAlgorithm("f64", "f64", "f64")

    algorithm = property(lambda self: self.value)

    def __repr__(self) -> str:
        return self.name


PrecisionLike = None | str | Precision | tuple | DotAlgorithm | DotAlgorithmPreset
"""What ``precision=`` takes: a ``Precision``, its name, one for each operand, or an algorithm."""


def canonical_precision(precision: Any) -> Any:
    """The ``precision`` parameter of ``dot_general``: None, a pair of ``Precision``, or an algorithm.

    Args:
      precision: None (then ``config.default_matmul_precision`` decides), a name, a ``Precision``, an
        algorithm, or a pair of names or ``Precision`` for the two operands.

    Raises:
      ValueError: for a name that is not known.

    Example:
      >>> from rabbet.extend.primitive import canonical_precision
      >>> canonical_precision("high")
      (HIGH, HIGH)
    """
    if precision is None:
        precision = config.default_matmul_precision
        if precision is None:
            return None
    if precision is DotAlgorithmPreset.DEFAULT:
        return None
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        return tuple([_precision(p) for p in precision])
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return canonical_precision(DotAlgorithmPreset[precision])
    return (_precision(precision),) * 2


def _precision(value: Any) -> Any:
    if value is None:
        return Precision.DEFAULT
    try:
        return Precision(value)
    except ValueError:
        known = ", ".join([*ALIASES, *DotAlgorithmPreset.__members__])
        raise ValueError(
            f"{value!r} is not a precision; use a lax.Precision, a pair of them, or one of {known}"
        ) from None


def dot_general(
    lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: Any, precision: Any = None,
    preferred_element_type: DTypeLike = None, *, out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Products of ``lhs`` and ``rhs`` summed over contracting dimensions, one for each position along batch
    dimensions.

    Args:
      lhs, rhs: arrays. Of different dtypes the result has the wider one, a float before an integer, a signed
        integer before an unsigned one of as many bits. Two floats of at most 8 bits may differ where
        ``preferred_element_type`` is given.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``, dimensions paired
        by position.
      precision: see ``Precision``; by default ``config.default_matmul_precision``.
      preferred_element_type: the dtype of sums and of the result, by default that of the operands.

    Returns:
      an array with the batch dimensions, then the other dimensions of ``lhs``, then those of ``rhs``.

    Raises:
      TypeError: if paired dimensions differ in size.
      ValueError: if a dimension is out of range or is named twice.

    Example:
      >>> lax.dot_general(rnp.ones((5, 2, 3)), rnp.ones((5, 3, 4)), (((2,), (1,)), ((0,), (0,)))).shape
      (5, 2, 4)
    """
    if out_sharding is not None:
        lhs, rhs = hidden(lhs), hidden(rhs)
        out = dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
        return obey_sharding("dot_general", out, out_sharding)
    x, y = typeof(lhs), typeof(rhs)
    preferred = None if preferred_element_type is None else dtypes.requested(preferred_element_type)
    if x.dtype != y.dtype and (preferred is None or not contractions.small_floats(x, y)):
        result = wider(x.dtype, y.dtype)
        try:
            dtype = dtypes.promote_types(x.dtype, y.dtype)
        except TypePromotionError:  # formats of few bits are part of products, and of no other arithmetic
            dtype = result
        lhs, rhs = to_dtype(lhs, dtype), to_dtype(rhs, dtype)
        if dtype != result and preferred is None:
            dims = _numbers(dimension_numbers, x.ndim, y.ndim)
            exact = canonical_precision(precision)
            out = contractions.dot_general(lhs, rhs, dimension_numbers=dims, precision=exact)
            return to_dtype(out, result)
    return contractions.dot_general(
        lhs, rhs, dimension_numbers=_numbers(dimension_numbers, x.ndim, y.ndim),
        precision=canonical_precision(precision), preferred_element_type=preferred,
    )  # fmt: skip


def wider(x: Any, y: Any) -> Any:
    """The dtype of a product of two: the one that has more kinds of numbers, or else more bits; of as many
    bits a signed integer, and bfloat16 rather than float16.
    """

    def rank(dtype: Any) -> tuple[Any, ...]:
        kind = dtypes.kind(dtype)
        if kind == "b":
            return -1, 0, False, 0.0
        info = dtypes.iinfo(dtype) if kind in "iu" else dtypes.finfo(dtype)
        kinds = "ifc".index("i" if kind == "u" else kind)
        return kinds, info.bits, kind == "i", float(info.max)

    return max(x, y, key=rank)


def _numbers(dimension_numbers: Any, lhs_rank: int, rhs_rank: int) -> tuple:
    try:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    except (TypeError, ValueError):
        raise ShapeError(
            f"dimension_numbers must be ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), got "
            f"{dimension_numbers!r}"
        ) from None

    def axes(dims: Any, rank: int) -> tuple:
        return tuple([axis_in_range("dot_general", operator.index(d), rank) for d in dims])

    return (axes(lhs_contract, lhs_rank), axes(rhs_contract, rhs_rank)), (
        axes(lhs_batch, lhs_rank),
        axes(rhs_batch, rhs_rank),
    )


@obeys_out_sharding
def dot(
    lhs: ArrayLike, rhs: ArrayLike, *, dimension_numbers: Any = None, precision: Any = None,
    preferred_element_type: DTypeLike = None, out_sharding: Any = None,
) -> Value:  # fmt: skip
    """The product of vectors and matrices, summed over the last dimension of ``lhs`` and the first of
    ``rhs``.

    With ``dimension_numbers`` it is ``dot_general``.

    Raises:
      TypeError: if an operand is neither a vector nor a matrix, or sizes disagree.

    Example:
      >>> lax.dot(rnp.ones((2, 3)), rnp.ones((3, 4))).shape
      (2, 4)
    """
    if dimension_numbers is None:
        x, y = typeof(lhs), typeof(rhs)
        if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2):
            raise ShapeError(
                f"lax.dot takes vectors and matrices, got {x.str_short()} and {y.str_short()}; for more "
                "dimensions use lax.dot_general, lax.batch_matmul or rabbet.numpy.matmul"
            )
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: Any = None) -> Value:
    """Matrix products of the last two dimensions, all leading dimensions being batch dimensions.

    Raises:
      TypeError: if the operands do not have one rank of at least two.

    Example:
      >>> lax.batch_matmul(rnp.ones((5, 2, 3)), rnp.ones((5, 3, 4))).shape
      (5, 2, 4)
    """
    x, y = typeof(lhs), typeof(rhs)
    if x.ndim < 2 or x.ndim != y.ndim:
        raise ShapeError(
            f"batch_matmul takes arrays of one rank, at least 2, got {x.str_short()} and {y.str_short()}"
        )
    batch = tuple(range(x.ndim - 2))
    return dot_general(lhs, rhs, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)), precision)


__all__ = [
    "DotAlgorithm", "DotAlgorithmPreset", "DotDimensionNumbers", "Precision", "batch_matmul",
    "canonical_precision", "dot",
    "dot_general",
]  # fmt: skip
