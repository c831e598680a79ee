"""What a compiler tells of a program: operations, and bytes by use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

KINDS = ("argument", "output", "temp", "generated_code", "alias", "peak")


class Measures:
    """The measures of a stage that has an `executable`."""

    executable: Any

    def cost_analysis(self) -> dict[Any, Any]:
        """The compiler's estimates: a dict with ``flops``, ``bytes accessed`` and others."""
        return self.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Bytes by use as attributes, ``argument_size_in_bytes``, ``temp_size_in_bytes``, ...; None if the
        backend cannot tell.
        """
        sizes = self.executable.memory_analysis()
        return None if sizes is None else SimpleNamespace(**sizes)

    @property
    def flops(self) -> Any:
        """The number of floating-point operations of one call, estimated; None if nobody counts them."""
        return (self.cost_analysis() or {}).get("flops")

    @property
    def memory(self) -> dict[Any, Any]:
        """Bytes by use: a dict of argument, output, temp, generated_code, alias and peak."""
        sizes = self.executable.memory_analysis() or {}
        names = {
            kind: f"{kind}_memory_in_bytes" if kind == "peak" else f"{kind}_size_in_bytes" for kind in KINDS
        }
        return {kind: sizes[name] for kind, name in names.items() if name in sizes}


__all__ = ["Measures"]
