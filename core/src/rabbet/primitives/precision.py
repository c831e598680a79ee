"""How exactly products are computed."""

from __future__ import annotations

import enum
from typing import Any


class Precision(enum.Enum):
    """How exactly a product of matrices is computed where the hardware offers a choice (TPUs, TF32 on GPUs).

    ``Precision("float32")`` and the other names of JAX are understood: default, fastest, bfloat16;
    high, bfloat16_3x, tensorfloat32; highest, float32.

    Example:
      >>> lax.dot(rnp.ones(3), rnp.ones(3), precision=lax.Precision.HIGHEST)
      Array(3., dtype=float32)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        return ALIASES.get(value) if isinstance(value, str) else None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


ALIASES = {
    "default": Precision.DEFAULT, "fastest": Precision.DEFAULT, "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
}  # fmt: skip
