"""Lists of numbers as MLIR writes them in attributes."""


def ints(values):
    """``[1, 2]``."""
    return "[" + ", ".join(map(str, values)) + "]"


def array(numbers):
    """``array<i64: 1, 2>``."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


__all__ = ["array", "ints"]
