"""``Exported``: a function as StableHLO, with all that is needed to call it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rabbet.export.apart import read_apart
from rabbet.export.checks import DisabledSafetyCheck
from rabbet.export.devices import sharding_on
from rabbet.export.errors import ExportError
from rabbet.export.serializing import serialized
from rabbet.extend.functions import folded
from rabbet.extend.native import from_portable
from rabbet.extend.primitive import ShapedArray
from rabbet.tree import PyTreeDef

READABLE: set[str] = set()  # digests of programs that this process exported, or has seen read


@folded
@dataclass(frozen=True, eq=False)
class Exported:
    """A function lowered to StableHLO, as ``export`` makes it and ``deserialize`` reads it.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the structures of ``(args, kwargs)``, without static arguments, and of the result.
      in_avals, out_avals: the types of their leaves; dimensions may be symbolic.
      nr_devices: for how many devices the program is.
      platforms: those that it is for, ``("cpu",)``.
      ordered_effects, unordered_effects: none, programs with effects are not exported.
      disabled_safety_checks: what was given to ``export``.
      mlir_module_serialized: the portable artifact of StableHLO.
      calling_convention_version: how its ``main`` is called.
      module_kept_var_idx: the leaves of the arguments that ``main`` takes.
      uses_global_constants: whether ``main`` takes more than these: which platform it is, or dimensions.
      in_shardings_hlo, out_shardings_hlo: None for each leaf, as in JAX: shardings are told by
        ``in_shardings_jax`` and ``out_shardings_jax``.

    Example:
      >>> from rabbet import export
      >>> double = export.export(rb.jit(lambda x: 2 * x))(rb.ShapeDtypeStruct((2,), "float32"))
      >>> double.in_avals, double.platforms
      ((ShapedArray(float32[2]),), ('cpu',))
      >>> export.deserialize(double.serialize()).call(np.float32([1, 2])).tolist()
      [2.0, 4.0]
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    in_shardings_hlo: tuple[Any, ...]
    out_shardings_hlo: tuple[Any, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[Any, ...]
    unordered_effects: tuple[Any, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes = field(repr=False)
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[[Exported], Exported] | None = field(default=None, repr=False)
    _in_layouts: tuple[Any, ...] = field(default=(), repr=False)  # of each leaf a ``devices.Laid``, or None
    _out_layouts: tuple[Any, ...] = field(default=(), repr=False)
    _trusted: bool = field(default=True, repr=False)  # what it calls is not looked at
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # what calls make once

    def mlir_module(self, serialized: bool = True) -> str:
        """The StableHLO module as text. That of strangers is read in another process, which it may end.
        ``serialized`` has no effect: there is one module, read from the bytes.

        Raises:
          ExportError: for a program that cannot be read.
        """
        if not self._trusted and self.digest not in READABLE:
            if "text" not in self._kept:
                self._kept["text"] = read_apart(self.fun_name, self.mlir_module_serialized)
            READABLE.add(self.digest)
            return self._kept["text"]
        try:
            return from_portable(self.mlir_module_serialized, trusted=True)
        except ValueError as error:
            raise ExportError(f"{self.fun_name!r} cannot be read: {error}") from None

    def has_vjp(self) -> bool:
        """Whether ``vjp`` has an answer."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The function's derivative, as an ``Exported``: from the leaves of the arguments and a cotangent for
        each leaf of the result to a cotangent for each leaf of the arguments.

        Raises:
          ExportError: for what was read from bytes that hold no derivative; ``serialize(vjp_order=1)`` writes
            one.
        """
        if self._get_vjp is None:
            raise ExportError(
                f"{self.fun_name!r} was exported without its derivative (No VJP is available); write it with "
                "serialize(vjp_order=1), or a higher order"
            )
        if "vjp" not in self._kept:
            self._kept["vjp"] = self._get_vjp(self)
        return self._kept["vjp"]

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Bytes that ``deserialize`` reads, here and in JAX.

        Args:
          vjp_order: how many derivatives to write along: with 1 the loaded function has a gradient, with 2
            also a second one.

        Raises:
          ExportError: for structures with classes that are not registered for serialization.
        """
        return serialized(self, vjp_order)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, on arrays of the types that it was exported for, in the same structure.

        It may be called in functions that are compiled or differentiated in reverse mode, as often as there
        are derivatives; ``vmap`` has no rule for it. A program for several devices is called with arrays on
        as many.

        Raises:
          ExportError: for other structures, shapes, dtypes, platforms, or another number of devices.
        """
        from rabbet.export.calling import call

        return call(self, args, kwargs)

    def in_shardings_jax(self, mesh: Any = None) -> Sequence[Any]:
        """How each leaf of the arguments was to lie: a ``NamedSharding`` on ``mesh``, or None where nothing
        was said, as for one device.

        Args:
          mesh: a ``Mesh`` with the axes of the one that the program was exported for, on any devices.

        Raises:
          ExportError: for a mesh of other axes.
        """
        return tuple([sharding_on(mesh, one, self.fun_name) for one in self._in_layouts])

    def out_shardings_jax(self, mesh: Any = None) -> Sequence[Any]:
        """How each leaf of the result lies, as ``in_shardings_jax`` says it."""
        return tuple([sharding_on(mesh, one, self.fun_name) for one in self._out_layouts])

    @property
    def digest(self) -> str:
        """A name for the program that no other has."""
        if "digest" not in self._kept:
            self._kept["digest"] = hashlib.sha256(self.mlir_module_serialized).hexdigest()[:20]
        return self._kept["digest"]

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"


__all__ = ["Exported"]
