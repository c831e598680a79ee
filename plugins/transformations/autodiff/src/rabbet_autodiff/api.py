"""The public functions: arguments and pytrees around the two modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.errors import MissingRule
from rabbet.extend.functions import describe_function, folded
from rabbet.extend.passes import evaluate
from rabbet.extend.primitive import Zero, full_of_type, instantiate, tangent_aval, zero_tangent
from rabbet.extend.transform import typeof
from rabbet.extend.wrapping import check_in_the_end, look_again, wraps

from rabbet_autodiff import checks, modes
from rabbet_autodiff.functions import Flat, aval_of, given, given_back, of_chosen, taken, values_at
from rabbet_autodiff.pullback import Closed, Pullback

if TYPE_CHECKING:
    from rabbet.typing import Value


def stop_gradient(x: Value) -> Value | dict[Any, Any]:
    """``x`` (a pytree of arrays) as a constant to differentiation: its derivative is zero.

    Example:
      >>> rb.grad(lambda x: x * lax.stop_gradient(x))(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return lax.stop_gradient(x)


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
    *,
    argnames: Any = None,
) -> Callable[..., Any]:
    """The function that returns both the value and the gradient of ``fun``.

    Args:
      fun: returns a real floating point scalar of shape (); with ``has_aux`` a pair (scalar, auxiliary
        results).
      argnums: an int, or a sequence of ints: which positional arguments to differentiate. They may be
        pytrees.
      has_aux: whether ``fun`` returns auxiliary results besides.
      holomorphic: whether ``fun`` is complex differentiable; then inputs and output are complex.
      allow_int: whether to accept integer arguments, whose gradient has the dtype float0.
      argnames: a name, or a sequence of names, instead of ``argnums``: which arguments to differentiate,
        whether they are passed by keyword or by position.

    Returns:
      a function of the same arguments returning ``(value, gradient)``, or ``((value, aux), gradient)``. The
      gradient has the structure, shapes and dtypes of the chosen argument, or is a tuple of them.

    Raises:
      TypeError: for an output that is not a scalar or inputs that cannot be differentiated.

    Example:
      >>> rb.value_and_grad(lambda x: x**2)(3.0)
      (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
      >>> rb.value_and_grad(lambda w: ((w["a"] ** 2).sum(), "more"), has_aux=True)({"a": rnp.ones(2)})
      ((Array(2., dtype=float32), 'more'), {'a': Array([2., 2.], dtype=float32)})
      >>> rb.value_and_grad(lambda x, *, scale: x * scale, argnames=("x", "scale"))(3.0, scale=2.0)[1]
      (Array(2., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    checks.no_reduce_axes("value_and_grad", reduce_axes)
    return _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, argnames, "value_and_grad")


def _value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    argnames: str | Sequence[str] | None,
    what: str,
) -> Callable[..., Any]:
    checks.function(what, fun)
    single = checks.names_or_numbers(what, fun, argnums, argnames)

    @wraps(fun, f"The value of {{}} and its gradient with respect to {checks.respect(argnums, argnames)}.")
    @folded
    def valued(*args: Any, **kwargs: Any) -> Any:
        numbers = checks.chosen_places(what, fun, argnums, argnames, args, kwargs)
        chosen = values_at(args, kwargs, numbers)
        leaves, treedef = checks.differentiable_leaves(
            what, fun, chosen, numbers, holomorphic=holomorphic, allow_int=allow_int
        )
        flat = Flat(of_chosen(fun, args, kwargs, numbers), treedef, has_aux)
        outs, recording = modes.record(flat, leaves)
        value = checks.scalar_output(what, fun, outs, flat, holomorphic)
        grads = recording.pull([full_of_type(typeof(value).strong(), 1)])
        grads = [given_back(g, typeof(x)) for g, x in zip(grads, leaves, strict=True)]
        gradient = tree.unflatten(treedef, grads)
        gradient = gradient[0] if single else gradient
        if has_aux:
            return (value, flat.plain_aux()), gradient
        return value, gradient

    return valued


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
    *,
    argnames: Any = None,
) -> Callable[..., Any]:
    """The gradient of a scalar function; see ``value_and_grad`` for the arguments.

    Returns:
      a function of the same arguments returning the gradient, or ``(gradient, aux)`` with ``has_aux``.

    Example:
      >>> rb.grad(rnp.tanh)(1.0)
      Array(0.41997433, dtype=float32, weak_type=True)
      >>> rb.grad(lambda x, *, scale: x * scale, argnames="scale")(3.0, scale=2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    checks.no_reduce_axes("grad", reduce_axes)
    with_value = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, argnames, "grad")

    @wraps(fun, f"The gradient of {{}} with respect to {checks.respect(argnums, argnames)}.")
    @folded
    def gradient(*args: Any, **kwargs: Any) -> tuple[Value | dict[Any, Any], ...] | Value:
        value, g = with_value(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return gradient


def jvp(
    fun: Callable[..., Any],
    primals: Value,
    tangents: Any,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """The value of ``fun`` and its derivative in a direction (forward mode).

    Args:
      fun: a function of ``len(primals)`` positional arguments.
      primals: a tuple of arguments, pytrees of arrays.
      tangents: a tuple of the same structure, shapes and dtypes (float0 for integers).

    Returns:
      ``(out, out_tangent)``, with ``has_aux`` also the auxiliary results.

    Example:
      >>> rb.jvp(lambda x: x**2, (rnp.array(3.0),), (rnp.array(1.0),))
      (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    checks.function("jvp", fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            f"jvp of {describe_function(fun)}: primals and tangents must be tuples of arguments, got "
            f"{type(primals).__name__} and {type(tangents).__name__}"
        )
    if isinstance(primals, list) != isinstance(tangents, list):
        raise TypeError(
            f"jvp of {describe_function(fun)}: primals and tangents must have one structure, got "
            f"{type(primals).__name__} and {type(tangents).__name__}"
        )
    return _jvp(fun, tuple(primals), tuple(tangents), has_aux)


@folded
def _jvp(
    fun: Callable[..., Any],
    primals: tuple[Value | dict[Any, Any], ...],
    tangents: tuple[Any, ...],
    has_aux: bool,
) -> tuple[Any, ...]:
    leaves, treedef = checks.array_leaves("jvp", fun, primals)
    directions, tangent_tree = tree.flatten(tangents)
    checks.same_structure("jvp", fun, tangent_tree, treedef, ("tangents", "primals"))
    directions = [taken(t) for t in directions]
    wanted = [tangent_aval(typeof(x)) for x in leaves]
    checks.same_types("jvp", fun, [aval_of(t) for t in directions], wanted, checks.tangent_name(fun, treedef))
    flat = Flat(fun, treedef, has_aux)
    outs, out_tangents = modes.forward(flat, leaves, directions)
    check_in_the_end(out_tangents)
    out = tree.unflatten(flat.out_tree, outs)
    shown = [given(t, typeof(o)) for t, o in zip(out_tangents, outs, strict=True)]
    out_tangent = tree.unflatten(flat.out_tree, shown)
    return (out, out_tangent, flat.plain_aux()) if has_aux else (out, out_tangent)


def vjp(
    fun: Callable[..., Any],
    *primals: Value | dict[Any, Any],
    has_aux: bool = False,
    reduce_axes: Any = (),
    saveable_args: Any = True,
    in_nzs: Any = None,
) -> tuple[Any, ...]:
    """The value of ``fun`` and the function that pulls cotangents back (reverse mode).

    Args:
      fun: takes and returns pytrees of arrays; with ``has_aux`` it returns auxiliary results besides.
      primals: its arguments.
      saveable_args: True, or a tree of it: values of arguments may be kept for the backward pass.
      in_nzs: which arguments may have a tangent: a bool, or a tree of bools that is a prefix of ``primals``.
        The others are constants, and their cotangents zero.

    Returns:
      ``(out, pull)``, with ``has_aux`` also the auxiliary results. ``pull(cotangent)`` takes a pytree like
      ``out`` and returns a tuple of cotangents, one for each argument; it may be called several times.
      ``pull.out_nzs`` says which outputs have a tangent, in a pytree like ``out``.

    Raises:
      ValueError: if ``in_nzs`` or ``saveable_args`` does not fit. NotImplementedError: for a False in
        ``saveable_args``.

    Example:
      >>> y, f_vjp = rb.vjp(lambda a, b: a * b, rnp.array(2.0), rnp.array(3.0))
      >>> f_vjp(1.0)
      (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    checks.function("vjp", fun)
    checks.no_reduce_axes("vjp", reduce_axes)
    return _vjp(fun, primals, has_aux, saveable_args, in_nzs)


@folded
def _vjp(
    fun: Callable[..., Any],
    primals: tuple[Any, ...],
    has_aux: bool,
    saveable_args: tuple[bool, ...] | bool = True,
    in_nzs: tuple[tuple[bool, ...] | bool, ...] | int | None = None,
) -> tuple[Any, ...]:
    if saveable_args is not True and not all(checks.flags("vjp", "saveable_args", saveable_args, primals)):
        raise NotImplementedError(
            "vjp: saveable_args must be True in this version: what the backward pass needs is kept; "
            "rb.checkpoint computes it again instead"
        )
    leaves, treedef = checks.array_leaves("vjp", fun, primals)
    flat = Flat(fun, treedef, has_aux)
    outs, recording = modes.record(flat, leaves, checks.moving("vjp", in_nzs, primals))
    pull = Pullback(fun, recording, flat.out_tree, treedef, [typeof(o) for o in outs], leaves)
    out = tree.unflatten(flat.out_tree, outs)
    return (out, pull, flat.plain_aux()) if has_aux else (out, pull)


def linearize(
    fun: Callable[..., Any],
    *primals: Value | dict[Any, Any],
    has_aux: bool = False,
    in_nzs: Any = None,
) -> tuple[Any, ...]:
    """The value of ``fun`` and its derivative there as a linear function, computed once for many directions.

    Args:
      fun: takes and returns pytrees of arrays; with ``has_aux`` it returns auxiliary results besides.
      primals: its arguments.
      in_nzs: which arguments may have a tangent, as for ``vjp``; the tangents of the others do not count.

    Returns:
      ``(out, push)``, with ``has_aux`` also the auxiliary results; ``push(*tangents)`` returns the tangent
      of the output. ``push.out_nzs`` says which outputs have a tangent, in a pytree like ``out``.

    Raises:
      ValueError: if ``in_nzs`` does not fit the arguments.

    Example:
      >>> y, f_jvp = rb.linearize(rnp.sin, 0.0)
      >>> y, f_jvp(2.0)
      (Array(0., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    checks.function("linearize", fun)
    return _linearize(fun, primals, has_aux, in_nzs)


@folded
def _linearize(
    fun: Callable[..., Any],
    primals: tuple[Value | dict[Any, Any], ...],
    has_aux: bool,
    in_nzs: tuple[bool, ...] | None = None,
) -> tuple[Any, ...]:
    leaves, treedef = checks.array_leaves("linearize", fun, primals)
    flat = Flat(fun, treedef, has_aux)
    moves = checks.moving("linearize", in_nzs, primals)
    try:
        outs, recording = modes.record(flat, leaves, moves)
    except MissingRule as error:
        # Such as a loop whose number of steps is not known, of which nothing can be kept.
        flat = Flat(fun, treedef, has_aux)
        again = PushAgain(flat, treedef, leaves, moves)
        try:
            outs = again.outs()
        except MissingRule:
            raise error from None
        out = tree.unflatten(flat.out_tree, outs)
        return (out, again, flat.plain_aux()) if has_aux else (out, again)
    out_avals, in_avals = [typeof(o) for o in outs], [typeof(x) for x in leaves]
    push = Push(fun, recording, flat.out_tree, treedef, out_avals, in_avals)
    out = tree.unflatten(flat.out_tree, outs)
    return (out, push, flat.plain_aux()) if has_aux else (out, push)


class Push:
    """What ``linearize`` returns to push tangents forward with. It is a pytree of the values that it keeps,
    so a compiled function may return and take it.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        recording: Any,
        out_tree: Any,
        in_tree: Any,
        out_avals: Any,
        primals: Any,
        parts: Any = None,
    ) -> None:
        self.kept = fun, out_tree, in_tree, out_avals, primals
        self.recording = recording
        self.program, self.values = recording.program() if parts is None else parts

    @property
    def out_nzs(self) -> tuple[bool | dict[Any, Any], ...]:
        """Which outputs have a tangent that is not zero throughout: bools in a pytree like the output."""
        return tree.unflatten(self.kept[1], [v is not None for v in self.recording.outputs])

    @folded
    def __call__(self, *tangents: Value) -> Any:
        fun, out_tree, in_tree, out_avals, primals = self.kept
        directions, tangent_tree = tree.flatten(tangents)
        checks.same_structure("linearize", fun, tangent_tree, in_tree, ("tangents", "primals"))
        directions = [taken(t) for t in directions]
        wanted = [tangent_aval(a) for a in primals]
        checks.same_types(
            "linearize", fun, [aval_of(t) for t in directions], wanted, checks.tangent_name(fun, in_tree)
        )
        inputs = self.recording.inputs
        moving = [instantiate(t) for v, t in zip(inputs, directions, strict=True) if v is not None]
        try:
            found = evaluate(self.program, moving, self.values)
        except FloatingPointError as error:
            found = look_again(error, "", evaluate, self.program, moving, self.values)
        check_in_the_end(found)
        results = iter(found)
        pushed = [None if v is None else next(results) for v in self.recording.outputs]
        return tree.unflatten(out_tree, [given(t, a) for t, a in zip(pushed, out_avals, strict=True)])

    def flatten(self) -> Any:
        """The values that it keeps, and everything else."""
        return self.values, Closed(self.recording._replace(equations=[]), self.program, self.kept)

    @classmethod
    def unflatten(cls, static: Any, values: Any) -> Any:
        """The function that pushes with other values in the places of those that were kept."""
        fun, *others = static.kept
        return cls(fun, static.recording, *others, parts=(static.program, list(values)))


tree.register_node(Push, Push.flatten, Push.unflatten)


class PushAgain:
    """What ``linearize`` returns where nothing can be kept: it runs the function again, in forward mode."""

    def __init__(self, flat: Any, in_tree: Any, leaves: Any, moves: Any) -> None:
        self.flat, self.in_tree, self.leaves, self.moves = flat, in_tree, leaves, moves

    def outs(self) -> Any:
        """The outputs; forward mode is tried with tangents that are zeros."""
        zeros = [zero_tangent(typeof(x)) for x in self.leaves]
        pairs = zip(zeros, self.leaves, strict=True)
        moving = [instantiate(z) if z.aval.dtype == typeof(x).dtype else z for z, x in pairs]
        outs, tangents = modes.forward(self.flat, self.leaves, moving)
        self.out_nzs = tree.unflatten(self.flat.out_tree, [type(t) is not Zero for t in tangents])
        return outs

    @folded
    def __call__(self, *tangents: Any) -> Any:
        directions, tangent_tree = tree.flatten(tangents)
        names = "tangents", "primals"
        checks.same_structure("linearize", self.flat.fun, tangent_tree, self.in_tree, names)
        directions = [taken(t) for t in directions]
        wanted = [tangent_aval(typeof(x)) for x in self.leaves]
        name = checks.tangent_name(self.flat.fun, self.in_tree)
        checks.same_types("linearize", self.flat.fun, [aval_of(t) for t in directions], wanted, name)
        if self.moves is not None:
            zeros = [zero_tangent(typeof(x)) for x in self.leaves]
            directions = [d if m else z for d, m, z in zip(directions, self.moves, zeros, strict=True)]
        outs, pushed = modes.forward(self.flat, self.leaves, directions)
        return tree.unflatten(
            self.flat.out_tree, [given(t, typeof(o)) for t, o in zip(pushed, outs, strict=True)]
        )


tree.register_node(
    PushAgain,
    lambda push: (push.leaves, (push.flat, push.in_tree, None if push.moves is None else tuple(push.moves))),
    lambda static, leaves: PushAgain(static[0], static[1], list(leaves), static[2]),
)


__all__ = ["grad", "jvp", "linearize", "stop_gradient", "value_and_grad", "vjp"]
