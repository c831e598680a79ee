"""How exactly a function must be computed: the ``accuracy=`` of ``exp``, ``log``, ``sin`` and their like.

It is a request to the compiler, StableHLO's ``result_accuracy``. A backend that has one implementation only,
such as XLA's for CPUs, accepts it and computes what it always does.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from rabbet.messages.tracebacks import folded


class AccuracyMode(enum.Enum):
    """Which of the compiler's implementations of a function to use.

    Example:
      >>> lax.exp(1.0, accuracy=lax.AccuracyMode.HIGHEST)
      Array(2.7182817, dtype=float32, weak_type=True)
    """

    HIGHEST = 1
    DEFAULT = 2


@folded
@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The error that an implementation may make: absolute, relative, or in units of the last place.

    Raises:
      ValueError: if one of them is negative.

    Example:
      >>> lax.Tolerance(rtol=1e-5).rtol
      1e-05
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0:
            raise ValueError(f"tolerances must not be negative, got {self}")


def attribute(accuracy: Any) -> Any:
    """The attribute of a StableHLO operation that asks for ``accuracy``, with a space in front; nothing for
    the default.
    """
    if accuracy is None or accuracy is AccuracyMode.DEFAULT:
        return ""
    if accuracy is AccuracyMode.HIGHEST:
        terms = "mode = #stablehlo.result_accuracy_mode<HIGHEST>"
    else:
        numbers = f"atol = {accuracy.atol:e}, rtol = {accuracy.rtol:e}, ulps = {int(accuracy.ulps)}"
        terms = f"{numbers}, mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
    return f" {{result_accuracy = #stablehlo.result_accuracy<{terms}>}}"


def check(name: Any, accuracy: Any) -> None:
    """Refuse what is not an accuracy."""
    if accuracy is not None and not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise TypeError(
            f"{name}: accuracy must be an AccuracyMode, a Tolerance or None, got "
            f"{type(accuracy).__name__} {accuracy!r}"
        )


__all__ = ["AccuracyMode", "Tolerance", "attribute", "check"]
