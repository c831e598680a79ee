"""Examples of the elementwise primitives that ``lax`` shows as they are: the call and its result by name. The
tests of the documents run them.
"""

from __future__ import annotations

# By the name of the primitive: its name in ``lax``, arguments, result.
EXAMPLES = {
    "sin": ("sin", "0.5", "Array(0.47942555, dtype=float32, weak_type=True)"),
    "cos": ("cos", "0.5", "Array(0.87758255, dtype=float32, weak_type=True)"),
    "tan": ("tan", "0.5", "Array(0.5463025, dtype=float32, weak_type=True)"),
    "asin": ("asin", "0.5", "Array(0.5235988, dtype=float32, weak_type=True)"),
    "acos": ("acos", "0.5", "Array(1.0471976, dtype=float32, weak_type=True)"),
    "atan": ("atan", "0.5", "Array(0.4636476, dtype=float32, weak_type=True)"),
    "sinh": ("sinh", "0.5", "Array(0.52109534, dtype=float32, weak_type=True)"),
    "cosh": ("cosh", "0.5", "Array(1.127626, dtype=float32, weak_type=True)"),
    "asinh": ("asinh", "0.5", "Array(0.48121184, dtype=float32, weak_type=True)"),
    "atanh": ("atanh", "0.5", "Array(0.54930615, dtype=float32, weak_type=True)"),
    "tanh": ("tanh", "0.5", "Array(0.46211717, dtype=float32, weak_type=True)"),
    "exp": ("exp", "0.5", "Array(1.6487212, dtype=float32, weak_type=True)"),
    "exp2": ("exp2", "0.5", "Array(1.4142135, dtype=float32, weak_type=True)"),
    "expm1": ("expm1", "0.5", "Array(0.6487213, dtype=float32, weak_type=True)"),
    "log": ("log", "0.5", "Array(-0.6931472, dtype=float32, weak_type=True)"),
    "log1p": ("log1p", "0.5", "Array(0.4054651, dtype=float32, weak_type=True)"),
    "logistic": ("logistic", "0.5", "Array(0.62245935, dtype=float32, weak_type=True)"),
    "sqrt": ("sqrt", "0.5", "Array(0.70710677, dtype=float32, weak_type=True)"),
    "rsqrt": ("rsqrt", "0.5", "Array(1.4142135, dtype=float32, weak_type=True)"),
    "cbrt": ("cbrt", "0.5", "Array(0.7937005, dtype=float32, weak_type=True)"),
    "square": ("square", "0.5", "Array(0.25, dtype=float32, weak_type=True)"),
    "erf": ("erf", "0.5", "Array(0.5204999, dtype=float32, weak_type=True)"),
    "erf_inv": ("erf_inv", "0.5", "Array(0.47693628, dtype=float32, weak_type=True)"),
    "erfc": ("erfc", "0.5", "Array(0.47950017, dtype=float32, weak_type=True)"),
    "acosh": ("acosh", "2.0", "Array(1.316958, dtype=float32, weak_type=True)"),
    "floor": ("floor", "-1.5", "Array(-2., dtype=float32, weak_type=True)"),
    "ceil": ("ceil", "-1.5", "Array(-1., dtype=float32, weak_type=True)"),
    "neg": ("neg", "2.0", "Array(-2., dtype=float32, weak_type=True)"),
    "sign": ("sign", "-3.0", "Array(-1., dtype=float32, weak_type=True)"),
    "abs": ("abs", "-3.0", "Array(3., dtype=float32, weak_type=True)"),
    "conj": ("conj", "1 + 2j", "Array(1.-2.j, dtype=complex64, weak_type=True)"),
    "real": ("real", "1 + 2j", "Array(1., dtype=float32, weak_type=True)"),
    "imag": ("imag", "1 + 2j", "Array(2., dtype=float32, weak_type=True)"),
    "is_finite": ("is_finite", "rnp.inf", "Array(False, dtype=bool)"),
    "clz": ("clz", "np.int8(1)", "Array(7, dtype=int8)"),
    "population_count": ("population_count", "np.int8(7)", "Array(3, dtype=int8)"),
    "not": ("bitwise_not", "np.int8(5)", "Array(-6, dtype=int8)"),
    "add": ("add", "1.5, 2.0", "Array(3.5, dtype=float32, weak_type=True)"),
    "sub": ("sub", "1.5, 2.0", "Array(-0.5, dtype=float32, weak_type=True)"),
    "mul": ("mul", "1.5, 2.0", "Array(3., dtype=float32, weak_type=True)"),
    "div": ("div", "7, 2", "Array(3, dtype=int32, weak_type=True)"),
    "rem": ("rem", "-7, 2", "Array(-1, dtype=int32, weak_type=True)"),
    "pow": ("pow", "2.0, 0.5", "Array(1.4142135, dtype=float32, weak_type=True)"),
    "atan2": ("atan2", "1.0, 1.0", "Array(0.7853982, dtype=float32, weak_type=True)"),
    "max": ("max", "1.5, 2.0", "Array(2., dtype=float32, weak_type=True)"),
    "min": ("min", "1.5, 2.0", "Array(1.5, dtype=float32, weak_type=True)"),
    "nextafter": ("nextafter", "1.0, 2.0", "Array(1.0000001, dtype=float32, weak_type=True)"),
    "complex": ("complex", "1.0, 2.0", "Array(1.+2.j, dtype=complex64, weak_type=True)"),
    "mulhi": ("mulhi", "np.int32(2**30), np.int32(8)", "Array(2, dtype=int32)"),
    "eq": ("eq", "1, 2", "Array(False, dtype=bool)"),
    "ne": ("ne", "1, 2", "Array(True, dtype=bool)"),
    "lt": ("lt", "1, 2", "Array(True, dtype=bool)"),
    "le": ("le", "1, 2", "Array(True, dtype=bool)"),
    "gt": ("gt", "1, 2", "Array(False, dtype=bool)"),
    "ge": ("ge", "1, 2", "Array(False, dtype=bool)"),
    "and": ("bitwise_and", "6, 3", "Array(2, dtype=int32, weak_type=True)"),
    "or": ("bitwise_or", "6, 3", "Array(7, dtype=int32, weak_type=True)"),
    "xor": ("bitwise_xor", "6, 3", "Array(5, dtype=int32, weak_type=True)"),
    "shift_left": ("shift_left", "3, 2", "Array(12, dtype=int32, weak_type=True)"),
    "shift_right_arithmetic": ("shift_right_arithmetic", "-8, 1", "Array(-4, dtype=int32, weak_type=True)"),
    "shift_right_logical": ("shift_right_logical", "np.int8(-8), np.int8(1)", "Array(124, dtype=int8)"),
    "clamp": ("clamp", "0.0, 1.5, 1.0", "Array(1., dtype=float32, weak_type=True)"),
    "select_n": ("select_n", "True, 1.0, 2.0", "Array(2., dtype=float32, weak_type=True)"),
}


def documented(name: str, doc: str) -> str:
    """What a primitive's documentation says, with its example."""
    if name not in EXAMPLES:
        return doc
    public, arguments, result = EXAMPLES[name]
    return f"{doc}\n\nExample:\n  >>> lax.{public}({arguments})\n  {result}"


__all__ = ["documented"]
