"""What figures that are given must be: the errors of those that are not."""

from __future__ import annotations

import math
import numbers
from typing import Any

from rabbet.errors import ConfigError

SMALL, LARGE = 1e-30, 1e30  # beyond these nothing is that is counted or measured here; products stay finite


def number(who: str, name: str, value: Any, least: float = 0.0, most: float = LARGE) -> None:
    """Refuse what is no number from ``least`` to ``most``. ``least=SMALL`` is for what is more than 0.

    Raises:
      ConfigError: which names the function, the argument and the value.
    """
    bounds = "more than 0" if least == SMALL else f"at least {least:g}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ConfigError(f"{who}: {name} is a number, {bounds}, got {type(value).__name__} {value!r:.40}")
    try:
        found = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        found, most = math.inf, LARGE
    if not least <= found <= most:
        limit = f", and no more than {LARGE:g}" if most == LARGE else ""
        finite = "finite and " if limit else ""
        raise ConfigError(f"{who}: {name} must be {finite}{bounds}{limit}, got {found:g}")


__all__ = ["SMALL", "number"]
