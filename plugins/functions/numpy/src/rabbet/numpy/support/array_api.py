"""What the array API standard asks a module to say of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rabbet as rb
from rabbet import dtypes
from rabbet.extend.functions import folded
from rabbet.numpy.creation.new_arrays import zeros

if TYPE_CHECKING:
    from rabbet import Device

__array_api_version__ = "2025.12"

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


@folded
class NamespaceInfo:
    """Facts about the module, by the array API standard: ``__array_namespace_info__().default_dtypes()``."""

    def capabilities(self) -> dict[Any, Any]:
        """What works for every array: a dict.

        Masks as indices and results whose shape depends on values work where values are known, and not in
        compiled programs, so both are False.
        """
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new arrays."""
        return zeros(()).device

    def default_dtypes(self, *, device: Any = None) -> dict[Any, Any]:
        """The dtypes of new arrays, by kind: a dict. Their width follows ``config.enable_x64``."""
        del device
        whole = dtypes.scalar_dtype(int)
        return {
            "real floating": dtypes.scalar_dtype(float),
            "complex floating": dtypes.scalar_dtype(complex),
            "integral": whole,
            "indexing": whole,
        }

    def dtypes(self, *, device: Any = None, kind: tuple[str, ...] | str | None = None) -> dict[Any, Any]:
        """The dtypes of the standard, by name: a dict.

        Those of 64 bits are left out where asking for one makes one of 32, or is refused:
        ``config.explicit_x64_dtypes``.

        Args:
          device: all have the same.
          kind: one of the kinds that ``isdtype`` knows, or a tuple of these; None: all.

        Raises:
          ValueError: for another kind.
        """
        del device
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        unknown = [k for k in kinds if k not in KINDS]
        if unknown:
            raise ValueError(f"dtypes: {unknown[0]!r} is none of the kinds {', '.join(KINDS)}")
        wide = rb.config.enable_x64 or rb.config.explicit_x64_dtypes == "allow"
        found = {name: dtypes.canonicalize(name) for k in kinds for name in KINDS[k]}
        return {name: dtype for name, dtype in found.items() if wide or dtypes.narrow(dtype) == dtype}

    def devices(self) -> list[Device]:
        """The devices that arrays can be on."""
        return rb.devices()


def __array_namespace_info__() -> NamespaceInfo:
    """What the module offers, by the array API standard; see ``NamespaceInfo``."""
    return NamespaceInfo()


__all__ = ["__array_api_version__", "__array_namespace_info__"]
