"""The function ``checkpoint``: reverse mode computes again instead of keeping."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import config, tree
from rabbet.extend.cells import contents, put_back
from rabbet.extend.functions import (
    argument_name,
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    folded,
    is_evaluating,
    named_like,
    on_clear_caches,
)
from rabbet.extend.passes import ClosedJaxpr, consts_as_inputs, stage
from rabbet.extend.transform import bound_axes, is_tracer, typeof
from rabbet.extend.wrapping import name_of, wraps
from rabbet.tree import leaf_path

from rabbet_autodiff.primitives import checkpoint as primitive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.extend.passes import Jaxpr
    from rabbet.extend.primitive import Op
    from rabbet.typing import Value

# Of one function; traced again where there are more.
MOST_PROGRAMS = 256
_programs = weakref.WeakKeyDictionary()
on_clear_caches(_programs.clear)


@folded
def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: Any = (),
) -> Callable[..., Any]:
    """Make reverse mode compute the intermediate values of a function again, instead of keeping them.

    Less memory for more computation: without a policy only the arguments of ``fun`` are kept from the
    forward pass. Values and derivatives stay what they are. What does something besides computing, such as
    ``io_callback``, runs once, and its results are kept.

    Args:
      fun: takes and returns pytrees of arrays. Under a transformation it is traced, as by ``jit``.
      prevent_cse: keep the compiler from merging the second computation with the first. Within ``lax.scan``
        nothing needs to be prevented, and False lets it compile better.
      policy: what may be kept, one of ``rb.checkpoint_policies`` or a function
        ``(primitive, *avals, **params) -> bool``.
      static_argnums, static_argnames: arguments that are not traced, by position or name; they should be
        hashable.

    Returns:
      a function of the same arguments. Without ``fun``, a decorator.

    Raises:
      TypeError: for arguments that are not arrays and not static.

    Example:
      >>> @rb.checkpoint
      ... def layer(w, x):
      ...     return rnp.tanh(w @ rnp.tanh(x))
    """
    if fun is None:
        return functools.partial(
            checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums,
            static_argnames=static_argnames,
        )  # fmt: skip
    if not callable(fun):
        raise TypeError(f"checkpoint takes a function, got {type(fun).__name__}: {fun!r:.60}")
    if policy is not None and not callable(policy):
        raise TypeError(
            f"checkpoint of {describe_function(fun)}: policy must be one of rb.checkpoint_policies or a "
            f"function (primitive, *avals, **params) -> bool, got {policy!r:.60}"
        )
    each = prevent_cse if isinstance(prevent_cse, (tuple, list)) else (prevent_cse,)
    if not all(isinstance(one, bool) for one in each):
        raise TypeError(
            f"checkpoint of {describe_function(fun)}: prevent_cse must be True, False or several of these, "
            f"got {prevent_cse!r:.60}"
        )
    numbers, names = _static(fun, static_argnums, static_argnames)
    params = {
        "prevent_cse": bool(prevent_cse), "policy": policy, "differentiated": False,
        "name": name_of(fun),
    }  # fmt: skip

    @wraps(fun)
    @folded
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        _refuse_missing(fun, numbers, names, len(args))
        call = _Call(fun, args, kwargs, numbers, names)
        if is_evaluating():
            args, kwargs = call.rebuilt(call.leaves)
            return fun(*args, **kwargs)
        closed, out_tree, touched = _program(call)
        op = _operator(consts_as_inputs(closed), params)
        outs = op(*closed.consts, *call.leaves, *contents(touched))
        put_back([t for t in touched if t.written], outs[out_tree.num_leaves :])
        return tree.unflatten(out_tree, outs[: out_tree.num_leaves])

    return checkpointed


remat = checkpoint


def _operator(jaxpr: Jaxpr, params: dict[Any, Any]) -> Op:
    """The operator that calls a program; the same one each time, so that what was compiled for it stays."""
    key = primitive.checkpoint, *params.values()
    return jaxpr.once(key, lambda: primitive.checkpoint.op(jaxpr=jaxpr, **params))


def _static(
    fun: Callable[..., Any], argnums: int | Sequence[int], argnames: str | tuple[Any, ...]
) -> tuple[tuple[Any, ...], ...]:
    """Static positions and names, each argument by both where it has both."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if not numbers and not names:
        return (), ()
    try:
        known = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        return numbers, names
    for n in numbers:
        if not isinstance(n, int):
            raise TypeError(f"checkpoint of {describe_function(fun)}: static_argnums holds ints, got {n!r}")
    by_name = tuple([known.index(n) for n in names if n in known])
    by_number = tuple([known[n] for n in numbers if -len(known) <= n < len(known)])
    return numbers + by_name, names + by_number


def _refuse_missing(
    fun: Callable[..., Any], numbers: Sequence[int], names: Sequence[str], count: int
) -> None:
    """Refuse static positions behind the last argument of a call. That of an argument with a name may be: it
    is given by name, or left out.
    """
    for n in numbers:
        if not -count <= n < count and len(names) < len(numbers):
            raise ValueError(
                f"checkpoint of {describe_function(fun)}: static_argnums has {n}, and the call has {count} "
                f"positional arguments\n  to fix: a number from {-count} to {count - 1}"
            )


class _Call:
    """The arguments of a call: static ones kept, the others taken apart."""

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[Any, Any],
        numbers: tuple[int, ...],
        names: tuple[str, ...],
    ) -> None:
        self.fun, self.args, self.kwargs = fun, args, kwargs
        static = {n % len(args) for n in numbers if -len(args) <= n < len(args)}
        self.positions = [i for i in range(len(args)) if i not in static]
        self.keywords = [k for k in kwargs if k not in names]
        # With their types, for Python finds True and 1.0 under 1.
        self.static = (
            tuple([(i, type(args[i]), args[i]) for i in sorted(static)]),
            tuple([(k, type(v), v) for k, v in kwargs.items() if k in names]),
        )
        moving = [args[i] for i in self.positions], {k: kwargs[k] for k in self.keywords}
        leaves, self.in_tree = tree.flatten(moving)
        self.leaves = convert_leaves(array_or_tracer, leaves, self.refusal)
        self.avals = tuple([typeof(x) for x in self.leaves])

    def refusal(self, index: Any, x: Any) -> Any:
        """What to say of an argument that is not an array."""
        return (
            f"checkpoint of {describe_function(self.fun)}: {self.name_of(index)} is not an array: got "
            f"{describe_value(x)}; mark such arguments as static, with static_argnums or static_argnames"
        )

    def name_of(self, index: int) -> str:
        """What messages call a leaf of the arguments."""
        return argument_name(self.fun, leaf_path(self.in_tree, index), self.positions)

    def rebuilt(self, leaves: list[Value] | tuple[Value, ...]) -> Any:
        """The arguments with other leaves."""
        given, keywords = tree.unflatten(self.in_tree, list(leaves))
        args = list(self.args)
        for i, x in zip(self.positions, given, strict=True):
            args[i] = x
        return args, {**self.kwargs, **keywords}

    def key(self) -> Any:
        """What a program is remembered by; None if a static argument cannot be hashed."""
        key = (
            self.in_tree, self.avals, self.static, tuple(self.positions),
            config.traced_key(),  # type: ignore[attr-defined]  # mypy takes the module of that name
            bound_axes(),
        )  # fmt: skip
        try:
            hash(key)
        except TypeError:
            return None
        return key


def _program(call: Any) -> tuple[Any, ...]:
    """The traced function, the structure of its result and what it uses of cells from outside; traced once
    for arguments of one kind.
    """
    key = call.key()
    try:
        programs = _programs.setdefault(call.fun, {})
    except TypeError:  # a function that cannot be hashed or referred to weakly
        key = None
    known = programs.get(key) if key is not None else None
    if known is not None:
        return known
    made = _traced(call)
    if key is not None and not any(is_tracer(c) for c in made[0].consts):
        if len(programs) >= MOST_PROGRAMS:
            programs.clear()
        programs[key] = made
    return made


def _traced(call: Any) -> tuple[Any, ...]:
    fun, out_tree, touched = call.fun, None, []

    def flat(*tracers: Value) -> list[Value]:
        nonlocal out_tree
        args, kwargs = call.rebuilt(tracers)
        outs, out_tree = tree.flatten(fun(*args, **kwargs))
        return convert_leaves(array_or_tracer, outs, lambda i, x: _no_result(fun, x))

    named = named_like(flat, fun, call.name_of, may_be_static=True)
    closed = stage(named, call.avals, getattr(fun, "__name__", "checkpointed"), touched)
    return ClosedJaxpr(closed.jaxpr, [array_or_tracer(c) for c in closed.consts]), out_tree, touched


def _no_result(fun: Callable[..., Any], x: Any) -> Any:
    who = f"checkpoint of {describe_function(fun)}"
    return f"{who}: the function must return arrays, it returned {describe_value(x)}"
