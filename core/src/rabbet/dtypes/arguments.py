"""What callers give where a dtype or a value is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from rabbet.dtypes.specs import ABSTRACT, PYTHON, extended


def parsed(dtype: Any) -> Any:
    """What NumPy understands by ``dtype``, in native byte order; None if it does not."""
    try:
        return np.dtype(dtype).newbyteorder("=")
    except TypeError:
        return None


def is_abstract(x: Any) -> bool:
    """Whether ``x`` is a class of dtypes, such as ``np.floating``."""
    return isinstance(x, type) and (x in ABSTRACT or issubclass(x, extended))


def python_type(x: Any) -> Any:
    """The Python scalar type that ``x`` is an instance of."""
    return next(scalar for scalar in PYTHON if isinstance(x, scalar))  # bool first: it is an int too


def only_numpy_has(a: Any, b: Any) -> bool:
    """``issubdtype`` of dtypes of NumPy's own, such as ``object``, which no array of ours has."""
    return bool(np.issubdtype(a, b)) if is_abstract(b) and issubclass(b, np.generic) else a == b
