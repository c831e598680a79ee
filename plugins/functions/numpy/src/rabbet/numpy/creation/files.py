"""Files and texts: NumPy's formats read as arrays and written from them; how arrays are printed.

All of this needs values, so traced arrays are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import Array, dtypes
from rabbet.numpy.creation.conversion import array, asarray
from rabbet.numpy.creation.new_arrays import default_float
from rabbet.numpy.indexing.searching import known
from rabbet.numpy.support.arguments import requested

if TYPE_CHECKING:
    from rabbet.typing import DTypeLike, Value

try:
    from numpy.exceptions import ComplexWarning
except ImportError:  # NumPy 1
    from numpy import ComplexWarning  # type: ignore[attr-defined, no-redef]  # the stubs are NumPy 2's

get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions
OUTSIDE = "do it outside of the traced function, or in a callback"


def host(name: str, x: Value) -> Any:
    """The values of an array, a NumPy array or nested sequences, on the host."""
    x = array(x) if isinstance(x, (list, tuple, range)) else x
    return known(name, x, OUTSIDE)


# ------------------------------------------------------------------------------------------------- files
def save(file: Any, arr: Value, allow_pickle: bool = True) -> None:
    """Write an array to a file in NumPy's format ``.npy``.

    Args:
      file: an open file, or a path, to which ``.npy`` is added if it is missing.
      arr: an array.
      allow_pickle: passed on to NumPy; arrays of numbers need none.

    Example:
      >>> import tempfile, pathlib
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
      >>> rnp.save(path, rnp.arange(3))
      >>> rnp.load(path)
      Array([0, 1, 2], dtype=int32)
    """
    np.save(file, host("save", arr), allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: Any = True, **kwds: Any) -> None:
    """Write several arrays to one file in NumPy's format ``.npz``, under the names of the keywords, or
    ``arr_0``, ``arr_1``, ... See ``save``.

    Raises:
      ValueError: for NumPy's arrays of Python objects, where ``allow_pickle`` is False.

    Example:
      >>> import tempfile, pathlib
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npz"
      >>> rnp.savez(path, a=rnp.arange(3))
      >>> rnp.load(path)["a"].tolist()
      [0, 1, 2]
    """
    values = [host("savez", x) for x in args]
    named = {name: host("savez", x) for name, x in kwds.items()}
    if not allow_pickle and any(x.dtype.hasobject for x in [*values, *named.values()]):
        raise ValueError("savez: an array of Python objects can only be pickled, and allow_pickle is False")
    np.savez(file, *values, **named)


def load(file: Any, *args: Any, **kwargs: Any) -> Value:
    """The array in a file of NumPy's format ``.npy``; of ``.npz`` files, NumPy's mapping from names to NumPy
    arrays.

    Args:
      file: an open file, or a path.
      args, kwargs: see ``numpy.load``. Pickled files are refused unless ``allow_pickle=True`` says that their
        source is trusted.

    Returns:
      an array in the dtype that the file has; dtypes that NumPy does not know, such as bfloat16, are found
      again by their width only if the file was made by ``save``.

    Example:
      >>> import tempfile, pathlib
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
      >>> rnp.save(path, rnp.arange(3))
      >>> rnp.load(path)
      Array([0, 1, 2], dtype=int32)
    """
    out = np.load(file, *args, **kwargs)
    return array_in(out) if isinstance(out, np.ndarray) else out


def array_in(x: np.ndarray) -> Value:
    """A NumPy array as an array of the same dtype."""
    if x.dtype.kind == "V" and x.dtype.itemsize == 2 and dtypes.find("bfloat16") is not None:
        x = x.view(dtypes.canonicalize("bfloat16"))  # NumPy writes it as two bytes without a name
    return asarray(x)


def fromfile(
    file: Any, dtype: DTypeLike | None = float, count: Any = -1, sep: Any = "", offset: Any = 0
) -> Value:
    """The numbers in a file: of a dtype one after the other, or as a text with ``sep`` between them.

    Args:
      file: an open file or a path.
      dtype: of the numbers and the result; by default that of a Python float.
      count: how many; -1: all.
      sep: the text between numbers; empty: the file is binary.
      offset: how many bytes to leave out at the beginning.

    Example:
      >>> np.arange(3, dtype='float32').tofile('numbers.bin')
      >>> rnp.fromfile('numbers.bin', 'float32')
      Array([0., 1., 2.], dtype=float32)
    """
    dtype = requested(dtype, default_float())
    return asarray(np.fromfile(file, dtype, count, sep, offset), dtype)


def fromiter(iter: Any, dtype: DTypeLike, count: Any = -1) -> Value:
    """The numbers of an iterator, which is read to its end or up to ``count``, as a vector of a dtype.

    Example:
      >>> rnp.fromiter((n * n for n in range(4)), dtype="int32")
      Array([0, 1, 4, 9], dtype=int32)
    """
    dtype = dtypes.canonicalize(dtype)
    return asarray(np.fromiter(iter, dtype, count), dtype)


def fromstring(string: str, dtype: DTypeLike | None = float, count: int = -1, *, sep: str) -> Value:
    """The numbers in a text, with ``sep`` between them: ``fromstring("1 2", sep=" ")``.

    Raises:
      ValueError: for a text that holds anything else, or an empty ``sep``; see ``frombuffer`` for bytes.

    Example:
      >>> rnp.fromstring("1 2 3", dtype="int32", sep=" ")
      Array([1, 2, 3], dtype=int32)
    """
    dtype = requested(dtype, default_float())
    if not sep:
        raise ValueError("fromstring: sep must not be empty; frombuffer reads bytes")
    return asarray(np.fromstring(string, dtype, count, sep=sep), dtype)


# ---------------------------------------------------------------------------------------------- printing
def array_repr(
    arr: Value, max_line_width: Any = None, precision: int | None = None, suppress_small: Any = None
) -> str:
    """An array as ``repr`` shows it, with the given options; None: those of ``set_printoptions``.

    Example:
      >>> rnp.array_repr(rnp.arange(3))
      'Array([0, 1, 2], dtype=int32)'
    """
    known("array_repr", arr, OUTSIDE)
    with np.printoptions(**options(max_line_width, precision, suppress_small)):
        return repr(arr if type(arr) is Array else asarray(arr))


def array_str(
    a: Value, max_line_width: Any = None, precision: int | None = None, suppress_small: Any = None
) -> str:
    """An array as ``str`` shows it, with the given options; None: those of ``set_printoptions``.

    Example:
      >>> rnp.array_str(rnp.arange(3))
      '[0 1 2]'
    """
    return np.array_str(known("array_str", a, OUTSIDE), max_line_width, precision, suppress_small)


def options(max_line_width: Any, precision: Any, suppress_small: Any) -> dict[Any, Any]:
    """The print options that are given."""
    given = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    return {name: value for name, value in given.items() if value is not None}


__all__ = [
    "ComplexWarning", "array_repr", "array_str", "fromfile", "fromiter", "fromstring", "get_printoptions",
    "load", "printoptions", "save", "savez", "set_printoptions",
]  # fmt: skip
