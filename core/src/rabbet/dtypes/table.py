"""The table of dtypes: what a name means, what is known of a dtype, and how two of them promote.

Names, scalar types and NumPy dtypes are looked up in dicts. What is not there is asked of ``find_spec``,
which looks among the installed plugins, once for each new name.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rabbet.config import config
from rabbet.dtypes import unknown_names
from rabbet.dtypes.arguments import is_abstract, only_numpy_has, parsed, python_type
from rabbet.dtypes.array_protocol import array_of
from rabbet.dtypes.promotion_order import Lattice
from rabbet.dtypes.specs import (
    CORE_ORDER,
    CORE_SPECS,
    DEFAULTS,
    KINDS,
    NARROW,
    NARROW_ORDER,
    PYTHON,
    PYTHON_NAMES,
    SCALARS,
    WEAK,
    DTypeSpec,
    ExtendedDType,
    check_codes,
    float0,
)
from rabbet.dtypes.written_out import is_written_out
from rabbet.errors import NotOfferedError, PluginConflictError, PluginError, TypePromotionError
from rabbet.messages.operation_origin import asked_by_library


class DTypeTable:
    """The dtypes that are known. The process has one; a test may make its own.

    Args:
      specs: the rows to start with; their places in promotion are those of the core.
      find_spec: ``find_spec(name)`` returns the DTypeSpec of a name that the table lacks, or None.

    Example:
      >>> from rabbet.dtypes import DTypeTable
      >>> sorted(DTypeTable().names())[:3]
      ['bool', 'complex128', 'complex64']
    """

    def __init__(
        self,
        specs: Any = CORE_SPECS,
        find_spec: Callable[[str], Any] | None = None,
        installed_names: Callable[[], Any] = tuple,
    ) -> None:
        self.find_spec = find_spec
        self.installed_names = installed_names
        self._lock = threading.RLock()
        self._by_name = {spec.name: spec for spec in specs}
        self._by_dtype = {spec.dtype: spec for spec in specs}
        self.rows = self._by_dtype  # by the NumPy dtype
        self._known: dict[Any, Any] = {float0: float0}
        for spec in specs:
            self._remember(spec)
        self._lattices = {False: Lattice(NARROW_ORDER), True: Lattice(CORE_ORDER)}
        self._promoted = {}
        self._placing = []
        self.refuse: Callable[[str, PluginConflictError], Any] = raise_it

    def add(self, spec: DTypeSpec) -> None:
        """Add a row. It is checked first: a refused one leaves the table as it was.

        Example:
          >>> from rabbet.dtypes import DTypeTable, spec
          >>> table = DTypeTable()
          >>> table.add(spec("bfloat16"))
          >>> "bfloat16" in table.names()
          True
        """
        with self._lock:
            have = self._by_name.get(spec.name) or self._by_dtype.get(spec.dtype)
            if have == spec:
                return
            if have is not None:
                raise PluginConflictError(
                    f"dtype {spec.name!r} is in the table already\n  {have}\n  {spec}\n  to fix: a name of "
                    "its own and a NumPy dtype of its own; two rows share neither"
                )
            if spec.kind not in KINDS:
                raise PluginConflictError(
                    f"dtype {spec.name!r} has kind {spec.kind!r}; the kinds are {', '.join(KINDS)}"
                )
            if spec.compute is not None and spec.compute not in self.names():
                raise PluginConflictError(
                    f"dtype {spec.name!r} computes in {spec.compute!r}, which no installed package has\n"
                    f"  to fix: compute='float32', or another of {', '.join(self._by_name)}"
                )
            check_codes(spec)
            above, below = self._neighbours(spec, spec.above), self._neighbours(spec, spec.below)
            self._lattices = {
                wide: lattice.extended(spec.name, above, below) for wide, lattice in self._lattices.items()
            }
            self._by_name[spec.name] = self._by_dtype[spec.dtype] = spec
            self._remember(spec)

    def _neighbours(self, spec: DTypeSpec, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names that promotion knows, once the packages that have them are loaded.

        So the place of a row does not depend on what was used before. Two rows that name each other are
        joined by the one that is added last.
        """
        self._placing.append(spec.name)
        try:
            for name in names:
                if name not in self._lattices[False] and name not in self._placing:
                    with contextlib.suppress(PluginError):  # a broken one is as good as none
                        self.find(name)
        finally:
            self._placing.pop()
        return tuple([name for name in names if name in self._lattices[False]])

    def _remember(self, spec: DTypeSpec) -> None:
        for form in (spec.dtype, spec.dtype.type, spec.name):
            if form is not np.void:  # of a format that NumPy does not know
                self._known[form] = spec.dtype

    def specs(self) -> tuple[DTypeSpec, ...]:
        """The rows that are known so far, in the order in which they came."""
        return tuple(self._by_name.values())

    def names(self) -> list[str]:
        """The names of all dtypes, those that installed packages offer included; nothing is imported.

        Example:
          >>> "float32" in rb.dtypes.names()
          True
        """
        return sorted({*self._by_name, *self.installed_names()})

    def find(self, name: Any) -> DTypeSpec | None:
        """The row of ``name``, from the table or from the plugin that has it; None if there is none.

        Example:
          >>> rb.dtypes.find("int8").mlir, rb.dtypes.find("float7")
          ('i8', None)
        """
        spec = self._by_name.get(name)
        if spec is None and self.find_spec is not None:
            spec = self.find_spec(name)
            if spec is not None:
                try:
                    self.add(spec)
                except PluginConflictError as error:
                    self.refuse(name, error)
                    return None
        return spec

    def spec(self, dtype: Any) -> DTypeSpec:
        """The row of a dtype.

        Example:
          >>> rb.dtypes.spec(np.dtype("float32")).mlir
          'f32'
        """
        found = self.canonicalize(dtype)
        if isinstance(found, ExtendedDType):
            raise TypeError(
                f"{found} is an extended dtype, which has no row in the table\n  ask it itself: its name, "
                f"physical_dtype ({found.physical_dtype.name}) and physical_shape {found.physical_shape}"
            )
        return self._by_dtype[found]

    def canonicalize(self, dtype: Any) -> Any:
        """The dtype that ``dtype`` means: a NumPy dtype of the table, or an ExtendedDType.

        Args:
          dtype: a dtype, its name, a scalar type, or anything with a ``dtype``. ``int``, ``float`` and
            ``complex`` mean the default width; every other dtype means itself.

        Raises TypeError for a dtype that no installed package knows.

        Example:
          >>> rb.dtypes.canonicalize("float16")
          dtype('float16')
        """
        try:
            return self._known[dtype]
        except (KeyError, TypeError):
            return self._canonicalize(dtype)

    def _canonicalize(self, dtype: Any) -> Any:
        if isinstance(dtype, str):
            dtype = PYTHON_NAMES.get(dtype, dtype)
        if dtype is bool:  # without a look at the settings: this happens while Rabbet is imported
            return DEFAULTS[False][bool]
        if isinstance(dtype, type) and dtype in PYTHON:
            return DEFAULTS[config.enable_x64][dtype]
        if isinstance(dtype, ExtendedDType):
            return dtype
        if not isinstance(dtype, (str, type, np.dtype)):
            if not hasattr(dtype, "dtype"):
                sizes = "; the sizes of a shape are one tuple, as (3, 4)" if isinstance(dtype, int) else ""
                raise TypeError(f"{dtype!r} is not a dtype: expected a name, a scalar type or a dtype{sizes}")
            return self.canonicalize(dtype.dtype)
        numpys = parsed(dtype)
        spec = self.find(dtype if numpys is None else numpys.names[0] if numpys.names else numpys.name)
        if spec is not None and numpys is not None and numpys.names and numpys != spec.dtype:
            spec = None
        if spec is None:
            raise unknown_names.refusal(getattr(numpys, "name", dtype), self._by_name, self.installed_names())
        with contextlib.suppress(TypeError):  # what NumPy reads as a dtype need not have a hash
            self._known[dtype] = spec.dtype
        return spec.dtype

    def requested(self, dtype: Any) -> Any:
        """The dtype that the argument of a call means: as ``canonicalize``, and what
        ``config.explicit_x64_dtypes`` says of 64 bits that the user's call writes out, as ``int`` does not.

        Example:
          >>> rb.dtypes.requested("int64")
          dtype('int64')
        """
        found, mode = self.canonicalize(dtype), config.explicit_x64_dtypes
        if found not in NARROW or config.enable_x64 or mode == "allow":
            return found
        if not is_written_out(found, self.canonicalize):  # it is what comes of the operands
            return found
        message = f"the dtype {found.name} was asked for while config.enable_x64 is off and "
        message += f"config.explicit_x64_dtypes is {mode!r}"
        if mode == "error":
            raise ValueError(f"{message}; ask for {NARROW[found].name}, or change one of the two")
        from rabbet.messages.source_positions import stacklevel  # above this module

        warnings.warn(f"{message}: it becomes {NARROW[found].name}", stacklevel=stacklevel())
        return NARROW[found]

    def kind(self, dtype: Any) -> str:
        """One letter: ``b`` bool, ``i`` int, ``u`` unsigned int, ``f`` float, ``c`` complex, ``V``
        anything else.

        Example:
          >>> rb.dtypes.kind(np.dtype("float16")), rb.dtypes.kind(np.dtype("bool"))
          ('f', 'b')
        """
        dtype = self.canonicalize(dtype)
        return self._by_dtype[dtype].kind if dtype in self._by_dtype else "V"

    def mlir_name(self, dtype: Any) -> str:
        """The StableHLO element type: ``f32``, ``ui8``, ``i1`` (also for float0, which has no elements to
        store).

        Example:
          >>> rb.dtypes.mlir_name(np.dtype("complex64"))
          'complex<f32>'
        """
        if dtype == float0:
            return "i1"
        spec = self.spec(dtype)
        name = spec.mlir if spec.codes is None else self.spec(spec.codes).mlir
        if name is None:
            raise NotOfferedError(
                f"no compiled program can hold a {self.canonicalize(dtype).name}: compilers have no such "
                "type\n"
                "  to fix: convert in NumPy first, as in np.asarray(x).astype('float32')"
            )
        return name

    def short_name(self, dtype: Any) -> str:
        """The name as jaxprs print it: ``f32``, ``i8``, ``u32``, ``bf16``, ``c64``, ``bool``.

        Example:
          >>> rb.dtypes.short_name(np.dtype("float32"))
          'f32'
        """
        dtype = self.canonicalize(dtype)
        if isinstance(dtype, ExtendedDType):
            return dtype.name
        if dtype == float0:
            return "float0"
        name = self._by_dtype[dtype].name
        for long in ("float", "uint", "int", "complex"):
            name = name.replace(long, long[0])
        return name

    def codes(self, dtype: Any) -> np.dtype | None:
        """The integer dtype that devices store instead of ``dtype``, for formats that compilers do not know.

        Example:
          >>> rb.dtypes.codes(np.dtype("float32")) is None
          True
        """
        spec = self._by_dtype.get(dtype)
        return None if spec is None or spec.codes is None else np.dtype(spec.codes)

    def itemsize_bits(self, dtype: Any) -> int:
        """Bits of one element as it is stored in an array on a device.

        Example:
          >>> rb.dtypes.itemsize_bits(np.dtype("int16"))
          16
        """
        dtype = self.canonicalize(dtype)
        spec = self._by_dtype.get(dtype)
        return spec.storage_bits if spec is not None else 8 * dtype.itemsize

    def narrow(self, dtype: Any) -> Any:
        """The dtype an array gets from a NumPy *value* of ``dtype``: 32 bits for 64, unless
        ``config.enable_x64``.

        Example:
          >>> rb.dtypes.narrow(np.dtype("float64")), rb.dtypes.narrow(np.dtype("int8"))
          (dtype('float32'), dtype('int8'))
        """
        dtype = self.canonicalize(dtype)
        return dtype if config.enable_x64 else NARROW.get(dtype, dtype)

    # Promotion ------------------------------------------------------------------------------------

    def promote_types(self, a: Any, b: Any) -> Any:
        """The dtype of an operation between ``a`` and ``b``, which are dtypes, or weak if ``int``,
        ``float``, ``complex``.

        Example:
          >>> rb.dtypes.promote_types("int8", "uint8")
          dtype('int16')
        """
        return self.result_type(a, b)

    def promote(self, *values: Any) -> tuple[Any, bool]:
        """``(dtype, weak_type)`` in which an operation takes ``values``: arrays, tracers, avals, scalars,
        dtypes.

        It is weak if all of them are, or if a weak one of a higher kind decides (an int32 array and a Python
        float). Raises TypePromotionError if there is no common dtype.

        Example:
          >>> rb.dtypes.promote(np.int8(1), 2.5)
          (dtype('float32'), True)
        """
        key = config.enable_x64, *[self._typing(v) for v in values]
        if config.numpy_dtype_promotion == "strict":
            return self._strictly(*key)
        try:
            return self._promoted[key]
        except KeyError:
            result = self._promoted[key] = self._promote(*key)
            return result

    def result_type(self, *values: Any, return_weak_type_flag: bool = False) -> Any:
        """The dtype that stands for ``values`` in a program: as ``promote``, but a weak result is as wide
        as a Python number alone. With ``return_weak_type_flag`` the pair ``(dtype, weak_type)``.

        Example:
          >>> rb.dtypes.result_type(np.int8(1), 2.0)
          dtype('float32')
        """
        if not values:
            raise ValueError("result_type needs at least one value")
        dtype, weak = self.promote(*values)
        if weak:
            kind = self.kind(dtype)
            wide = config.enable_x64 or (kind in "fc" and dtype in NARROW)
            unsigned = np.dtype("uint64" if wide else "uint32")
            dtype = unsigned if kind == "u" else DEFAULTS[wide][SCALARS[kind]]
        return (dtype, weak) if return_weak_type_flag else dtype

    def _typing(self, value: Any) -> Any:
        """``(dtype, weak)`` of a value or a dtype."""
        kind = type(value)
        if kind in PYTHON:
            return DEFAULTS[config.enable_x64][kind], kind is not bool
        aval = getattr(value, "aval", value)
        try:
            return aval.dtype, aval.weak_type
        except AttributeError:
            pass
        if isinstance(value, (np.ndarray, np.generic)):
            return self.narrow(value.dtype), False
        if hasattr(value, "__jax_array__") and not isinstance(value, type):
            return self._typing(array_of(value))
        if isinstance(value, tuple(PYTHON)):  # a subclass, such as an IntEnum
            return DEFAULTS[config.enable_x64][python_type(value)], True
        return self.canonicalize(value), value is int or value is float or value is complex

    def _strictly(self, wide: bool, *typings: Any) -> Any:
        """As ``_promote``, where nothing may change its dtype but Python numbers that fit beside the rest."""
        strong = {dtype for dtype, weak in typings if not weak}
        result = self._promote(wide, *typings)
        if (len(strong) > 1 or (strong and result[0] not in strong)) and not asked_by_library():
            named = ", ".join([f"{dtype.name}{' (of a Python number)' * weak}" for dtype, weak in typings])
            why = f"no implicit promotion of {named} while config.numpy_dtype_promotion is 'strict'"
            raise TypePromotionError(f"{why}; convert one explicitly: x.astype(dtype)")
        return result

    def _promote(self, wide: bool, *typings: Any) -> Any:
        dtypes, weak = {dtype for dtype, _ in typings}, all(weak for _, weak in typings)
        if len(dtypes) == 1:
            return dtypes.pop(), weak
        specs: list[Any] = [(self._by_dtype.get(dtype), weak) for dtype, weak in typings]
        lattice, joined = self._lattices[wide], None
        if all(spec is not None for spec, _ in specs):
            # Weak types alone: their dtypes meet as if they were strong, and the result stays weak.
            joined = lattice.join([WEAK[s.kind] if w and not weak else s.name for s, w in specs])
        if joined is None:
            named = ", ".join([dtype.name for dtype, _ in typings])
            way = "convert one explicitly: x.astype(dtype)"
            if any(dtype.name.startswith("key<") for dtype in dtypes):
                way = "keys are not numbers; rabbet.random.fold_in(key, number) makes another key"
            raise TypePromotionError(f"no common dtype for {named}; {way}")
        if joined.endswith("*"):
            wide = wide or not NARROW.keys().isdisjoint(dtypes)  # 64 bits that somebody wrote out
            return DEFAULTS[wide][PYTHON_NAMES[joined[:-1]]], True
        dtype = self._by_name[joined].dtype
        return dtype, weak and dtype != np.bool_

    # Questions about a dtype ----------------------------------------------------------------------

    def issubdtype(self, a: Any, b: Any) -> bool:
        """Whether ``a`` is ``b`` or one of its kind. ``b`` may be abstract: ``np.floating``,
        ``dtypes.prng_key`` ... As for NumPy, None is float64.

        Example:
          >>> rb.dtypes.issubdtype("bfloat16", rb.dtypes.inexact), rb.dtypes.issubdtype("int8", np.floating)
          (True, False)
        """
        if isinstance(a, np.dtype) and a.kind in "OSUMm":
            return only_numpy_has(a, b)
        b_abstract = is_abstract(b)
        if is_abstract(a):
            return b_abstract and issubclass(a, b)
        if a is None or (isinstance(a, type) and a in PYTHON):
            a = np.dtype(a)
        dtype = self.canonicalize(a)
        if not b_abstract:
            return dtype == (np.dtype(b) if isinstance(b, type) and b in PYTHON else self.canonicalize(b))
        return issubclass(dtype.type if isinstance(dtype, ExtendedDType) else KINDS[self.kind(dtype)], b)

    def finfo(self, dtype: Any) -> Any:
        """Limits of a float or complex dtype (or of the dtype of an array): ``finfo("float32").eps``.

        Example:
          >>> float(rb.dtypes.finfo("float16").max)
          65504.0
        """
        return self._info(dtype, "finfo", "fc")

    def iinfo(self, int_type: Any) -> Any:
        """Limits of an integer dtype (or of the dtype of an array): ``iinfo("int8").max``.

        Example:
          >>> rb.dtypes.iinfo("int8").max
          127
        """
        return self._info(int_type, "iinfo", "iu")

    def _info(self, value: Any, question: str, kinds: str) -> Any:
        dtype = self.result_type(value) if isinstance(value, tuple(PYTHON)) else self.canonicalize(value)
        kind = self.kind(dtype)
        if kind not in kinds:
            other = {"f": "; ask finfo", "c": "; ask finfo", "i": "; ask iinfo", "u": "; ask iinfo"}.get(
                kind, ""
            )
            raise ValueError(f"{question} does not describe {dtype.name}{other}")
        return self._by_dtype[dtype].limits

    def to_inexact(self, dtype: Any) -> Any:
        """The dtype in which a float function of ``dtype`` is computed: itself if it is a float, else a
        float.

        Example:
          >>> rb.dtypes.to_inexact(np.dtype("int8"))
          dtype('float32')
        """
        dtype = self.canonicalize(dtype)
        if self.kind(dtype) in "fc":
            return dtype
        return np.dtype("float64" if self.itemsize_bits(dtype) == 64 else "float32")

    def to_complex(self, dtype: Any) -> Any:
        """The complex dtype that holds ``dtype``: complex128 for 64 bits, else complex64.

        Example:
          >>> rb.dtypes.to_complex(np.dtype("float64"))
          dtype('complex128')
        """
        dtype = self.to_inexact(dtype)
        if self.kind(dtype) == "c":
            return dtype
        return np.dtype("complex128" if self.itemsize_bits(dtype) == 64 else "complex64")


def raise_it(name: str, error: PluginConflictError) -> None:
    """What becomes of a plugin's dtype that does not fit to the others, until ``rabbet`` is composed."""
    raise error
