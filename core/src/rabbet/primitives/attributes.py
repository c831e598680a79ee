"""Lists of numbers as MLIR writes them in attributes."""

from __future__ import annotations


def int_list(values: tuple[int, ...]) -> str:
    """Whole numbers as a list attribute.

    Example:
      >>> from rabbet.extend.rules import int_list
      >>> int_list((1, 2))
      '[1, 2]'
    """
    return "[" + ", ".join(map(str, values)) + "]"


def int_array(numbers: list[int] | tuple[int, ...]) -> str:
    """Whole numbers as an array attribute.

    Example:
      >>> from rabbet.extend.rules import int_array
      >>> int_array((1, 2)), int_array(())
      ('array<i64: 1, 2>', 'array<i64>')
    """
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


__all__ = ["int_array", "int_list"]
