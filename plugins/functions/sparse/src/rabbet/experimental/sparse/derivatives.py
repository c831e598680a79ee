"""Derivatives with respect to the stored values of sparse arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import rabbet as rb
from rabbet import tree
from rabbet.experimental.sparse.base import is_sparse, whole_number, whole_numbers
from rabbet.extend.functions import folded
from rabbet.extend.wrapping import wraps


def values_of(x):
    """A tree with the values of its sparse arrays in their place."""
    return tree.map(lambda leaf: leaf.data if is_sparse(leaf) else leaf, x, is_leaf=is_sparse)


def with_values(like, values):
    """The inverse of ``values_of``: the places come from ``like``."""
    return tree.map(lambda a, v: a._with_data(v) if is_sparse(a) else v, like, values, is_leaf=is_sparse)


def on_values(fun, args, argnums):
    """``fun`` of the values of some of its arguments, by position; the positions, checked."""
    places = tuple(i + len(args) if i < 0 else i for i in as_numbers(argnums))
    if any(not 0 <= i < len(args) for i in places):
        raise ValueError(f"argnums={argnums} names an argument that is not there: {len(args)} were given")

    @wraps(fun)
    def of_values(*given, **kwargs):
        filled = [with_values(a, v) if i in places else v for i, (a, v) in enumerate(zip(args, given))]
        return fun(*filled, **kwargs)

    given = [values_of(a) if i in places else a for i, a in enumerate(args)]
    return of_values, given, places


def as_numbers(argnums, who="value_and_grad"):
    """``argnums`` as a tuple of ints."""
    if isinstance(argnums, (tuple, list)):
        return whole_numbers(who, "argnums", argnums)
    return (whole_number(who, "argnums", argnums),)


def restored(args, argnums, places, grads):
    """Derivatives by the values as sparse arrays."""
    if isinstance(argnums, int):
        return with_values(args[places[0]], grads)
    return tuple(with_values(args[i], g) for i, g in zip(places, grads))


def value_and_grad(
    fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable:
    """As ``rabbet.value_and_grad``; of a sparse argument the gradient is by its stored values.

    Args:
      fun: a function of arrays and sparse arrays, or trees of them, that returns a number.
      argnums, has_aux, **kwargs: as for ``rabbet.value_and_grad``.

    Returns:
      a function that returns ``(value, gradient)``; the gradient of a sparse array has the same
        places.

    Example:
      >>> x = BCOO.fromdense(rnp.array([0.0, 2.0]))
      >>> value, slope = value_and_grad(lambda x: (x @ rnp.ones(2)) ** 2)(x)
      >>> float(value), slope.data
      (4.0, Array([4.], dtype=float32))
    """
    as_numbers(argnums)
    rb.value_and_grad(fun, argnums, has_aux, **kwargs)  # refuses what it does not take

    @wraps(fun)
    def differentiated(*args, **kw):
        of_values, given, places = on_values(fun, args, argnums)
        chosen = places[0] if isinstance(argnums, int) else places
        value, grads = rb.value_and_grad(of_values, argnums=chosen, has_aux=has_aux, **kwargs)(*given, **kw)
        return value, restored(args, argnums, places, grads)

    return folded(differentiated)


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """As ``rabbet.grad``; of a sparse argument the gradient is by its stored values.

    Example:
      >>> x = BCOO.fromdense(rnp.array([0.0, 2.0]))
      >>> grad(lambda x: (x @ rnp.ones(2)) ** 2)(x)
      BCOO(float32[2], nse=1)
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun)
    def gradient(*args, **kw):
        value, slope = both(*args, **kw)
        return (slope, value[1]) if has_aux else slope

    return folded(gradient)


def jacobian_by(transform):
    """``jacfwd`` or ``jacrev`` of sparse arguments, by that of arrays."""

    def jacobian_of(fun, argnums=0, has_aux=False, **kwargs):
        as_numbers(argnums, "a Jacobian")

        @wraps(fun)
        def differentiated(*args, **kw):
            of_values, given, places = on_values(dense_results(fun), args, argnums)
            chosen = places[0] if isinstance(argnums, int) else places
            out = transform()(of_values, argnums=chosen, has_aux=has_aux, **kwargs)(*given, **kw)
            out, aux = out if has_aux else (out, None)
            mine = args[places[0]] if isinstance(argnums, int) else tuple(args[i] for i in places)
            out = jacobian_with_places(mine, values_of(mine), out)
            return (out, aux) if has_aux else out

        return folded(differentiated)

    return jacobian_of


def dense_results(fun):
    """``fun``, refused where its result is sparse."""

    @wraps(fun)
    def checked(*args, **kw):
        out = fun(*args, **kw)
        if any(map(is_sparse, tree.leaves(out, is_leaf=is_sparse))):
            raise TypeError(
                "the function returned a sparse array; return x.todense(), or x.data, for its Jacobian"
            )
        return out

    return checked


def jacobian_with_places(mine, values, out):
    """The Jacobians of each result, with sparse ones where ``mine`` has them."""
    leaves, structure = tree.flatten(mine, is_leaf=is_sparse)
    inner = tree.structure(values)

    def one(jacobians):
        parts = tree.leaves(jacobians)
        done = [
            a._with_batch(j, j.shape[: j.ndim - a.data.ndim]) if is_sparse(a) else j
            for a, j in zip(leaves, parts)
        ]
        return tree.unflatten(structure, done)

    return tree.map(one, out, is_leaf=lambda x: tree.structure(x) == inner)


def jacfwd(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """As ``rabbet.jacfwd``; of a sparse argument the Jacobian is by its stored values.

    Returns:
      a function whose results are, for a BCOO or BCSR, sparse arrays with the dimensions of the function's
      result as batch dimensions.

    Example:
      >>> x = BCOO.fromdense(rnp.array([0.0, 2.0]))
      >>> jacfwd(lambda x: x.todense() ** 2)(x)
      BCOO(float32[2, 2], nse=1, n_batch=1)
    """
    return jacobian_by(lambda: rb.jacfwd)(fun, argnums, has_aux, **kwargs)


def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """As ``jacfwd``, by reverse mode.

    Example:
      >>> x = BCOO.fromdense(rnp.array([0.0, 2.0]))
      >>> jacrev(lambda x: x.todense() ** 2)(x).todense()
      Array([[0., 0.],
             [0., 4.]], dtype=float32)
    """
    return jacobian_by(lambda: rb.jacrev)(fun, argnums, has_aux, **kwargs)


jacobian = jacrev
