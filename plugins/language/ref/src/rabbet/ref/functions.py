"""The functions: make a reference, read, write, end it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import lax
from rabbet.extend.cells import Cell, read, write
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof
from rabbet.ref import reference
from rabbet.ref.reference import Ref, apart

if TYPE_CHECKING:
    from rabbet.typing import Value


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False) -> Ref:
    """A reference with a first value.

    Args:
      init_val: an array or number; its shape and dtype are those of all values to come.
      memory_space, kind, pin: accepted for programs of JAX, without effect.

    Returns:
      a ``Ref``. It belongs to where it is made: within a function that is transformed, it lives as long as
      that runs, and what is written to it is transformed too.

    Raises:
      TypeError: if ``init_val`` is not an array.

    Example:
      >>> counter = rb.new_ref(0)
      >>> @rb.jit
      ... def count():
      ...     counter[...] += 1
      >>> count(), count(), counter
      (None, None, Ref(2, dtype=int32))
    """
    if isinstance(init_val, Cell):
        raise TypeError(f"new_ref takes an array, got {init_val!r:.60}; read its value with ref[...]")
    value = apart(array_or_tracer(init_val))
    aval = typeof(value)
    if aval.weak_type:
        value = lax.convert_element_type(value, aval.dtype)
    return Ref(ShapedArray(aval.shape, aval.dtype), value)


def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> Ref:
    """A reference of a shape and dtype, with zeros until something is written.

    Args:
      ty: an object with a shape and a dtype, such as a ``ShapeDtypeStruct``.
      memory_space, pin: accepted for programs of JAX, without effect.

    Example:
      >>> from rabbet.ref import empty_ref
      >>> ref = empty_ref(rb.ShapeDtypeStruct((2,), 'float32'))
      >>> ref[0] = 3.0
      >>> ref[...]
      Array([3., 0.], dtype=float32)
    """
    return new_ref(lax.full(tuple(ty.shape), 0, ty.dtype))


def get(ref: Ref, idx: Any = None) -> Any:
    """``ref[idx]``; everything without ``idx``.

    Example:
      >>> rb.ref.get(rb.new_ref(rnp.arange(4)), slice(1, 3))
      Array([1, 2], dtype=int32)
    """
    return reference.get(ref, idx)


def set(ref: Ref, idx: Any, value: Any) -> None:
    """``ref[idx] = value``.

    Args:
      ref: a ``Ref`` or a part of one, ``ref.at[i]``.
      idx: as for an array; None for everything.
      value: an array of the shape that ``ref[idx]`` has, and of the dtype of the reference (a Python number
        takes it).

    Raises:
      ValueError: for another shape or dtype, or a Python int that is out of bounds.
      TypeError: for a value that depends on the inputs of a transformation outside of which the reference
        was made.

    Example:
      >>> ref = rb.new_ref(rnp.zeros(2))
      >>> rb.ref.set(ref, 0, 7.0)
      >>> ref[...]
      Array([7., 0.], dtype=float32)
    """
    reference.put(ref, idx, value)


def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """``ref[idx] = value``; the value before. See ``set``.

    Example:
      >>> ref = rb.new_ref(rnp.arange(3))
      >>> rb.ref.swap(ref, 2, 10), ref
      (Array(2, dtype=int32), Ref([ 0,  1, 10], dtype=int32))
    """
    return reference.swap(ref, idx, value)


def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """``ref[idx] += x``, also where ``idx`` names an element several times. See ``set``.

    Example:
      >>> ref = rb.new_ref(rnp.zeros(3))
      >>> rb.ref.addupdate(ref, rnp.array([0, 0, 2]), rnp.ones(3))
      >>> ref
      Ref([2., 0., 1.], dtype=float32)
    """
    reference.add(ref, idx, x)


def freeze(ref: Any) -> Value:
    """The last value of a reference, which should not be used any more.

    Example:
      >>> ref = rb.new_ref(rnp.zeros(2))
      >>> ref[1] = 5.0
      >>> rb.freeze(ref)
      Array([0., 5.], dtype=float32)
    """
    if not isinstance(ref, Ref):
        raise TypeError(f"freeze takes a Ref, made by new_ref, got {type(ref).__name__}")
    return reference.get(ref, ...)


def free_ref(ref: Ref) -> None:
    """Let go of the memory of a reference, which cannot be used any more.

    Example:
      >>> from rabbet.ref import free_ref
      >>> ref = rb.new_ref(rnp.zeros(2))
      >>> free_ref(ref)
    """
    read(ref)
    write(ref, None)


__all__ = [
    "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap",
]  # fmt: skip
