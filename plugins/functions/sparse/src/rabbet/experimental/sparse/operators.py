"""The operators of all sparse arrays: each works as a BCOO, and gives back the operand's own class."""

from collections.abc import Callable
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import dtypes, tree
from rabbet.experimental.sparse import arithmetic, interpreter, products
from rabbet.experimental.sparse.base import DensifyError, JAXSparse, dimensions_of, is_sparse
from rabbet.experimental.sparse.sums import bcoo_reduce_sum
from rabbet.extend.functions import folded, is_array_like


def as_operand(x):
    """An operand of an operator as a BCOO, an array or a number; NotImplemented for anything else."""
    if is_sparse(x):
        return x.to_bcoo()
    if isinstance(x, (bool, int, float, complex)) or is_array_like(x):
        return x
    return rnp.asarray(x) if isinstance(x, (list, np.ndarray, np.generic)) else NotImplemented


def operator(function: Callable[..., Any], reflected: bool = False) -> Callable[[Any, Any], Any]:
    """The method of an operator that ``function`` computes on BCOOs."""

    def method(self, other):
        mine, theirs = as_operand(self), as_operand(other)
        if theirs is NotImplemented:
            return NotImplemented
        out = function(theirs, mine) if reflected else function(mine, theirs)
        return self._like(out)

    return method


def subtract(x, y):
    return arithmetic.add(x, -y)


def power(x, y):
    """Powers of the stored values; of exponents that leave zero where it is."""
    if is_sparse(y):
        arithmetic.refuse("a power whose exponent is a sparse array", y)
    if np.ndim(y):
        raise DensifyError("a sparse array to the power of an array is not offered; make it dense first")
    if not isinstance(y, (bool, int, float, complex)) or not np.real(y) > 0:
        arithmetic.refuse(f"the power {y} of a sparse array", x)
    x = arithmetic.once_each(x)
    return x._with_data(x.data**y)


def comparison(name):
    def method(self, other):
        arithmetic.refuse(f"comparing ({name}) a sparse array", self)

    return method


@folded
class Operators(JAXSparse):
    """What sparse arrays can do besides being stored."""

    __slots__ = ()
    __add__ = operator(arithmetic.add)
    __radd__ = operator(arithmetic.add, True)
    __sub__ = operator(subtract)
    __rsub__ = operator(subtract, True)
    __mul__ = operator(arithmetic.multiply)
    __rmul__ = operator(arithmetic.multiply, True)
    __truediv__ = operator(arithmetic.divide)
    __rtruediv__ = operator(arithmetic.divide, True)
    __matmul__ = operator(products.matmul)
    __rmatmul__ = operator(products.matmul, True)
    __pow__ = operator(power)
    __rpow__ = operator(power, True)
    __eq__, __ne__ = comparison("=="), comparison("!=")
    __lt__, __le__, __gt__, __ge__ = [comparison(name) for name in ("<", "<=", ">", ">=")]
    __hash__ = None

    def __neg__(self):
        return self._with_data(-self.data)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._like(interpreter.sparsify(abs)(self))

    def __getitem__(self, index):
        return self._like(interpreter.sparsify(lambda x: x[index])(self))

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def astype(self, dtype):
        """The same with its values in another dtype."""
        return self._with_data(self.data.astype(dtype))

    def sum(self, axis=None, dtype=None, keepdims=False):
        """Sum over some dimensions, or over all: then the result is an array.

        Args:
          axis: a dimension, a tuple of them, or None.
          dtype: of the result; by default as of ``rabbet.numpy.sum``, which widens small integers.
          keepdims: leave summed dimensions in, with size 1.
        """
        mat = self.to_bcoo()
        dtype = summed_in(mat.dtype) if dtype is None else dtype
        if dtype != mat.dtype:
            mat = mat.astype(dtype)
        axes = range(mat.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = dimensions_of("sum", "axis", axes, mat.ndim)
        out = bcoo_reduce_sum(mat, axes=axes)
        if keepdims:
            out = out.reshape(tuple(1 if d in axes else n for d, n in enumerate(mat.shape)))
        return out.todense() if set(axes) == set(range(mat.ndim)) else self._like(out)

    def reshape(self, *shape, order="C"):
        """Reshape, in the order ``'C'`` or ``'F'``; one size may be -1."""
        mat = self.to_bcoo()
        sizes = tuple(shape[0]) if len(shape) == 1 and np.ndim(shape[0]) else shape
        if order == "F":
            return self._like(interpreter.sparsify(lambda x: x.T.reshape(sizes[::-1]).T)(mat))
        return self._like(interpreter.sparsify(lambda x: x.reshape(sizes))(mat))

    def transpose(self, axes=None):
        """Permute the dimensions; by default the other way round."""
        raise NotImplementedError

    @property
    def T(self):
        """The dimensions the other way round."""
        return self.transpose()

    def _like(self, out):
        """A BCOO among the results as this class, where this class can hold it."""
        return out


def summed_in(dtype):
    """The dtype of sums of numbers of a dtype."""
    kind, whole = dtypes.kind(dtype), dtypes.canonicalize(int)
    if kind not in "biu" or dtypes.itemsize_bits(dtype) >= 8 * whole.itemsize:
        return dtype
    return np.dtype(f"u{whole.name}") if kind == "u" else whole


def register(cls):
    """Make a class of sparse arrays a node of trees."""
    keys = [tree.GetAttrKey(name) for name in cls._stored]
    tree.register_node(
        cls,
        lambda x: (tuple(x._arrays()), x._static()),
        lambda static, arrays: cls._of(*arrays, *static),
        lambda x: (tuple(zip(keys, x._arrays())), x._static()),
    )
    return cls
