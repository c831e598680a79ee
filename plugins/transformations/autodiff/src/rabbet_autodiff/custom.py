"""Functions with derivative rules of their own: ``custom_jvp``, ``custom_vjp`` and ``custom_gradient``.

They are functions with rules (``rb.custom_rules``) with JAX's ways of giving the rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.extend.functions import describe_function, folded, named_like
from rabbet.extend.primitive import instantiate, zero_tangent
from rabbet.extend.transform import typeof
from rabbet_custom_rules import RuledFunction, custom_rules

from rabbet_autodiff.derivative_rules import PULL, PUSH
from rabbet_autodiff.user_rules import pullback, pushforward

if TYPE_CHECKING:
    from rabbet.typing import Value


@folded
class _Custom(RuledFunction):
    """What both have in common: they cannot be called before their rule is given."""

    definer: str

    def refuse_without_rule(self) -> Any:
        raise AttributeError(
            f"{describe_function(self.fun)} was declared with {type(self).__name__} and has no rule "
            f"yet; call its {self.definer} first"
        )


def same_tree(what: str, found: object, like: object) -> None:
    """Refuse a tree of another structure than ``like`` has, or of leaves of other shapes."""
    leaves, treedef = tree.flatten(found)
    wanted, wanted_tree = tree.flatten(like)
    if treedef != wanted_tree:
        raise TypeError(f"{what}, {wanted_tree}; it returned {treedef}")
    for path, a, b in zip(tree.leaf_paths(treedef), leaves, wanted, strict=True):
        if typeof(a).shape != typeof(b).shape:
            raise TypeError(
                f"{what}{tree.keystr(path)}, {typeof(b).str_short()}; it returned {typeof(a).str_short()}"
            )


@folded
class custom_jvp(_Custom):
    """Decorator: a function whose derivative you give by a rule of forward mode; reverse mode comes from
    its transposition.

    Args:
      fun: takes arguments by position and returns a pytree of arrays.
      nondiff_argnums, nondiff_argnames: static arguments by position or name, given to the rule first and as
        they are.

    Example:
      >>> @rb.custom_jvp
      ... def log1pexp(x):
      ...     return rnp.log(1 + rnp.exp(x))
      >>> @log1pexp.defjvp
      ... def log1pexp_jvp(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return log1pexp(x), t / (1 + rnp.exp(-x))
    """

    definer = "defjvp"
    jvp = None
    symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule ``jvp(*static, primals, tangents) -> (out, out_tangent)``; return it.

        Tangents have the shapes and dtypes of the primals (float0 for integers), and the rule must be
        linear in them. The output of the rule stands for that of the function, which does not run then: its
        structure and types are compared with the function's where those are known, as under ``rb.jit``.
        With ``symbolic_zeros``, those that are known to be zero are ``SymbolicZero`` objects
        of ``rb.custom_derivatives``, and the rule may return such.
        """
        self.jvp, self.symbolic_zeros = jvp, bool(symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule ``jvp(tangent, out, *primals) -> out_tangent`` per argument; None where the
        derivative is zero.

        Raises:
          TypeError: where it is differentiated and there are not as many rules as arguments, or a rule
            returns a tangent of another structure or shape than the output has.
        """
        if self.nondiff_argnums or self.nondiff_argnames:
            raise TypeError("defjvps has no place for static arguments; use defjvp with nondiff_argnums")

        def together(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, ...]:
            name = describe_function(self.fun)
            if len(jvps) != len(primals):
                raise TypeError(
                    f"defjvps of {name}: {len(jvps)} rules for {len(primals)} arguments; give one for each, "
                    "None where the derivative is zero"
                )
            out = self(*primals)
            terms = []
            for i, (rule, t) in enumerate(zip(jvps, tangents, strict=True)):
                if rule is not None:
                    terms.append(rule(t, out, *primals))
                    what = f"defjvps of {name}: rule {i} must return a tangent like the output"
                    same_tree(what, terms[-1], out)
            zero = tree.map(lambda x: instantiate(zero_tangent(typeof(x))), out)
            return out, functools.reduce(lambda a, b: tree.map(lambda x, y: x + y, a, b), terms, zero)

        self.defjvp(together)

    def has_rule(self) -> bool:
        return self.jvp is not None

    def rules(self, call: Any) -> dict[Any, Any]:
        return {PUSH: pushforward(call, self.jvp, self.symbolic_zeros)}


@folded
class custom_vjp(_Custom):
    """Decorator: a function whose derivative you give by a pair of functions for reverse mode.

    Args:
      fun: takes arguments by position and returns a pytree of arrays.
      nondiff_argnums, nondiff_argnames: static arguments by position or name; ``fwd`` gets all arguments in
        their places, ``bwd`` the static ones first.

    Example:
      >>> @rb.custom_vjp
      ... def clip_gradient(x):
      ...     return x
      >>> clip_gradient.defvjp(lambda x: (x, None), lambda residual, ct: (rnp.clip(ct, -1, 1),))
    """

    definer = "defvjp"
    fwd = bwd = None
    symbolic_zeros = optimize_remat = generic_batching = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rules: ``fwd(*args) -> (out, residuals)`` and ``bwd(*static, residuals, cotangent) ->
        cotangents``.

        ``bwd`` returns a tuple with one entry per differentiable argument, of its structure; None stands
        for zero. The output of ``fwd`` stands for that of the function, which does not run then: its
        structure and types are compared with the function's where those are known, as under ``rb.jit``.

        Args:
          symbolic_zeros: give ``fwd`` its argument leaves as ``CustomVJPPrimal`` objects, ``value`` and
            ``perturbed`` (whether it is differentiated), and ``bwd`` cotangents that are known to be zero as
            ``SymbolicZero``; both are in ``rb.custom_derivatives``.
          optimize_remat: under ``rb.checkpoint``, run ``fun`` and not ``fwd`` in the forward pass, which
            needs no residuals. The compiler finds that out by itself unless ``fwd`` is opaque to it, as a
            callback is.
          generic_batching: give what there is for a result that ``vmap`` shares among its examples to the
            first of them, by arguments that each has its own of; without it each of them gets all of it.
            By an argument that the examples share it is counted once in any case.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros, self.optimize_remat = bool(symbolic_zeros), bool(optimize_remat)
        self.generic_batching = bool(generic_batching)

    def has_rule(self) -> bool:
        return self.fwd is not None

    def rules(self, call: Any) -> dict[Any, Any]:
        options = self.symbolic_zeros, self.optimize_remat, self.generic_batching
        return {PULL: pullback(call, self.fwd, self.bwd, *options)}


def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: Any = None,
) -> custom_rules | Callable[..., Any]:
    """Decorator: a function that computes its gradient function along with its value.

    Args:
      fun: returns a pair: the output, and a function from the cotangent of the output to a tuple of
        cotangents of the arguments (to a single one, where there is one argument). Anything else is a
        TypeError.
      remat: the second of the pair is instead a function of the arguments of ``fun`` that returns such a
        pair. It runs right after ``fun``, or under ``rb.checkpoint`` when the backward pass comes.
      with_logs, with_accums: False and None; there are no logs of the backward pass, and no accumulators.

    Returns:
      a function of the same arguments that returns the output alone.

    Example:
      >>> @rb.custom_gradient
      ... def clip_gradient(x):
      ...     return x, lambda ct: (rnp.clip(ct, -1, 1),)
    """
    if with_logs or with_accums is not None:
        name = "with_logs" if with_logs else "with_accums"
        raise NotImplementedError(f"custom_gradient: {name} is not supported in this version, leave it out")
    if fun is None:
        return functools.partial(custom_gradient, remat=remat)

    def pair(function: Callable[..., Any], args: tuple[Value, ...]) -> Any:
        out = function(*args)
        if not (isinstance(out, (tuple, list)) and len(out) == 2):
            raise TypeError(
                f"custom_gradient: {describe_function(function)} must return a pair (output, function from "
                f"the cotangent to cotangents), it returned {tree.structure(out)}"
            )
        return out

    def value(*args: Value) -> Value:
        return pair(fun, args)[0]

    def with_pull(*args: Value) -> tuple[Callable[..., Any] | Value, ...]:
        out, pull = pair(fun, args)
        if remat:
            out, pull = pair(pull, args)

        def pulled(cotangent: Any) -> Any:
            found = pull(cotangent)
            return found if isinstance(found, (tuple, list)) else (found,)

        return out, named_like(pulled, pull)

    ruled = custom_rules(functools.wraps(fun)(value))
    ruled.def_rule(PULL, with_pull)
    return ruled


__all__ = ["custom_gradient", "custom_jvp", "custom_vjp"]
