"""What all sparse arrays have in common, and the errors of this package."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.shapes import whole_number
from rabbet.extend.transform import is_tracer


class SparseEfficiencyError(ValueError):
    """What is asked for can be done, and would cost far more than it needs to.

    Example:
      >>> try:
      ...     BCOO.fromdense(rnp.eye(3)).update_layout(n_batch=1)
      ... except SparseEfficiencyError as error:
      ...     print("inefficient")
      inefficient
    """


class SparseEfficiencyWarning(UserWarning):
    """What was done costs far more than it needs to.

    Example:
      >>> import warnings
      >>> with warnings.catch_warnings(record=True) as caught:
      ...     warnings.simplefilter("always")
      ...     _ = BCOO.fromdense(rnp.eye(3)).update_layout(n_batch=1, on_inefficient="warn")
      >>> caught[0].category.__name__
      'SparseEfficiencyWarning'
    """


class DensifyError(NotImplementedError):
    """An operation on sparse arrays would give a dense array, and nobody has allowed it.

    Example:
      >>> try:
      ...     BCOO.fromdense(rnp.eye(3)) + 1
      ... except DensifyError as error:
      ...     print(str(error).partition(",")[0])
      adding an array of shape () would give a dense array
    """


@folded
class JAXSparse:
    """The base of ``BCOO``, ``BCSR``, ``COO``, ``CSR`` and ``CSC``: what is a sparse array, and nothing else.

    A sparse array is a pytree of the arrays that store it, so ``jit``, ``vmap``, ``scan``, ``device_put`` and
    ``tree.map`` take it as it is. It is no array: functions of ``rabbet.numpy`` take it inside ``sparsify``.

    Example:
      >>> isinstance(BCOO.fromdense(rnp.eye(3)), JAXSparse)
      True
    """

    __slots__ = ()
    # NumPy leaves arithmetic with it to the methods here.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # what the classes store differs

        def __getattr__(self, name: str) -> Any: ...

    @property
    def dtype(self):
        """The dtype of the stored values."""
        return self.data.dtype

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements, stored or not."""
        return math.prod(self.shape)

    def __len__(self):
        if not self.shape:
            raise TypeError(f"len() of a {type(self).__name__} without dimensions")
        return self.shape[0]

    def __repr__(self):
        try:
            more = "".join(
                f", {name}={getattr(self, name)}" for name in ("n_batch", "n_dense") if getattr(self, name, 0)
            )
            shape = ", ".join(map(str, self.shape))
            return f"{type(self).__name__}({self.dtype.name}[{shape}], nse={self.nse}{more})"
        except Exception:  # a tree of something else than arrays
            return f"{type(self).__name__}({self.data!r})"

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            f"a {type(self).__name__} does not become a NumPy array by itself, as it could be large: call "
            "its method todense()"
        )

    def __bool__(self):
        if self.ndim:
            raise ValueError(
                f"the truth value of a {type(self).__name__} of shape {self.shape} is ambiguous: "
                "use x.nse or x.todense()"
            )
        return bool(self.todense())

    def block_until_ready(self):
        """Wait for the arrays that store it; returns the sparse array."""
        for array in self._arrays():
            array.block_until_ready()
        return self

    def _arrays(self):
        """The arrays that store it."""
        return [getattr(self, name) for name in self._stored]

    def tree_flatten(self):
        """The stored arrays and what is static about them, for the trees that are made of it."""
        return tuple(self._arrays()), self._static()

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        """The inverse of ``tree_flatten``; checks nothing, as the children may be anything."""
        return cls._of(*children, *aux_data)  # type: ignore[attr-defined]


def is_sparse(x):
    """Whether ``x`` is a sparse array."""
    return isinstance(x, JAXSparse)


def is_known(*arrays):
    """Whether the elements can be looked at: no transformation is in between."""
    return not any(is_tracer(a) for a in arrays)


def stored(x, what):
    """``x`` as an array, for a stored component called ``what``."""
    try:
        return array_or_tracer(x if not isinstance(x, (list, tuple)) else np.asarray(x))
    except TypeError:
        raise TypeError(f"{what} must be an array, got {type(x).__name__}") from None


def natural(shape, who):
    """A shape as a tuple of integers that are not negative."""
    sizes = whole_numbers(who, "shape", shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"{who}: shape must not be negative, got {sizes}")
    return sizes


def whole_numbers(who, what, values):
    """A sequence of integers as a tuple."""
    if not isinstance(values, Iterable):
        raise TypeError(f"{who}: {what} must be a sequence of integers, got {values!r:.60}")
    return tuple([whole_number(who, f"an element of {what}", n) for n in values])


def dimensions_of(who, what, dims, ndim):
    """Dimensions as a tuple; negative ones count from the end. Whether they are there is the caller's."""
    return tuple([d + ndim if d < 0 else d for d in whole_numbers(who, what, dims)])


def needs(kind, who, *mats):
    """Refuse operands that are not of the class ``kind`` (by its name)."""
    for mat in mats:
        if type(mat).__name__ != kind or not is_sparse(mat):
            hint = f": call {kind}.fromdense(x) first" if not is_sparse(mat) else ""
            raise TypeError(f"{who} takes a {kind}, got {kind_of(mat)}{hint}")


def known_number(value, who, what):
    """``value`` as a Python integer, for a size that a compiled program has to know."""
    if not is_known(value):
        raise ValueError(
            f"{who}: the number of stored elements depends on values that are not known while the function "
            f"is traced; give {what}, an upper bound"
        )
    return int(value)


def to_dense(x):
    """A sparse array as a dense one; anything else as it is."""
    return x.todense() if is_sparse(x) else x


def kind_of(x):
    """What something is, in a word."""
    return "an array" if is_tracer(x) else type(x).__name__
