"""Functions with derivative rules of their own: ``custom_jvp`` and ``custom_vjp``.

Both stand on core's ``custom_call``, which keeps the function's program and its rules by table name; here
are only the pytrees and the checks.
"""

import functools
import inspect

from rabbet import dtypes, tree
from rabbet.extend import (
    call_with_rules,
    converted,
    describe_function,
    folded,
    instantiate,
    is_evaluating,
    parameter_name,
    shown,
    tangent_aval,
    traceable,
    typeof,
    zero_for,
)  # fmt: skip
from rabbet.tree_util import keystr

from rabbet_autodiff import checks
from rabbet_autodiff.functions import is_float0


class _Custom:
    """What both have in common: positional binding, static arguments, and the call."""

    def __init__(self, fun, nondiff_argnums=(), nondiff_argnames=()):
        checks.function(type(self).__name__, fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = (
            (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        )
        self.nondiff_argnames = tuple(nondiff_argnames)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def _bound(self, args, kwargs):
        """All arguments by position, defaults filled in."""
        try:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        except ValueError:
            return args
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{describe_function(self.fun)} has keyword-only arguments {sorted(bound.kwargs)}; "
                "functions with custom derivative rules take arguments by position"
            )
        return bound.args

    def _static(self, count):
        names = list(inspect.signature(self.fun).parameters) if self.nondiff_argnames else []
        numbers = {n % count for n in self.nondiff_argnums} | {names.index(n) for n in self.nondiff_argnames}
        return sorted(numbers)

    @folded
    def __call__(self, *args, **kwargs):
        args = self._bound(args, kwargs)
        if is_evaluating() or not self._has_rule():
            if not self._has_rule():
                raise AttributeError(
                    f"{describe_function(self.fun)} was declared with {type(self).__name__} and has no rule "
                    f"yet; call its {self._definer} first"
                )
            return self.fun(*args)
        static = self._static(len(args))
        moving = [a for i, a in enumerate(args) if i not in static]
        leaves, in_tree = tree.flatten(tuple(moving))
        leaves = [traceable(x) for x in leaves]
        call = _Call(self.fun, args, static, in_tree)
        outs = call_with_rules(call, self._rules(call), leaves, getattr(self.fun, "__name__", "custom"))
        return tree.unflatten(call.out_tree, outs)


def _no_symbolic_zeros(what, asked):
    if asked:
        raise NotImplementedError(
            f"{what}: symbolic_zeros=True is not supported in this version; rules get arrays of zeros"
        )


class _Call:
    """One call: the function on flat arrays, with its static arguments in place."""

    def __init__(self, fun, args, static, in_tree):
        self.fun, self.args, self.static, self.in_tree = fun, args, static, in_tree
        self.out_tree = None
        self.__name__ = getattr(fun, "__name__", "custom")

    def static_args(self):
        return [self.args[i] for i in self.static]

    def __call__(self, *leaves):
        moving = iter(tree.unflatten(self.in_tree, list(leaves)))
        args = [a if i in self.static else next(moving) for i, a in enumerate(self.args)]
        outs, self.out_tree = tree.flatten(self.fun(*args))
        return [traceable(x) for x in outs]


class custom_jvp(_Custom):
    """Decorator: a function whose derivative you give by a rule of forward mode; reverse mode comes from
    its transposition.

    Args:
      fun: takes arguments by position and returns a pytree of arrays.
      nondiff_argnums: positions of static arguments, given to the rule first and as they are.

    Example:
      >>> @rb.custom_jvp
      ... def log1pexp(x):
      ...     return rnp.log(1 + rnp.exp(x))
      >>> @log1pexp.defjvp
      ... def log1pexp_jvp(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return log1pexp(x), t / (1 + rnp.exp(-x))
    """

    _definer = "defjvp"
    jvp = None

    def defjvp(self, jvp, symbolic_zeros=False):
        """Set the rule ``jvp(*static, primals, tangents) -> (out, out_tangent)``; return it.

        Tangents have the shapes and dtypes of the primals (float0 for integers), and the rule must be
        linear in them.
        """
        _no_symbolic_zeros("defjvp", symbolic_zeros)
        self.jvp = jvp
        return jvp

    def defjvps(self, *jvps):
        """Set one rule ``jvp(tangent, out, *primals) -> out_tangent`` per argument; None where the
        derivative is zero.
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps has no place for static arguments; use defjvp with nondiff_argnums")

        def together(primals, tangents):
            out = self(*primals)
            terms = [
                rule(t, out, *primals) for rule, t in zip(jvps, tangents, strict=True) if rule is not None
            ]
            zero = tree.map(lambda x: instantiate(zero_for(typeof(x))), out)
            return out, functools.reduce(lambda a, b: tree.map(lambda x, y: x + y, a, b), terms, zero)

        self.defjvp(together)

    def _has_rule(self):
        return self.jvp is not None

    def _rules(self, call):
        def rule(*flat):
            n = len(flat) // 2
            primals = tree.unflatten(call.in_tree, list(flat[:n]))
            tangents = tree.unflatten(call.in_tree, list(flat[n:]))
            result = self.jvp(*call.static_args(), primals, tangents)
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(
                    f"the jvp rule of {describe_function(self.fun)} must return a pair (out, out_tangent), "
                    f"it returned {type(result).__name__}"
                )
            outs, out_tree = tree.flatten(result[0])
            tangents, tangent_tree = tree.flatten(result[1])
            name = f"the jvp rule of {describe_function(self.fun)}"
            if tangent_tree != out_tree:
                raise TypeError(
                    f"{name}: the tangent has the structure {tangent_tree}, the output {out_tree}"
                )
            if call.out_tree is not None and out_tree != call.out_tree:
                raise TypeError(
                    f"{name} returned the structure {out_tree}, the function returns {call.out_tree}"
                )
            call.out_tree = out_tree
            outs, tangents = (
                _arrays(outs, f"{name} returned as output"),
                _arrays(tangents, f"{name} returned as tangent"),
            )
            for o, t in zip(outs, tangents, strict=True):
                wanted = tangent_aval(typeof(o))
                if (typeof(t).shape, typeof(t).dtype) != (wanted.shape, wanted.dtype):
                    raise TypeError(
                        f"{name}: an output of type {typeof(o).str_short()} needs a tangent of type "
                        f"{wanted.str_short()}, got {typeof(t).str_short()}"
                    )
            return [*outs, *tangents]

        return {"jvp": rule}


class custom_vjp(_Custom):
    """Decorator: a function whose derivative you give by a pair of functions for reverse mode.

    Args:
      fun: takes arguments by position and returns a pytree of arrays.
      nondiff_argnums: positions of static arguments; ``fwd`` gets all arguments in their places, ``bwd``
        the static ones first.

    Example:
      >>> @rb.custom_vjp
      ... def clip_gradient(x):
      ...     return x
      >>> clip_gradient.defvjp(lambda x: (x, None), lambda residual, ct: (rnp.clip(ct, -1, 1),))
    """

    _definer = "defvjp"
    fwd = bwd = None

    def defvjp(self, fwd, bwd, symbolic_zeros=False, optimize_remat=False):
        """Set the rules: ``fwd(*args) -> (out, residuals)`` and ``bwd(*static, residuals, cotangent) ->
        cotangents``.

        ``bwd`` returns a tuple with one entry per differentiable argument, of its structure; None stands
        for zero.
        """
        _no_symbolic_zeros("defvjp", symbolic_zeros)
        self.fwd, self.bwd = fwd, bwd

    def _has_rule(self):
        return self.fwd is not None

    def _rules(self, call):
        residual_tree = None
        name = describe_function(self.fun)
        in_avals = None

        def forward(*flat):
            nonlocal residual_tree, in_avals
            in_avals = [typeof(x) for x in flat]
            moving = iter(tree.unflatten(call.in_tree, list(flat)))
            args = [a if i in call.static else next(moving) for i, a in enumerate(call.args)]
            result = self.fwd(*args)
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(
                    f"the forward rule of {name} must return a pair (output, residuals), it returned "
                    f"{type(result).__name__}"
                )
            outs, out_tree = tree.flatten(result[0])
            if call.out_tree is not None and out_tree != call.out_tree:
                raise TypeError(
                    f"the forward rule of {name} returned the structure {out_tree}, the function "
                    f"{call.out_tree}"
                )
            call.out_tree = out_tree
            residuals, residual_tree = tree.flatten(result[1])
            rule = f"the forward rule of {name}"
            return _arrays(outs, f"{rule} returned as output"), _arrays(
                residuals, f"{rule} returned as residual"
            )

        def backward(residuals, cotangents):
            residuals = tree.unflatten(residual_tree, list(residuals))
            cotangent = tree.unflatten(call.out_tree, list(cotangents))
            result = self.bwd(*call.static_args(), residuals, cotangent)
            return _cotangents(self.fun, call, result, in_avals)

        return {"vjp": (forward, backward)}


def _arrays(leaves, what):
    """The results of a rule as arrays (float0 stays NumPy's)."""
    return converted(
        lambda x: x if is_float0(x) else traceable(x),
        leaves,
        lambda i, x: f"{what} what is no array: {shown(x)}",
    )


def _cotangents(fun, call, result, in_avals):
    """The backward rule's result as flat cotangents, checked against the arguments; None becomes zeros."""
    rule = f"the backward rule of {describe_function(fun)}"
    arguments = tree.unflatten(call.in_tree, list(range(call.in_tree.num_leaves)))
    if not isinstance(result, (tuple, list)) or len(result) != len(arguments):
        got = f"{len(result)} entries" if isinstance(result, (tuple, list)) else type(result).__name__
        raise TypeError(
            f"{rule} must return a tuple with {len(arguments)} cotangents, one per differentiable argument, "
            f"it returned {got}"
        )
    names = [parameter_name(fun, i) for i in range(len(call.args)) if i not in call.static]
    out = []
    for name, entry, places in zip(names, result, arguments, strict=True):
        parts = (
            [None] * len(tree.leaves(places))
            if entry is None
            else _spread(entry, places, f"{rule}, argument {name}")
        )
        for (path, i), part in zip(tree.leaves_with_path(places), parts, strict=True):
            out.append(
                _cotangent(
                    part, in_avals[i], f"{rule} returned as cotangent of argument {name}{keystr(path)}"
                )
            )
    return out


def _spread(entry, places, what):
    try:
        return tree.broadcast_prefix(entry, places, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise TypeError(f"{what}: the cotangent must have the structure of the argument. {error}") from None


def _cotangent(ct, aval, what):
    wanted = tangent_aval(aval)
    if ct is None or wanted.dtype == dtypes.float0:
        return instantiate(zero_for(aval))
    (ct,) = _arrays([ct], what)
    have = typeof(ct)
    if have.shape != wanted.shape or is_float0(ct):
        raise TypeError(
            f"{what} an array of type {have.str_short()}; the argument has the type {aval.str_short()}"
        )
    return ct if have.dtype == wanted.dtype else ct.astype(wanted.dtype)


__all__ = ["custom_jvp", "custom_vjp"]
