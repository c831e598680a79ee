"""Functions of pytrees as functions of flat lists, and tangents as users write and see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import dtypes, tree
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    named_like,
    with_weak_type,
)
from rabbet.extend.primitive import Dual, ShapedArray, Zero, full_of_type, tangent_aval
from rabbet.extend.transform import Tracer, context, typeof
from rabbet.tree import keystr, leaf_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from rabbet.typing import Value


class StandIn:
    """What has a function's name in messages, in its place: the function may close over values of a
    transformation that has ended when this is read.
    """

    def __init__(self, fun: Any) -> None:
        self.described = describe_function(fun)


class Flat:
    """A function of pytrees as one of flat lists; remembers the structure of its result (and auxiliary
    results).
    """

    def __init__(self, fun: Callable[..., Any], treedef: Any, has_aux: bool = False) -> None:
        self.fun, self.treedef, self.has_aux = fun, treedef, has_aux
        self.out_tree = self.aux = None
        named_like(self, fun)

    def __call__(self, *leaves: Value) -> list[Value]:
        out = self.fun(*tree.unflatten(self.treedef, list(leaves)))
        if self.has_aux:
            if not (isinstance(out, (tuple, list)) and len(out) == 2):
                raise TypeError(
                    f"has_aux=True: {describe_function(self.fun)} must return a pair (output, auxiliary "
                    f"results), it returned {type(out).__name__}"
                )
            out, aux = out
            # Now, so that nothing holds tracers of a differentiation that has finished.
            self.aux = tree.map(lambda x: plain(x, context.interpreter), aux)
        outs, self.out_tree = tree.flatten(out)
        return convert_leaves(array_or_tracer, outs, self.no_result)

    def no_result(self, index: int, x: str) -> str:
        """What to say of an output that is not an array."""
        path = leaf_path(self.out_tree, index)
        return (
            f"differentiation of {describe_function(self.fun)}: the function must return arrays, it "
            f"returned a leaf{f' at {keystr(path)}' if path else ''} of type {describe_value(x)}; return "
            "other "
            "things through has_aux"
        )

    def plain_aux(self) -> Any:
        """The auxiliary results with the tracers of the finished differentiation replaced by their
        values.
        """
        return tree.map(plain, self.aux)


def plain(x: Value | str, finishing: Any = None) -> Value | str:
    """The value of a tracer of a differentiation that has finished, or does now; any other leaf as it is."""
    while (
        type(x) is Tracer
        and (x.interpreter is finishing or not x.interpreter.alive)
        and type(x.payload) is Dual
    ):
        x = x.payload.primal
    return x


def of_chosen(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any], places: tuple[Any, ...]
) -> Any:
    """``fun`` as a function of the chosen arguments alone: positions, and names of keyword arguments."""

    def chosen_only(*chosen: Value | dict[Any, Any]) -> tuple[Value, ...] | Value:
        full, by_name = list(args), dict(kwargs)
        for place, x in zip(places, chosen, strict=True):
            if isinstance(place, str):
                by_name[place] = x
            else:
                full[place] = x
        return fun(*full, **by_name)

    return named_like(chosen_only, fun)


def values_at(args: tuple[Any, ...], kwargs: dict[Any, Any], places: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments at these places of a call."""
    return tuple([kwargs[place] if isinstance(place, str) else args[place] for place in places])


# ---------------------------------------------------------------------------------------------------
# tangents
def is_float0(x: Value) -> bool:
    """Whether ``x`` is the tangent of integers: a NumPy array without bytes."""
    return getattr(x, "dtype", None) == dtypes.float0


def aval_of(t: Zero | Value) -> ShapedArray:
    """The type of a tangent that may be a symbolic zero."""
    return t.aval if type(t) is Zero else typeof(t)


def taken(t: Value) -> Any:
    """A tangent as users give it, as the modes take it: float0 becomes a symbolic zero."""
    return Zero(ShapedArray(t.shape, dtypes.float0)) if is_float0(t) else array_or_tracer(t)


def given(t: Zero | Value | None, aval: ShapedArray) -> Value:
    """A tangent of a value of type ``aval`` as users see it: zeros where it is None or symbolic, float0 for
    integers.
    """
    if t is not None and type(t) is not Zero:
        return t if is_float0(t) else array_or_tracer(t)
    t = full_of_type(tangent_aval(aval), 0)
    return t if is_float0(t) else with_weak_type(array_or_tracer(t), aval.weak_type)


def given_back(ct: Value | None, aval: ShapedArray) -> Any:
    """A cotangent of an argument of type ``aval`` as users see it; weak where the argument is, so that
    updates stay weak.
    """
    ct = given(ct, aval)
    return ct if is_float0(ct) else with_weak_type(ct, aval.weak_type)
