"""The last stage of a function that was compiled for hardware that is not here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.extend.backend import compile_ahead
from rabbet.extend.functions import describe_function, folded

from rabbet_jit.compiler_statistics import Measures
from rabbet_jit.stage_base import Stage

if TYPE_CHECKING:
    from rabbet_jit.stages import Lowered


class CompiledAhead(Measures, Stage):
    """A function compiled for a topology, one device of it or those it is spread over: it can be looked at
    and serialized, not called.

    Attributes: ``topology`` (its name), ``device_kind`` (how the hardware calls itself), ``lowered``.
    """

    def __init__(self, lowered: Lowered, topology: Any, options: Any) -> None:
        super().__init__(lowered.asked, lowered.signature, lowered.program, lowered.avals)
        self.lowered = lowered
        self.executable = compile_ahead(lowered.lowering, topology, options)
        self.topology = self.executable.topology
        self.device_kind = self.executable.device_kind

    def as_text(self) -> str:
        """The optimized program as HLO text."""
        return self.executable.hlo_text()

    def cost_analysis(self) -> dict[Any, Any]:
        """Estimates: a dict with ``flops``, ``bytes accessed`` and others.

        Where the compiler has none (CUDA), those of the program before it was optimized, in which native
        functions count as nothing; None if there is no CPU backend to count with.
        """
        return self.executable.cost_analysis()

    def serialize(self) -> bytes:
        """The executable as bytes, in its compiler's own format."""
        return self.executable.serialize()

    def runtime_executable(self) -> Any:
        """The executable underneath."""
        return self.executable.exe

    @folded
    def __call__(self, *args: float, **kwargs: Any) -> Any:
        place = f"{self.device_kind} ({self.lowered.lowering.platform} {self.topology!r})"
        raise RuntimeError(
            f"{describe_function(self.asked.fun)} was compiled for {place}, which is not on this machine: "
            "it can be looked at (as_text, cost_analysis, memory_analysis) and serialized, not called; "
            "compile it for devices of this machine to run it here"
        )


__all__ = ["CompiledAhead"]
