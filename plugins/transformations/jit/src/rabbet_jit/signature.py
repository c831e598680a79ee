"""What of a call decides which program it runs: structure, types, static values."""

from __future__ import annotations

import copy
import inspect
import sys
from typing import TYPE_CHECKING, Any

from rabbet import config, tree
from rabbet.errors import StaticArgumentError
from rabbet.extend.cells import Cell
from rabbet.extend.functions import argument_name, describe_function, parameter_name
from rabbet.extend.transform import bound_axes
from rabbet.tree import leaf_path

from rabbet_jit.shared_traces import Weakly

if TYPE_CHECKING:
    from collections.abc import Callable

    from rabbet.typing import Value


class Statics:
    """Arguments singled out by position or name, as ``static_argnums`` and ``static_argnames`` (or the
    donating pair) do.

    Where the function has a signature, either one gives the other, so an argument is found however it is
    passed.
    """

    def __init__(self, fun: Callable[..., Any], numbers: Any, names: Any) -> None:
        self.numbers = _tuple(numbers, int, "argnums")
        self.names = _tuple(names, str, "argnames")
        if not self.numbers and not self.names:
            return
        try:
            parameters = list(inspect.signature(fun).parameters.values())
        except (TypeError, ValueError):
            return
        by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        takes_more = any(p.kind == p.VAR_POSITIONAL for p in parameters)
        takes_names = any(p.kind == p.VAR_KEYWORD for p in parameters)
        count = len(by_position)
        for n in self.numbers:
            if not takes_more and not -count <= n < count:
                raise ValueError(
                    f"argnums names position {n}, but {describe_function(fun)} takes {count} positional "
                    "arguments"
                )
        if not takes_more:
            # From the end of the parameters, not of the arguments of one call, which may leave some out.
            self.numbers = tuple([n % count for n in self.numbers])
        known = {p.name for p in parameters}
        for name in self.names:
            if name not in known and not takes_names:
                raise ValueError(
                    f"argnames names {name!r}, which is not an argument of {describe_function(fun)}; its "
                    f"arguments are {', '.join(sorted(known))}"
                )
        if numbers is None or names is None:
            more_names = [by_position[n] for n in self.numbers if -count <= n < count]
            more_numbers = [by_position.index(name) for name in self.names if name in by_position]
            self.names = tuple(dict.fromkeys([*self.names, *more_names]))
            self.numbers = tuple(dict.fromkeys([*self.numbers, *more_numbers]))

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    def positions(self, count: Any) -> frozenset[Any]:
        """The positions among ``count`` positional arguments."""
        return frozenset([n % count for n in self.numbers if -count <= n < count]) if count else frozenset()


def _tuple(value: Any, kind: type, what: str) -> Any:
    if value is None:
        return ()
    values = (value,) if isinstance(value, (int, str)) else tuple(value)
    for v in values:
        if not isinstance(v, kind):
            raise TypeError(f"{what} must hold {kind.__name__} values, got {v!r}")
    return values


class Signature:
    """A call taken apart: array leaves, their structure, and the static values."""

    def __init__(self, jitted: Any, args: Any, kwargs: Any) -> None:
        statics = jitted.statics
        self.fun = jitted.fun
        positions = statics.positions(len(args)) if statics else frozenset()
        self.count = len(args)
        self.static_args = [(i, args[i]) for i in sorted(positions)]
        self.static_kwargs = [(k, kwargs[k]) for k in sorted(kwargs) if k in statics.names] if statics else []
        args = tuple([a for i, a in enumerate(args) if i not in positions])
        if self.static_kwargs:
            kwargs = {k: v for k, v in kwargs.items() if k not in statics.names}
        self.leaves, self.treedef = tree.flatten((args, kwargs))
        self.cells = tuple([i for i, x in enumerate(self.leaves) if isinstance(x, Cell)])
        self.static_key = tuple(
            [("position", i, _hashed(v, self, ("position", i))) for i, v in self.static_args]
        )
        self.static_key += tuple([("name", k, _hashed(v, self, ("name", k))) for k, v in self.static_kwargs])
        self.positions = positions

    def key(self, types: Any) -> tuple[Any, ...]:
        """The key of this call among the function's programs, for leaves of the given types or
        placements.
        """
        how = config.traced_key(), bound_axes(), self.cells
        return "call", self.treedef, self.static_key, tuple(types), *how

    def rebuild(self, tracers: list[Value]) -> Any:
        """The call's arguments with ``tracers`` in the places of its array leaves."""
        args, kwargs = tree.unflatten(self.treedef, list(tracers))
        moving = iter(args)
        static = dict(self.static_args)
        args = [static[i] if i in static else next(moving) for i in range(self.count)]
        return args, {**kwargs, **dict(self.static_kwargs)}

    def name_of(self, index: int) -> str:
        """How a user would call leaf number ``index``: the parameter's name or position, and the path
        within it.
        """
        return self.name_at(leaf_path(self.treedef, index))

    def name_at(self, path: tuple[Any, ...]) -> str:
        """How a user would call the leaf at a key path of ``(args, kwargs)``."""
        positions = [i for i in range(self.count) if i not in self.positions]
        return argument_name(self.fun, path, positions)

    def static_name(self, kind: Any, which: int | str) -> str:
        """How a user would call a static argument: by its parameter's name where it has one."""
        return f"argument {which!r}" if kind == "name" else f"argument {parameter_name(self.fun, which)}"

    def __getstate__(self) -> dict[Any, Any]:
        # The name of a decorated function is that of its `jit`, by which alone it pickles.
        named = found_by_name(self.fun)
        return {**vars(self), "fun": named if hasattr(named, "jitted") else self.fun}

    def with_leaves(self, leaves: Any) -> Any:
        """The same with other array leaves."""
        changed = copy.copy(self)
        changed.leaves = leaves
        return changed

    def without_values(self) -> Signature:
        """The same for who keeps it: without the arrays of the call."""
        kept = copy.copy(self)
        kept.leaves = [None] * len(self.leaves)
        return kept

    def held_weakly(self) -> Signature:
        """The same for what is kept for as long as the function lives, and must not hold it."""
        kept = self.without_values()
        if "fun" in vars(kept):
            vars(kept)["function"] = Weakly(vars(kept).pop("fun"))
            kept.__class__ = _OfFunctionHeldWeakly
        return kept

    def donated_leaves(self, donated: Statics) -> tuple[int, ...]:
        """The indices of the leaves that belong to donated arguments."""
        positions = donated.positions(self.count)
        moving = [i for i in range(self.count) if i not in self.positions]
        args, kwargs = self.treedef.children()
        gives = [i in positions for i in moving] + [name in donated.names for name in kwargs.node_data()[1]]
        each = [(give, part.num_leaves) for give, part in
                zip(gives, [*args.children(), *kwargs.children()], strict=True)]  # fmt: skip
        flags = [give for give, count in each for _ in range(count)]
        return tuple([leaf for leaf, give in enumerate(flags) if give])


class _OfFunctionHeldWeakly(Signature):
    """See ``Signature.held_weakly``."""

    function: Callable[..., Any]

    @property
    def fun(self) -> Any:  # type: ignore[override]
        return self.function()

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __reduce__(self) -> Any:
        plain = object.__new__(Signature)
        vars(plain).update(vars(self), fun=self.fun)
        del vars(plain)["function"]
        return plain.__reduce_ex__(2)


def found_by_name(function: Callable[..., Any]) -> Any:
    """What stands under a function's name in its module, or None."""
    found = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in str(getattr(function, "__qualname__", None) or "").split("."):
        found = getattr(found, part, None)
    return found


class Static:
    """A static value as a key: equal values of different types (1, 1.0, True) are different, also within
    tuples.
    """

    __slots__ = ("value", "kinds")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.kinds = kinds(value)

    def __eq__(self, other: Any) -> bool:
        return type(other) is Static and self.kinds == other.kinds and self.value == other.value

    def __hash__(self) -> int:
        return hash((self.kinds, self.value))


def kinds(value: Any) -> Any:
    """The type of a static value; for a tuple, that and those of its items."""
    return (type(value), *map(kinds, value)) if isinstance(value, tuple) else type(value)


def _hashed(value: Any, signature: Signature, at: tuple[str, Any]) -> Any:
    try:
        hash(value)
    except TypeError:
        way = "use a tuple for a list, or give the class __hash__ and __eq__"
        if hasattr(value, "dtype"):
            way = "arrays are ordinary arguments, so leave this one out of static_argnums and static_argnames"
        raise StaticArgumentError(
            f"{_static(signature, at)} cannot be hashed: {type(value).__name__} "
            f"({value!r:.40}). Static values are compared between calls; {way}"
        ) from None
    except RecursionError:
        raise _too_deep(value, signature, at) from None
    try:
        static = Static(value)
        if isinstance(value, tuple) and tuple in map(type, static.kinds):  # tuples within tuples
            static == Static(value)  # noqa: B015  what finds its program compares it, too
    except RecursionError:
        raise _too_deep(value, signature, at) from None
    return static


def _static(signature: Signature, at: tuple[str, Any]) -> str:
    return f"jit of {describe_function(signature.fun)}: the static {signature.static_name(*at)}"


def _too_deep(value: Any, signature: Signature, at: tuple[str, Any]) -> Any:
    levels, inner = 0, value
    while isinstance(inner, tuple) and inner:  # the first of each: a lower bound that needs no recursion
        levels, inner = levels + 1, inner[0]
    return StaticArgumentError(
        f"{_static(signature, at)} cannot be hashed or compared: a {type(value).__name__} of "
        f"{max(levels, 1)} levels or more goes deeper than Python can\n"
        "  to fix: give a class of your own with __hash__ and __eq__, or a flat tuple"
    )
