"""The table: one row per primitive, from which all laws about it are checked."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.extend.transform import typeof

FLOATS = ("float32", "float64", "float16", "bfloat16")
INEXACT = (*FLOATS, "complex64")
INTEGERS = ("int32", "uint8")
REALS = (*FLOATS, *INTEGERS)
NUMBERS = (*INEXACT, *INTEGERS)
BITS = (*INTEGERS, "bool")
ANY = (*NUMBERS, "bool")


@dataclass(frozen=True)
class Row:
    """A primitive with parameters, and how to try it.

    Args:
      primitive: the ``Primitive``.
      reference: what it computes, in NumPy: ``(*arrays) -> array`` or a list of them. Floats come in double
        precision.
      inputs: a ``Draw`` per operand.
      dtypes: names of the dtypes to try; those that no installed package provides are left out.
      params: the primitive's parameters, or a function from the row's dtype to them.
      note: distinguishes rows of one primitive.
      orders: how many derivatives to check; 0 if it has none, or none worth the name. A row of floats must
        say it for ``check_primitive``.
      loose: factor on the tolerances.
      extremes: whether infinities, NaN and zeros give what NumPy gives (unary and binary elementwise ones).
      apart: names of laws that do not apply, each with a reason.
      settle: for vectors that are not unique and found by iterating: ``(*arrays) -> arrays`` in NumPy, one
        form of the results for all that are equally right. Values are compared after it.
      settle_traced: the same for laws, of tracers, where a platform may choose another of the equally right
        results for one array of a batch than for that array alone.

    Example:
      >>> from rabbet.testing import Row
      >>> from rabbet.testing.draws import some
      >>> Row(lax.sin, np.sin, (some(2, 3),), ("float32", "float64"), orders=2).name
      'sin'
    """

    primitive: Any
    reference: Callable
    inputs: tuple
    dtypes: tuple
    params: Any = field(default_factory=dict)
    note: str = ""
    orders: int | None = None
    loose: float = 1.0
    extremes: bool = False
    apart: dict = field(default_factory=dict)
    settle: Callable | None = None
    settle_traced: Callable | None = None

    @property
    def name(self):
        """What the row is called in test reports."""
        return f"{self.primitive.name}-{self.note}" if self.note else self.primitive.name

    def known_dtypes(self):
        """The row's dtypes that are installed."""
        return [name for name in self.dtypes if dtypes.table.find(name) is not None]

    def main_dtype(self):
        """The dtype for laws that are checked in one dtype only."""
        return self.dtypes[0]

    def smooth_dtypes(self):
        """The dtypes in which derivatives are compared with finite differences: double precision."""
        if not self.orders:
            return []
        kinds = {dtypes.kind(dtypes.canonicalize(name)) for name in self.known_dtypes()}
        return [wide for kind, wide in (("f", "float64"), ("c", "complex128")) if kind in kinds]

    def function(self, dtype):
        """The operation on arrays, for a dtype; always returns a tuple."""
        params = self.params(np.dtype(dtypes.canonicalize(dtype))) if callable(self.params) else self.params
        op = self.primitive.op(**params)

        def apply(*args):
            out = op(*args)
            return tuple(out) if self.primitive.multiple_results else (out,)

        apply.__name__ = self.primitive.name
        return apply

    def draw(self, dtype, seed=0):
        """NumPy arrays to try it on."""
        rng = np.random.default_rng(seed)
        return [draw(rng, dtype) for draw in self.inputs]

    def expected(self, arrays):
        """What NumPy computes, in double precision where the inputs are inexact; a list."""
        wide = [widened(a) for a in arrays]
        with np.errstate(all="ignore"):
            out = self.reference(*wide)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    def but(self, **changes):
        """The same row with some fields changed."""
        return replace(self, **changes)


def widened(array):
    """Floats as float64, complex numbers as complex128, integers of plugins as int64, all others as they
    are."""
    dtype = typeof_dtype(array)
    kind = dtypes.kind(dtype)
    if kind in "iu" and dtype.isbuiltin != 1:  # a plugin's, of which NumPy knows little
        return array.astype(np.int64)
    if kind == "f":
        return dtypes.host_cast(array, np.dtype("float64"))
    return array.astype(np.complex128) if kind == "c" else array


def typeof_dtype(array):
    """The dtype of a NumPy array or of one of ours."""
    return array.dtype if isinstance(array, np.ndarray) else typeof(array).dtype
