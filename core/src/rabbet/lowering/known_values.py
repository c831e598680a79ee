"""Names of values that lowering knows: what reads one may write less."""

from __future__ import annotations


class Known(str):
    """The name of an integer constant, which remembers its value."""

    __slots__ = ("value",)
    value: int

    def __new__(cls, name: str, value: int) -> Known:
        """``name``, knowing ``value``."""
        self = super().__new__(cls, name)
        self.value = value
        return self


__all__ = ["Known"]
