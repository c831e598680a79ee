"""What the public functions refuse, and how they say it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, tree
from rabbet.errors import DTypeError
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    parameter_name,
)
from rabbet.extend.transform import typeof
from rabbet.tree import keystr, leaf_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.extend.primitive import ShapedArray
    from rabbet.typing import Value


def no_reduce_axes(name: str, reduce_axes: Any) -> None:
    """Refuse axes over which JAX once summed derivatives."""
    if tuple(reduce_axes or ()):
        raise NotImplementedError(
            f"{name}: reduce_axes is not there, as in JAX today; got {reduce_axes!r:.60}\n"
            "  to fix: sum the derivative with lax.psum"
        )


def function(what: str, fun: Callable[..., Any]) -> None:
    """Refuse what cannot be called."""
    if not callable(fun):
        raise TypeError(f"{what} takes a function, got {type(fun).__name__}")


def as_tuple(argnums: int | Sequence[int], fun: Callable[..., Any], count: int, what: str = "grad") -> Any:
    """``argnums`` as a tuple of non-negative ints, checked against the number of positional arguments."""
    numbers = (
        (argnums,) if isinstance(argnums, (int, str)) or not hasattr(argnums, "__iter__") else tuple(argnums)
    )
    out = []
    for n in numbers:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(f"{what} of {describe_function(fun)}: argnums must be ints, got {argnums!r}")
        if not -count <= n < count:
            raise TypeError(
                f"{what} of {describe_function(fun)}: argnums={argnums} asks for argument {n}, but the "
                f"function was called with {count} positional argument{'s' if count != 1 else ''}; pass "
                "the argument by position, or choose a keyword argument by its name, with argnames"
            )
        out.append(n % count)
    if len(set(out)) != len(out):
        raise ValueError(f"{what} of {describe_function(fun)}: argnums={argnums} names an argument twice")
    return tuple(out)


def chosen_places(
    what: str,
    fun: Callable[..., Any],
    argnums: Any,
    argnames: Any,
    args: tuple[Any, ...],
    kwargs: dict[Any, Any],
) -> tuple[Any, ...]:
    """Where the arguments to differentiate stand in a call: positions, and names of keyword arguments."""
    if argnames is None:
        return as_tuple(argnums, fun, len(args), what)
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    by_position = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    positions = [p.name for p in parameters if p.kind in by_position][: len(args)]
    for name in names:
        if name not in kwargs and name not in positions:
            have = ", ".join([repr(n) for n in (*positions, *kwargs)]) or "none that has a name"
            raise TypeError(
                f"{what} of {describe_function(fun)}: argnames={argnames!r} asks for argument {name!r}; the "
                f"arguments of the call were {have}"
            )
    return tuple([name if name in kwargs else positions.index(name) for name in names])


def names_or_numbers(what: str, fun: Callable[..., Any], argnums: Any, argnames: Any) -> bool:
    """Check ``argnames``; whether one argument is asked for, whose derivative is not in a tuple.

    Raises:
      TypeError: for names that are none, or beside other ``argnums`` than 0, its default.
    """
    if argnames is None:
        return isinstance(argnums, int)
    if argnums != 0 or isinstance(argnums, bool):
        raise TypeError(
            f"{what} of {describe_function(fun)}: give argnums={argnums!r} or argnames={argnames!r}, not both"
        )
    if isinstance(argnames, str):
        return True
    names = tuple(argnames) if hasattr(argnames, "__iter__") else (argnames,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{what} of {describe_function(fun)}: argnames must be a name or a sequence of names, got "
            f"{argnames!r:.60}"
        )
    if len(set(names)) != len(names):
        raise ValueError(f"{what} of {describe_function(fun)}: argnames={argnames} names an argument twice")
    return False


def respect(argnums: Any, argnames: Any) -> str:
    """With respect to what, in the documentation of a derivative."""
    return f"argument {argnums}" if argnames is None else f"argument {argnames!r}"


def name_of(fun: Callable[..., Any], treedef: Any, index: int, argnums: tuple[Any, ...] | None = None) -> str:
    """How a user would call leaf number ``index`` of the differentiated arguments."""
    which, *rest = leaf_path(treedef, index)
    place = which.idx if argnums is None else argnums[which.idx]
    name = repr(place) if isinstance(place, str) else parameter_name(fun, place)
    return f"argument {name}{keystr(tuple(rest))}"


def flags(what: str, name: str, given: tuple[tuple[bool, ...] | bool, ...] | int, values: Any) -> list[bool]:
    """One bool for each leaf of ``values``, from an argument called ``name``: a bool for all, or containers
    of bools that correspond to those of ``values`` in their number of children.

    Raises:
      ValueError: for what is neither, or does not fit.
    """
    if isinstance(given, bool):
        return [given] * len(tree.leaves(values))
    inner, outer = children(given), children(values)
    if inner is None:
        raise ValueError(f"{what}: {name} must be a bool or a tree of bools, got {given!r:.60}")
    if outer is None or len(inner) != len(outer):
        have = "a leaf" if outer is None else f"a container of {len(outer)}"
        raise ValueError(
            f"{what}: {name} must be a prefix of the arguments, but {given!r:.60} has {len(inner)} entries "
            f"where they have {have}"
        )
    return [flag for g, v in zip(inner, outer, strict=True) for flag in flags(what, name, g, v)]


def moving(
    what: str, in_nzs: tuple[tuple[bool, ...] | bool, ...] | int | None, primals: tuple[Any, ...]
) -> list[bool] | None:
    """Which leaves of the arguments ``in_nzs`` says to have a tangent; None: all of them."""
    return None if in_nzs is None else flags(what, "in_nzs", in_nzs, primals)


def children(node: Any) -> list[Any] | None:
    """The children of a node of a pytree in their order, or None for a leaf."""
    leaves, structure = tree.flatten(node, is_leaf=lambda x: x is not node)
    return None if structure == tree.structure(0) else leaves


def array_leaves(
    what: str,
    fun: Callable[..., Any],
    arguments: tuple[Value | dict[Any, Any], ...],
    argnums: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    """The leaves of a tuple of arguments as arrays, and its structure."""
    leaves, treedef = tree.flatten(arguments)

    def refusal(index: Any, x: Any) -> Any:
        return (
            f"{what} of {describe_function(fun)}: {name_of(fun, treedef, index, argnums)} cannot be "
            f"differentiated, it is not an array: {describe_value(x)}; pass other things by keyword, or bind "
            "them with "
            "functools.partial"
        )

    return convert_leaves(array_or_tracer, leaves, refusal), treedef


def differentiable_leaves(
    what: str,
    fun: Callable[..., Any],
    arguments: tuple[Value | dict[Any, Any], ...],
    argnums: tuple[int, ...],
    *,
    holomorphic: bool = False,
    allow_int: bool = False,
    real_only: bool = False,
) -> Any:
    """The leaves of the chosen arguments as arrays, after checking that they can be differentiated; and
    their structure.
    """
    leaves, treedef = array_leaves(what, fun, arguments, argnums)
    for i, leaf in enumerate(leaves):
        aval = typeof(leaf)
        kind = dtypes.kind(aval.dtype)
        if holomorphic and kind != "c":
            problem = "with holomorphic=True needs complex inputs"
            advice = "leave holomorphic out for real functions"
        elif real_only and not holomorphic and kind == "c":
            problem = "needs real inputs, a complex one has no single matrix of derivatives"
            advice = (
                "pass holomorphic=True if the function is complex differentiable, or use rb.vjp or rb.jvp"
            )
        elif kind not in "fc" and not allow_int:
            problem = "needs floating point or complex inputs"
            advice = "convert it with astype, choose other arguments with argnums"
            if what != "jacfwd":
                advice += ", or pass allow_int=True for derivatives of dtype float0"
        else:
            continue
        raise TypeError(
            f"{what} of {describe_function(fun)} {problem}: {name_of(fun, treedef, i, argnums)} has the "
            f"type {aval.str_short()}; {advice}"
        )
    return leaves, treedef


LEAF = tree.structure(0)


def described(out_tree: Any) -> str:
    """The structure of what a function returned that should return a scalar, in words."""
    kind, keys = out_tree.node_data()
    if kind is type(None):
        return "None"
    size = f"{out_tree.num_leaves} array{'' if out_tree.num_leaves == 1 else 's'}"
    if kind is dict:
        return f"a dict with the key{'' if len(keys) == 1 else 's'} {', '.join(map(repr, keys))}"
    if kind in (tuple, list):
        return f"a {kind.__name__} of length {len(out_tree.children())} with {size}"
    return f"a {kind.__name__} with {size}"


def scalar_output(what: str, fun: Callable[..., Any], outs: Any, flat: Any, holomorphic: bool) -> Any:
    """Check that a function to be ``grad``ed returned one real scalar; return it."""
    who = f"{what} of {describe_function(fun)}"
    if flat.out_tree != LEAF:
        found = described(flat.out_tree)
        if flat.has_aux:
            raise TypeError(
                f"{who} with has_aux=True: the first of the pair must be one scalar, it is {found}"
            )
        raise TypeError(
            f"{who}: the function must return one scalar, it returned {found}; use has_aux=True for (loss, "
            "other results), or rb.jacrev for derivatives of several outputs"
        )
    aval = typeof(outs[0])
    kind = dtypes.kind(aval.dtype)
    if aval.shape:
        raise TypeError(
            f"{who}: the function must return a scalar, it returned an array of type {aval.str_short()}; "
            "reduce it (as by rabbet.numpy.sum or mean), or use rb.jacrev or rb.vjp"
        )
    if holomorphic and kind != "c":
        raise TypeError(f"{who} with holomorphic=True needs a complex output, got {aval.str_short()}")
    if not holomorphic and kind == "c":
        raise TypeError(
            f"{who}: the function must return a real scalar, it returned {aval.str_short()}; take its real "
            "part, or pass holomorphic=True if it is complex differentiable"
        )
    if kind not in "fc":
        raise TypeError(
            f"{who}: the function must return a floating point scalar, it returned {aval.str_short()}; "
            "convert the result with astype"
        )
    return outs[0]


def array_outputs(
    what: str, fun: Callable[..., Any], outs: list[Value], out_tree: Any, holomorphic: bool
) -> None:
    """Check that the outputs of a function have rows of derivatives."""
    for i, out in enumerate(outs):
        aval = typeof(out)
        wanted = "complex" if holomorphic else "real floating point"
        if dtypes.kind(aval.dtype) != ("c" if holomorphic else "f"):
            raise TypeError(
                f"{what} of {describe_function(fun)}{' with holomorphic=True' if holomorphic else ''} needs "
                f"{wanted} outputs, the output{keystr(leaf_path(out_tree, i))} has the type "
                f"{aval.str_short()}; a complex differentiable function takes holomorphic=True, other "
                "results go through has_aux=True"
            )


def same_structure(
    what: str,
    fun: Callable[..., Any],
    given: Any,
    wanted: Any,
    names: tuple[str, ...],
    error: type = TypeError,
) -> None:
    """Refuse two pytrees of different structure."""
    if given != wanted:
        raise error(
            f"{what} of {describe_function(fun)}: {names[0]} must have the same structure as {names[1]}, "
            f"got {given} and {wanted}"
        )


def same_types(
    what: str,
    fun: Callable[..., Any],
    given: list[ShapedArray],
    wanted: list[ShapedArray],
    name: Callable[..., Any],
) -> None:
    """Refuse lists of avals that differ in dtype (``DTypeError``) or shape (``ValueError``); ``name(i)``
    says which pair it is.
    """
    for i, (a, b) in enumerate(zip(given, wanted, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise (DTypeError if a.dtype != b.dtype else ValueError)(
                f"{what} of {describe_function(fun)}: {name(i)} must have the type {b.str_short()}, got "
                f"{a.str_short()}"
            )
        if not a.stands_for(b) and what != "jvp":
            raise ValueError(
                f"{what} of {describe_function(fun)}: {name(i)} has the type {a.str_short()} and differs "
                f"between devices, and {b.str_short()} does not\n  to fix: differentiate at a value that "
                "differs, too, lax.pcast(x, axis, to='varying'); or add up before, lax.psum(t, axis)"
            )


def tangent_name(fun: Callable[..., Any], treedef: Any) -> Callable[..., Any]:
    """Names the tangents of arguments, for ``same_types``."""
    return lambda i: f"the tangent of {name_of(fun, treedef, i)}"


def cotangent_name(treedef: Any) -> Callable[..., Any]:
    """Names the cotangents of outputs, for ``same_types``."""
    return lambda i: f"the cotangent of the output{keystr(leaf_path(treedef, i))}"
