"""Abstract values: what is known of an array before it exists.

A ``ShapedArray`` is interned, so equal abstract values are one object as long as somebody holds it. Caches
all over Rabbet use that: a signature is a tuple of these objects and comparing two of them costs an identity
test. Its StableHLO type text is computed once.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.config import config
from rabbet.errors import ShapeError
from rabbet.messages.tracebacks import folded
from rabbet.program.dimensions import SymbolicDimension, is_symbolic
from rabbet.program.interned import Alive
from rabbet.program.sharded_types import stands_for
from rabbet.program.unsharded_types import Unplaced

if TYPE_CHECKING:
    import numpy as np

    from rabbet.program.manual_axes import ManualAxisType

# What XLA can count.
MOST_BYTES = 2**63 - 1

# Those asked for lately, by what was asked for, and all that somebody holds, by their own parts: a process in
# which shapes go on changing does not keep them all.
MOST_AVALS = 8192
_interned: dict = {}
_alive = Alive()
_ADOPTING = {
    "b": frozenset([bool]),
    "i": frozenset([int]),
    "u": frozenset([int]),
    "f": frozenset([int, float]),
    "c": frozenset([int, float, complex]),
}
# A weak number gives way to a Python number of its own kind: that may be wider, where 64 bits are on by now.
_WEAK_ADOPTING = {"f": frozenset([int]), "c": frozenset([int])}


class ShapedArray:
    """The shape and dtype of an array, and whether its dtype came from a bare Python scalar.

    Args:
      shape: a tuple of non-negative ints, or of ``SymbolicDimension``.
      dtype: a NumPy dtype, anything that names one, or an ``ExtendedDType``.
      weak_type: True if the dtype gives way to the other operand's in promotion.
      spread: what the type says of devices, an ``OverDevices``; None: nothing.
      sharding: taken for programs that hand on that of another aval; no axis of a mesh is part of the type.

    Two equal calls return the same object; compare with ``is`` or ``==`` alike.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray
      >>> aval = ShapedArray((2, 3), "float32")
      >>> aval.str_short(), aval.size, aval is ShapedArray((2, 3), np.float32)
      ('f32[2,3]', 6, True)
    """

    __slots__ = (
        "shape", "dtype", "weak_type", "ndim", "size", "kind", "adopting", "arithmetic", "is_extended",
        "codes", "is_stored", "is_symbolic", "spread", "_mlir", "_scalar", "__weakref__",
    )  # fmt: skip
    shape: tuple
    dtype: Any
    weak_type: bool
    ndim: int
    size: int
    kind: str
    adopting: frozenset
    arithmetic: bool
    is_extended: bool
    codes: Any
    is_stored: bool
    is_symbolic: bool
    spread: Any
    _mlir: Any
    _scalar: Any

    def __new__(
        cls,
        shape: list[int] | tuple[np.generic | int, ...],
        dtype: Any,
        weak_type: bool = False,
        spread: Any = None,
        *,
        sharding: Any = None,
    ) -> ShapedArray:
        key = (shape, dtype, weak_type) if spread is None else (shape, dtype, weak_type, spread)
        try:
            return _interned[key]
        except (KeyError, TypeError):
            return _intern(
                tuple([_dimension(d) for d in shape]),
                dtypes.canonicalize(dtype),
                bool(weak_type),
                spread,
                key,
            )

    @property
    def mlir(self) -> str:
        """The StableHLO type ``tensor<2x3xf32>``; for a typed key that of its storage."""
        if self._mlir is None:
            physical = self.physical
            dims = "".join(["?x" if isinstance(d, SymbolicDimension) else f"{d}x" for d in physical.shape])
            self._mlir = f"tensor<{dims}{dtypes.mlir_name(physical.dtype)}>"
        return self._mlir

    @property
    def scalar(self) -> ShapedArray:
        """The aval of one element, as weakly typed as this one: what a Python number becomes beside such an
        array.
        """
        if self._scalar is None:
            self._scalar = ShapedArray((), self.dtype, self.weak_type)
        return self._scalar

    @property
    def physical(self) -> ShapedArray:
        """The aval of the array that stores this one; itself, but for an extended dtype, one that is stored
        as codes, and float0.
        """
        dtype = self.dtype
        if dtype is dtypes.float0:
            return ShapedArray(self.shape, bool)
        if self.is_extended:
            return ShapedArray((*self.shape, *dtype.physical_shape), dtype.physical_dtype)
        if self.codes is not None:
            return ShapedArray(self.shape, self.codes)
        return self

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return getattr(self.dtype, "physical_dtype", self.dtype).itemsize

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return self.physical.size * self.itemsize

    def update(self, **changes: Any) -> ShapedArray:
        """The aval that differs from this one in ``shape``, ``dtype``, ``weak_type`` or ``spread``."""
        return ShapedArray(
            changes.get("shape", self.shape),
            changes.get("dtype", self.dtype),
            changes.get("weak_type", self.weak_type),
            changes["spread"] if "spread" in changes else self._spread_for(changes),
        )

    def _spread_for(self, changes: dict[Any, Any]) -> Any:
        if self.spread is None or changes.get("shape", self.shape) == self.shape:
            return self.spread
        return self.spread.of_shape(self.shape, changes["shape"])

    def without(self, axis: int) -> ShapedArray:
        """The aval without a dimension."""
        spread = None if self.spread is None else self.spread.without(axis)
        return self.update(shape=self.shape[:axis] + self.shape[axis + 1 :], spread=spread)

    @property
    def bare(self) -> ShapedArray:
        """The same aval without a word on devices."""
        return self if self.spread is None else ShapedArray(self.shape, self.dtype, self.weak_type)

    def strong(self) -> Any:
        """The same aval without a weak type."""
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        """The aval of a tangent: the same for floating and complex dtypes, float0 for all others."""
        if dtypes.issubdtype(self.dtype, dtypes.inexact):
            return self.strong()
        return ShapedArray(self.shape, dtypes.float0)

    @property
    def sharding(self) -> Unplaced:
        """How axes of a mesh that are part of the type cut its dimensions."""
        found = None if self.spread is None else self.spread.sharding(self)
        if found is None and config.default_sharding is not None:
            return config.default_sharding.of_types(self.ndim)
        return Unplaced(self.ndim) if found is None else found

    @property
    def memory(self) -> str | None:
        """The name of the memory in which values of this type lie; None: the one that devices use unless they
        are told otherwise.
        """
        return None if self.spread is None else self.spread.memory

    @property
    def mat(self) -> ManualAxisType:
        """What the type says of axes of a mesh along which devices compute by themselves."""
        from rabbet.program.manual_axes import PLAIN, ManualAxisType  # few programs ask for it

        spread = self.spread
        if spread is None:
            return PLAIN
        return ManualAxisType(varying=spread.varying, unreduced=spread.unreduced, reduced=spread.reduced)

    @property
    def cotangent(self) -> ShapedArray:
        """The type of cotangents of values of this type: of a sum that is not added up yet, what is said to
        be added up, and the other way round.
        """
        spread = self.spread
        return self if spread is None else self.update(spread=spread.cotangent())

    @property
    def vma(self) -> frozenset:
        """The names of the axes along which values of this type may differ: ``mat.varying``."""
        return frozenset() if self.spread is None else self.spread.varying

    def stands_for(self, other: Any) -> Any:
        """Whether a value of this type may stand where one of type ``other`` is expected, as far as types
        speak of devices: one that may differ between these is not a value that they share.
        """
        return self.spread is other.spread or stands_for(self, other)

    def strip_weak_type(self) -> Any:
        """``strong``, by JAX's name."""
        return self.strong()

    def str_short(self) -> Any:
        """The field's short form, ``f32[2,3]``."""
        dtype = dtypes.short_name(self.dtype)
        if self.spread is not None:
            return self.spread.shown(dtype, self.shape)
        return f"{dtype}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return f"ShapedArray({self._text()}{', weak_type=True' if self.weak_type else ''})"

    def __str__(self) -> str:
        """JAX's text, ``float32[2,3]``; a weak type begins with ``~``."""
        return f"~{self._text()}" if self.weak_type else self._text()

    def _text(self) -> str:
        name = str(self.dtype)
        if self.spread is not None:
            return self.spread.shown(name, self.shape)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __reduce__(self) -> tuple[tuple[Any, ...] | type, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type, self.spread)

    def __copy__(self) -> ShapedArray:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> ShapedArray:
        return self


def _dimension(size: Any) -> Any:
    if isinstance(size, SymbolicDimension):
        return size
    try:
        number = size.__index__()
    except AttributeError:
        raise TypeError(
            f"a shape is a tuple of ints, got the dimension {size!r} of type {type(size).__name__}"
        ) from None
    if number < 0:
        raise ShapeError(f"a dimension cannot be negative, got {number}")
    return number


def _check_bytes(shape: tuple[int, ...], dtype: Any) -> None:
    """Refuse an array whose size in bytes is no 64-bit number: XLA ends the process over it. As in NumPy,
    dimensions of size 0 do not excuse the others.
    """
    shape_in_all = (*shape, *getattr(dtype, "physical_shape", ()))
    size = prod([max(d, 1) for d in shape_in_all]) * (getattr(dtype, "physical_dtype", dtype).itemsize or 1)
    if size > MOST_BYTES:
        raise ValueError(
            f"an array of shape {shape} and dtype {getattr(dtype, 'name', dtype)} is too big: it would have "
            f"about 2**{size.bit_length() - 1} bytes, and memory is addressed with 63 bits\n"
            "  to fix: look where the shape comes from; a product of dimensions may be meant as one of them"
        )


def _intern(
    shape: tuple[int, ...], dtype: Any, weak_type: bool, spread: Any, key: tuple[Any, ...]
) -> ShapedArray:
    proper = (shape, dtype, weak_type) if spread is None else (shape, dtype, weak_type, spread)
    aval = _alive.get(proper)
    if aval is None:
        aval = object.__new__(ShapedArray)
        aval.shape, aval.dtype, aval.weak_type, aval.spread = shape, dtype, weak_type, spread
        aval.ndim, aval.size, aval._mlir, aval._scalar = len(shape), prod(shape), None, None
        aval.is_extended = isinstance(dtype, dtypes.ExtendedDType)
        aval.codes = dtypes.codes(dtype)
        # Whether devices store arrays of another dtype instead.
        aval.is_stored = aval.is_extended or aval.codes is not None
        aval.is_symbolic = is_symbolic(shape)
        if not aval.is_symbolic and (aval.size > MOST_BYTES >> 7 or 0 in shape):
            _check_bytes(shape, dtype)
        aval.kind = dtypes.kind(dtype)
        aval.arithmetic = aval.kind != "b"
        # The Python numbers that can stand beside such an array without changing its dtype.
        aval.adopting = (_WEAK_ADOPTING if weak_type else _ADOPTING).get(aval.kind, frozenset())
        aval = _alive.only(proper, aval)
    if len(_interned) >= MOST_AVALS:
        _interned.clear()
    _interned[proper] = aval
    try:
        _interned[key] = aval
    except TypeError:
        pass
    return aval


@folded
class ShapeDtypeStruct:
    """A shape and a dtype standing in for an array, as ``eval_shape`` takes and returns.

    Args:
      shape: a sequence of ints.
      dtype: anything that names a dtype.
      sharding: how the array lies, a ``Sharding`` or None.
      weak_type: whether the dtype gives way in promotion.

    Example:
      >>> x = rb.ShapeDtypeStruct((2, 3), "float32")
      >>> x.size, x.ndim
      (6, 2)
    """

    __slots__ = ("aval", "sharding")

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: Any = False,
        manual_axis_type: Any = None,
        is_ref: bool = False,
    ) -> None:
        if manual_axis_type is not None or is_ref:
            name = "is_ref" if is_ref else "manual_axis_type"
            raise NotImplementedError(
                f"ShapeDtypeStruct: {name} is not supported in this version, leave it out"
            )
        if dtype is None:
            raise ValueError("ShapeDtypeStruct needs a dtype, got None")
        # The classes of shardings lie above: they cut shapes, or stand for what does.
        knows = sharding is None or any(hasattr(type(sharding), a) for a in ("shard_shape", "__sharding__"))
        if not knows:
            raise ValueError(
                "ShapeDtypeStruct: sharding must be a Sharding, a PartitionSpec or a Format, got "
                f"{sharding!r:.60}"
            )
        # Dimensions are checked here, because the table of avals would find 2.0 under 2.
        shape = tuple([_dimension(d) for d in shape])
        self.aval = ShapedArray(shape, dtypes.canonicalize(dtype), weak_type)
        self.sharding = sharding

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    weak_type = property(lambda self: self.aval.weak_type)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    itemsize = property(lambda self: self.aval.itemsize)
    nbytes = property(lambda self: self.aval.nbytes)

    @classmethod
    def like(cls, x: Any) -> Any:
        """That of an array, or of anything with a shape and a dtype.

        Example:
          >>> rb.ShapeDtypeStruct.like(np.ones((2, 3), np.float32))
          ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        return cls(x.shape, x.dtype, weak_type=bool(getattr(x, "weak_type", False)))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """The same with another ``shape``, ``dtype``, ``weak_type`` or ``sharding``."""
        sharding = changes.pop("sharding", self.sharding)
        unknown = set(changes) - {"shape", "dtype", "weak_type"}
        if unknown:
            raise TypeError(f"ShapeDtypeStruct.update: no {sorted(unknown)[0]!r} to change")
        aval = self.aval.update(**changes)
        return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)

    def __len__(self) -> int:
        return len(self.aval)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.aval, self.sharding) == (
            other.aval,
            other.sharding,
        )

    def __hash__(self) -> int:
        return hash((self.aval, self.sharding))

    def __repr__(self) -> str:
        more = "" if self.sharding is None else f", sharding={self.sharding}"
        more += ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{more})"
