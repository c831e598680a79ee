"""Einstein's summation: products of arrays whose dimensions are named by letters.

Operands are contracted two at a time, in the order of NumPy's ``einsum_path``. Each contraction is one
``dot_general``, whose result is transposed only if the letters are not in the order that comes next. The
plan depends on the subscripts and the shapes alone, and is remembered.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import lax
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.transform import typeof
from rabbet.numpy.products.dots import operands as in_one_dtype
from rabbet.numpy.support.arguments import as_array, check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DTypeLike, Value

STATIC = ("subscripts", "out", "optimize", "precision", "preferred_element_type")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@obeys_out_sharding
def einsum(
    subscripts: str,
    /,
    *operands: Any,
    out: Any = None,
    optimize: str | bool | Sequence[Any] = "auto",
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Any = None,
    out_sharding: Any = None,
) -> Value:
    """The sum of products of ``operands`` over the dimensions whose letters are not in the result.

    Args:
      subscripts: letters or digits for the dimensions of each operand, ``"ij,jk->ik"``; ``...`` stands for
        dimensions that broadcast. Without ``->`` the result has the letters that occur once, in alphabetical
        order. Or the first operand, followed by lists of ints.
      operands: arrays.
      optimize: the order of contraction: ``"auto"``, ``"optimal"``, ``"greedy"``, or False for left to
        right.
      precision: see ``lax.Precision``.
      preferred_element_type: the dtype of sums and result.

    Raises:
      ValueError: if subscripts and operands do not fit together.

    Example:
      >>> a, b = rnp.ones((2, 3)), rnp.ones((3, 4))
      >>> rnp.einsum("ij,jk->ik", a, b).shape
      (2, 4)
      >>> rnp.einsum("ij->", a)
      Array(6., dtype=float32)
    """
    if out is not None:
        raise NotImplementedError("einsum: arrays cannot be written to, so out= must be left out")
    if not isinstance(subscripts, str):
        subscripts, operands = from_lists(subscripts, operands)
    check("einsum", *operands)
    return contracted(
        subscripts,
        *operands,
        optimize=optimize,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@fused(static=STATIC)
def contracted(
    subscripts: str,
    *operands: Value,
    optimize: str | bool | Sequence[Any] = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """``einsum`` of letters and arrays."""
    arrays = in_one_dtype("einsum", *operands)
    plan = plan_of(
        subscripts,
        tuple([a.shape for a in arrays]),
        optimize if isinstance(optimize, (str, bool)) else "auto",
    )
    arrays = [prepared(x, *step) for x, step in zip(arrays, plan.preparations)]
    for (i, j), swapped, step in plan.contractions:
        y, x = arrays.pop(j), arrays.pop(i)
        both = (y, x) if swapped else (x, y)
        arrays.append(contract(*both, step, as_given(precision, swapped), preferred_element_type))
    (result,) = arrays
    return finished(result, plan.final_sum, plan.final_order)


def from_lists(first: np.ndarray, rest: tuple[list[Any] | np.ndarray, ...]) -> Any:
    """The form ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` as letters.

    The axes may have any names that can be hashed and sorted, which get letters in their order.
    """
    everything = [first, *rest]
    arrays, lists = everything[0::2], everything[1::2]
    result = None
    if len(arrays) > len(lists):
        *arrays, result = arrays
    try:
        names = sorted({i for axes in lists for i in axes if i is not Ellipsis})
    except TypeError:
        raise TypeError(
            "einsum: the names of axes in lists must be such as can be hashed and compared, as integers or "
            f"strings; given {lists}"
        ) from None
    if len(names) > len(LETTERS):
        raise ValueError(f"einsum: {len(names)} names of axes; there can be {len(LETTERS)}")
    letter_of = dict(zip(names, LETTERS))
    letter_of[Ellipsis] = "..."

    def letters(axes: Any) -> Any:
        unknown = [i for i in axes if i not in letter_of]
        if unknown:
            raise ValueError(f"einsum: the result has axes {unknown}, which no operand has")
        return "".join([letter_of[i] for i in axes])

    subscripts = ",".join([letters(axes) for axes in lists])
    return (subscripts if result is None else f"{subscripts}->{letters(result)}"), arrays


# ---------------------------------------------------------------------------------------------- the plan
class Plan:
    """What to do: the diagonals and sums of each operand, the contractions, and the order of the result.

    ``preparations``: per operand, the shape with dimensions for the letters, pairs to take the diagonal of,
    axes to sum.
    ``contractions``: pairs of positions in the list of operands (the result goes to its end), whether they
    change places, and a ``Step``.
    """

    def __init__(
        self,
        preparations: list[Any],
        contractions: list[Any],
        final_sum: tuple[Any, ...],
        final_order: tuple[int, ...],
    ) -> None:
        self.preparations, self.contractions = preparations, contractions
        self.final_sum, self.final_order = final_sum, final_order


@functools.lru_cache(maxsize=4096)
def plan_of(subscripts: Any, shapes: Any, optimize: Any) -> Any:
    """The plan for letters and shapes.

    Raises:
      ValueError: if they do not fit together.
    """
    terms, result = parsed(subscripts, shapes)
    sizes = sizes_of(subscripts, terms, shapes)
    preparations, current = [], []
    for k, (term, shape) in enumerate(zip(terms, shapes)):
        others = set(result).union(*(t for i, t in enumerate(terms) if i != k))
        preparations.append(preparation(term, shape, sizes, others))
        current.append(remaining(term, shape, sizes, others))
    contractions = []
    for i, j in order_of(current, result, sizes, optimize):
        y, x = current.pop(j), current.pop(i)
        needed = set(result).union(*current)
        swapped = apart(y, x, needed, result) < apart(x, y, needed, result)
        step, letters = step_of(y, x, needed) if swapped else step_of(x, y, needed)
        contractions.append(((i, j), swapped, step))
        current.append(letters)
    (letters,) = current
    missing = [c for c in letters if c not in result]
    kept = [c for c in letters if c in result]
    return Plan(
        preparations,
        contractions,
        tuple([letters.index(c) for c in missing]),
        tuple([kept.index(c) for c in result]),
    )


def parsed(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> Any:
    """Letters (or digits, as in JAX) of each operand and of the result, with letters of their own for what
    ``...`` stands for.
    """
    subscripts = subscripts.replace(" ", "")
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(f"einsum: {subscripts!r} names {len(terms)} operands, got {len(shapes)}")
    free = [c for c in LETTERS if c not in subscripts]
    widest = max([len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes) if "..." in t], default=0)
    dots = "".join(free[: max(widest, 0)])
    full = []
    for term, shape in zip(terms, shapes):
        named = term.replace("...", "")
        hidden = len(shape) - len(named)
        if hidden < 0 or ("..." not in term and hidden) or (named and not named.isalnum()):
            raise ValueError(
                f"einsum: {term!r} in {subscripts!r} does not fit an array of "
                f"{len(shape)} dimensions, {shape}"
            )
        full.append(term.replace("...", dots[len(dots) - hidden :] if hidden else ""))
    if arrow:
        result = right.replace("...", dots)
    else:
        everything = "".join(full)
        result = dots + "".join(
            sorted(c for c in set(everything) if everything.count(c) == 1 and c not in dots)
        )
    for c in result:
        if result.count(c) > 1 or not any(c in t for t in full):
            raise ValueError(
                f"einsum: {c!r} in the result of {subscripts!r} must occur once there, and in an operand"
            )
    return full, result


def sizes_of(subscripts: str, terms: Any, shapes: tuple[tuple[int, ...], ...]) -> Any:
    """The size of each letter; 1 gives way to another size.

    Raises:
      ValueError: if a letter has two sizes.
    """
    sizes = {}
    for term, shape in zip(terms, shapes):
        for c, n in zip(term, shape):
            if sizes.setdefault(c, n) == 1:
                sizes[c] = n
            elif n not in (1, sizes[c]):
                raise ValueError(
                    f"einsum: {c!r} in {subscripts!r} has the sizes {sizes[c]} and {n} in the shapes {shapes}"
                )
    return sizes


def remaining(term: str, shape: tuple[int, ...], sizes: dict[Any, Any], others: set[Any]) -> Any:
    """The letters of an operand once it is prepared: each once, without those summed and those broadcast
    from size 1.
    """
    kept = []
    for c, n in zip(term, shape):
        if c not in kept and c in others and not (n == 1 and sizes[c] != 1):
            kept.append(c)
    return "".join(kept)


def preparation(term: str, shape: tuple[int, ...], sizes: dict[Any, Any], others: set[Any]) -> Any:
    """``(sizes to squeeze, diagonals, sums)`` of one operand: axes of size 1 to drop, pairs of equal
    letters, axes to sum.
    """
    dropped = tuple([d for d, (c, n) in enumerate(zip(term, shape)) if n == 1 and sizes[c] != 1])
    letters = [c for d, c in enumerate(term) if d not in dropped]
    diagonals = []
    while len(set(letters)) < len(letters):
        c = next(c for c in letters if letters.count(c) > 1)
        i = letters.index(c)
        j = letters.index(c, i + 1)
        diagonals.append((i, j))
        del letters[j]
    summed = tuple([d for d, c in enumerate(letters) if c not in others])
    return dropped, tuple(diagonals), summed


def order_of(
    terms: list[str], result: Any, sizes: dict[Any, Any], optimize: str | bool | Sequence[Any]
) -> Any:
    """Pairs of operands to contract, as positions in the shrinking list: left to right, or as NumPy's path
    goes.
    """
    if len(terms) < 3 or optimize is False:
        return (
            [(0, 1)] + [(0, len(terms) - k - 1) for k in range(1, len(terms) - 1)] if len(terms) > 1 else []
        )
    how = path_search(optimize, len(terms))
    shaped = [np.broadcast_to(0.0, [sizes[c] for c in t]) for t in terms]
    path, _ = np.einsum_path(
        f"{','.join(terms)}->{''.join(c for c in result if any(c in t for t in terms))}",
        *shaped,
        optimize=how,
    )
    pairs, n = [], len(terms)
    for contraction in path[1:]:
        contraction = sorted(contraction)
        while len(contraction) > 1:  # NumPy may join several at once; here they are joined pair by pair
            i, j = contraction[-2], contraction[-1]
            pairs.append((i, j))
            n -= 1
            contraction = [*contraction[:-2], n - 1]
    return pairs


def path_search(optimize: str | bool | Sequence[Any], count: int) -> Any:
    """How NumPy should look for the order of so many operands: the best one, if they are few."""
    if isinstance(optimize, (list, tuple)) and all(isinstance(step, tuple) for step in optimize):
        return ["einsum_path", *optimize]
    if optimize not in ("auto", True):
        return optimize
    return "optimal" if count <= 5 else "greedy"


def step_of(x: str, y: str, needed: set[Any]) -> Any:
    """How to contract two terms: ``((x dims, y dims), (x batch, y batch), x sums, y sums)``, and the
    letters of the result.
    """
    both = [c for c in x if c in y]
    batch = [c for c in both if c in needed]
    summed = [c for c in both if c not in needed]
    numbers = (
        (tuple([x.index(c) for c in summed]), tuple([y.index(c) for c in summed])),
        (tuple([x.index(c) for c in batch]), tuple([y.index(c) for c in batch])),
    )
    letters = "".join([*batch, *[c for c in x if c not in both], *[c for c in y if c not in both]])
    return numbers, letters


def apart(x: str, y: str, needed: set[Any], result: str) -> tuple[int, int]:
    """How far the dimensions of a product of two terms are from their order in the result: how many pairs are
    in the other order, and how many are behind the first that is out of place. Of the two orders of the
    operands the nearer one needs the smaller transposition, or none.
    """
    letters = [c for c in step_of(x, y, needed)[1] if c in result]
    wanted = sorted(letters, key=result.index)
    places = [result.index(c) for c in letters]
    pairs = sum([a > b for k, b in enumerate(places) for a in places[:k]])
    inner = next((k for k, (a, b) in enumerate(zip(letters, wanted)) if a != b), len(letters))
    return pairs, len(letters) - inner


# ---------------------------------------------------------------------------------------------- the work
def prepared(
    x: Value, dropped: tuple[Any, ...], diagonals: tuple[tuple[int, ...], ...], summed: tuple[int, ...]
) -> Any:
    """One operand with its diagonals taken and its own dimensions summed."""
    if dropped:
        x = lax.squeeze(x, dropped)
    for i, j in diagonals:
        x = diagonal_in_place(x, i, j)
    return summed_over(x, summed) if summed else x


def diagonal_in_place(x: Value, i: int, j: int) -> Value:
    """The diagonal of dimensions i and j, left at i: elsewhere zeros, then a sum over j."""
    shape = typeof(x).shape
    mask = lax.eq(lax.broadcasted_iota("int32", shape, i), lax.broadcasted_iota("int32", shape, j))
    return summed_over(lax.select(mask, x, lax.full_like(x, 0)), (j,))


def summed_over(x: Value, axes: tuple[int, ...]) -> Value:
    """Sums along axes; of booleans whether any is true, as their products are whether all are."""
    return (lax.reduce_or if typeof(x).dtype == bool else lax.reduce_sum)(x, axes)


def as_given(precision: Any, swapped: bool) -> Any:
    """A precision for each operand in their order."""
    return tuple(precision)[::-1] if swapped and isinstance(precision, (tuple, list)) else precision


def contract(
    x: Value,
    y: Value,
    numbers: tuple[tuple[tuple[Any, ...], ...], ...],
    precision: Any,
    preferred_element_type: Any,
) -> Value:
    """Two operands made one."""
    return lax.dot_general(x, y, numbers, precision, preferred_element_type)


def finished(x: Value, summed: tuple[Any, ...], order: tuple[int, ...]) -> Value:
    """The result with what is left to sum summed, its dimensions in order."""
    if summed:
        x = summed_over(x, summed)
    return as_array(lax.transpose(x, order))


def einsum_path(subscripts: str, /, *operands: Any, optimize: Any = "auto") -> Any:
    """The order of contraction that NumPy finds, and a report on its cost, a text; see
    ``numpy.einsum_path``.

    The order is a list of pairs of positions, which ``einsum`` takes as ``optimize``. NumPy's own begins with
    the word ``'einsum_path'``, which is taken, too.

    Example:
      >>> rnp.einsum_path("ij,jk,k->i", rnp.ones((2, 3)), rnp.ones((3, 4)), rnp.ones(4))[0]
      [(1, 2), (0, 1)]
    """
    if not isinstance(subscripts, str):
        subscripts, operands = from_lists(subscripts, operands)
    path, report = np.einsum_path(
        subscripts,
        *[np.broadcast_to(0.0, typeof(x).shape) for x in operands],
        optimize=path_search(optimize, len(operands)),
    )
    return path[1:], report


def matvec(x1: Value, x2: Value, /) -> Value:
    """Products of matrices (last two dimensions of ``x1``) and vectors (last one of ``x2``), the rest
    broadcast.

    Example:
      >>> rnp.matvec(rnp.ones((5, 2, 3)), rnp.ones((5, 3))).shape
      (5, 2)
    """
    return einsum("...mn,...n->...m", x1, x2)


def vecmat(x1: Value, x2: Value, /) -> Value:
    """Products of vectors (last dimension of ``x1``, conjugated) and matrices (last two of ``x2``), the
    rest broadcast.

    Example:
      >>> rnp.vecmat(rnp.ones(2), rnp.ones((5, 2, 3))).shape
      (5, 3)
    """
    from rabbet.numpy.elementwise.selection_and_rounding import conj

    return einsum("...n,...nm->...m", conj(x1), x2)


__all__ = ["einsum", "einsum_path", "matvec", "vecmat"]
