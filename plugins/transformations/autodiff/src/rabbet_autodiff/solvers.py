"""Solutions that are differentiated by what they solve and not by how: ``custom_linear_solve``,
``custom_root``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.extend.bodies import Body, convert_weak_outputs, fully_transposed, share_consts, stage_loop_body
from rabbet.extend.functions import (
    array_or_tracer,
    describe_function,
    folded,
    is_evaluating,
    named_like,
    with_weak_type,
)
from rabbet.extend.passes import consts_as_inputs, evaluate
from rabbet.extend.primitive import instantiate, tangent_aval, zero_tangent
from rabbet.extend.transform import typeof
from rabbet.tree import keystr
from rabbet_custom_rules import call_with_rules

from rabbet_autodiff.api import jvp
from rabbet_autodiff.derivative_rules import PUSH, ForwardRule
from rabbet_autodiff.primitives.linear_solve import linear_solve

if TYPE_CHECKING:
    from rabbet.extend.passes import Jaxpr
    from rabbet.extend.primitive import ShapedArray
    from rabbet.typing import Value


def same_structure(who: str, what: str, fun: Callable[..., Any], out_tree: Any, treedef: Any) -> None:
    """Refuse what is not of the structure ``treedef``."""
    if out_tree != treedef:
        raise TypeError(
            f"{who}: {what} {describe_function(fun)} must return the structure {treedef}, it returned "
            f"{out_tree}"
        )


def same_types(
    who: str,
    what: str,
    fun: Callable[..., Any],
    avals: list[ShapedArray] | tuple[ShapedArray, ...],
    wanted: list[ShapedArray],
    treedef: Any,
) -> None:
    """Refuse leaves of other shapes or dtypes than those of ``treedef`` have."""
    for i, (needed, got) in enumerate(zip(wanted, avals, strict=False)):
        if (needed.shape, needed.dtype) != (got.shape, got.dtype):
            path = tree.leaf_path(treedef, i)
            raise TypeError(
                f"{who}: {what} {describe_function(fun)} must return {needed.str_short()} for the "
                f"output{keystr(path)}, it returned {got.str_short()}"
            )


def as_wanted(
    who: str,
    solve: Callable[..., Any],
    out: tuple[Value | dict[Any, Any], ...] | Value,
    like: Value | dict[Any, Any],
    has_aux: bool,
) -> Any:
    """What a solver returned that was called as it is: checked as it would be as a program."""
    if has_aux and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise not_a_pair(who, "solve", solve, tree.structure(out))
    leaves, out_tree = tree.flatten(out[0] if has_aux else out)
    wanted, treedef = tree.flatten(like)
    same_structure(who, "solve", solve, out_tree, treedef)
    avals = [typeof(x) for x in leaves]
    # Numbers, and what else is weakly typed, take the dtype of what they meet in the solver.
    pairs = zip([typeof(x) for x in wanted], avals, strict=True)
    wanted = [w.update(dtype=a.dtype) if w.weak_type else w for w, a in pairs]
    same_types(who, "solve", solve, avals, wanted, treedef)
    solution = tree.unflatten(out_tree, [array_or_tracer(x) for x in leaves])
    return (solution, out[1]) if has_aux else solution


def keeping(who: str, what: str, fun: Callable[..., Any], like: object) -> Callable[..., Any]:
    """``fun``, as a solver calls it: a result of another structure than ``like`` is refused."""
    treedef = tree.structure(like)

    def checked(x: Value | dict[Any, Any]) -> Value | dict[Any, Any]:
        out = fun(x)
        same_structure(who, what, fun, tree.structure(out), treedef)
        return out

    return named_like(checked, fun)


def not_a_pair(who: str, what: str, fun: Callable[..., Any], out_tree: Any) -> Exception:
    """The error of a solver that should return an auxiliary result and does not."""
    return TypeError(
        f"{who}: with has_aux {what} {describe_function(fun)} must return a pair (solution, aux), it "
        f"returned {out_tree}"
    )


class Vectors:
    """The space that a solver works in: a structure and the types of its leaves, those that ``fun``, a map of
    the space to itself, takes and returns where ``vector`` is weakly typed.

    Attributes:
      leaves: those of ``vector``.
      map: ``fun`` as a ``Body``.
    """

    def __init__(self, who: Any, what: Any, fun: Callable[..., Any], vector: Any) -> None:
        self.who = who
        leaves, self.treedef = tree.flatten(vector)
        leaves = [array_or_tracer(x) for x in leaves]
        self.one_argument = tree.tuple_of([self.treedef])
        _, self.leaves = stage_loop_body(who, fun, leaves, self.one_argument)
        self.avals = [typeof(x) for x in self.leaves]
        self.map = self.staged(fun)
        self.check(what, fun, self.map)

    def staged(self, fun: Callable[..., Any]) -> Any:
        """``fun`` of one vector as a ``Body``."""
        return Body(fun, self.one_argument, self.avals)

    def check(self, what: str, fun: Callable[..., Any], body: Any, aux: Any = False) -> Any:
        """Refuse a function that does not return a vector of this space (and ``aux``: a pair of that and
        more); the structure of what it returns besides.
        """
        out_tree, rest = body.out_tree, None
        if aux:
            parts = tree.parts_of_pair(out_tree)
            if parts is None:
                raise not_a_pair(self.who, what, fun, out_tree)
            out_tree, rest = parts
        same_structure(self.who, what, fun, out_tree, self.treedef)
        convert_weak_outputs(body, self.leaves, len(self.leaves))
        same_types(self.who, what, fun, body.out_avals, self.avals, self.treedef)
        return rest

    def result(self, outs: list[Value], aux_tree: Any, has_aux: bool) -> Any:
        """The solution, with ``has_aux`` a pair of it and the rest."""
        n = len(self.leaves)
        solution = tree.unflatten(self.treedef, outs[:n])
        return (solution, tree.unflatten(aux_tree, outs[n:])) if has_aux else solution

    def function(self, program: Jaxpr, consts: list[Value]) -> Callable[..., Any]:
        """A program of ``consts`` and a vector as a function of a pytree."""

        def on_trees(x: Value) -> Value:
            leaves, treedef = tree.flatten(x)
            if treedef != self.treedef:
                raise TypeError(
                    f"{self.who}: the function takes {self.treedef}, it was called with {treedef}"
                )
            return tree.unflatten(self.treedef, evaluate(program, [*consts, *leaves])[: len(self.avals)])

        return on_trees


@folded
def custom_linear_solve(
    matvec: Any,
    b: Value,
    solve: Callable[..., Any],
    transpose_solve: Any = None,
    symmetric: Any = False,
    has_aux: bool = False,
) -> Any:
    """Solve ``matvec(x) == b`` by a solver of your own; derivatives are solutions of linear equations too.

    Args:
      matvec: a linear function of pytrees like ``b``. It may close over arrays that are differentiated.
      b: a pytree of arrays.
      solve: ``solve(matvec, b)`` returns the solution, by whatever means: it is not differentiated.
      transpose_solve: ``transpose_solve(vecmat, b)``, the same for the transposed map, which is found for
        it. Reverse mode needs it.
      symmetric: the map is its own transpose, and ``solve`` serves for both.
      has_aux: the solvers return ``(solution, aux)``.

    Returns:
      the solution, or ``(solution, aux)``; ``aux`` has no derivative.

    Raises:
      TypeError: if a function returns other types than ``b`` has; the message names the leaf.

    Example:
      >>> a, b = rnp.array([[2.0, 0.0], [0.0, 4.0]]), rnp.array([2.0, 8.0])
      >>> solve = lambda matvec, b: rnp.linalg.solve(a, b)
      >>> lax.custom_linear_solve(lambda x: a @ x, b, solve, symmetric=True)
      Array([1., 2.], dtype=float32)
    """
    if is_evaluating():  # nothing is differentiated or recorded
        given = keeping("custom_linear_solve", "matvec", matvec, b)
        return as_wanted("custom_linear_solve", solve, solve(given, b), b, has_aux)
    space = Vectors("custom_linear_solve", "matvec", matvec, b)
    a = space.map
    solving = space.staged(lambda v: solve(space.function(a.program, a.consts), v))
    aux_tree = space.check("solve", solve, solving, has_aux)
    programs = {"matvec": a, "solve": solving, "vecmat": None, "transpose_solve": None}
    if symmetric:
        programs["vecmat"] = a
        programs["transpose_solve"] = solving if transpose_solve is None else None
    if transpose_solve is not None:
        if not symmetric:
            programs["vecmat"] = _Transposed(a)
        turned = space.function(programs["vecmat"].program, a.consts)
        programs["transpose_solve"] = space.staged(lambda v: transpose_solve(turned, v))
        space.check("transpose_solve", transpose_solve, programs["transpose_solve"], has_aux)
    there = [name for name in programs if programs[name] is not None]
    counts = [len(programs[name].consts) for name in there]
    consts = [c for name in there for c in programs[name].consts]
    wide = dict.fromkeys(programs)
    wide.update(zip(there, share_consts([programs[n].program for n in there], counts), strict=True))
    outs = linear_solve(*consts, *space.leaves, **wide, consts=len(consts))
    return space.result(outs, aux_tree, has_aux)


class _Transposed:
    """The transposed map, as far as ``Body`` is asked for."""

    def __init__(self, body: Any) -> None:
        n = len(body.consts)
        size = len(body.program.invars) - n
        flags = (False,) * n + (True,) * size
        closed = fully_transposed(body.program, flags, (True,) * size)
        self.consts = [*closed.consts, *body.consts]
        self.program = consts_as_inputs(closed)


@folded
def custom_root(
    f: Callable[..., Any],
    initial_guess: Value,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> tuple[Value | dict[Any, Any], ...] | Value:
    """Solve ``f(x) == 0`` by a solver of your own, differentiated by the implicit function theorem.

    With ``f(x, a) = 0`` for arrays ``a`` that ``f`` closes over, ``df/dx dx = -df/da da``.

    Args:
      f: from a pytree of arrays to one of the same structure and types.
      initial_guess: where the solver starts; the solution does not depend on it.
      solve: ``solve(f, initial_guess)`` returns the root, by whatever means: it is not differentiated.
      tangent_solve: ``tangent_solve(g, y)`` returns ``x`` with ``g(x) == y`` for a linear function ``g``;
        for scalars ``lambda g, y: y / g(1.0)``. For reverse mode it must be linear in ``y`` as a program, or
        use ``custom_linear_solve``.
      has_aux: ``solve`` returns ``(root, aux)``.

    Returns:
      the root, or ``(root, aux)``; ``aux`` has no derivative.

    Raises:
      TypeError: if a function returns another structure or other types than ``initial_guess`` has; the
        message names the leaf.

    Example:
      >>> f = lambda x: x**2 - 2.0
      >>> newton = lambda f, x: lax.fori_loop(0, 20, lambda _, x: x - f(x) / rb.grad(f)(x), x)
      >>> lax.custom_root(f, 1.0, newton, lambda g, y: y / g(1.0))
      Array(1.4142135, dtype=float32, weak_type=True)
    """
    if is_evaluating():  # nothing is differentiated or recorded
        given = keeping("custom_root", "f", f, initial_guess)
        return as_wanted("custom_root", solve, solve(given, initial_guess), initial_guess, has_aux)
    space = Vectors("custom_root", "f", f, initial_guess)
    f_body = space.map
    solving = space.staged(lambda x: solve(space.function(f_body.program, f_body.consts), x))
    aux_tree = space.check("solve", solve, solving, has_aux)
    bodies = f_body, linearized_solver(space, tangent_solve), solving
    consts = [c for body in bodies for c in body.consts]
    outs = _Root(*bodies, len(space.avals)).call(*consts, *space.leaves)
    return space.result(outs, aux_tree, has_aux)


def linearized_solver(space: Vectors, tangent_solve: Callable[..., Any]) -> Body:
    """The program from a root and a right-hand side to the solution of the linearized equation."""
    f = space.map

    def at_root(*flat: Value) -> tuple[Value, ...] | Value:
        root, y = flat[: len(space.avals)], flat[len(space.avals) :]

        def linearized(v: Value) -> Value:
            leaves, _ = tree.flatten(v)
            pairs = zip(leaves, space.avals, strict=True)
            leaves = [lax.convert_element_type(x, tangent_aval(aval).dtype) for x, aval in pairs]
            call = lambda *xs: evaluate(f.program, [*f.consts, *xs])
            return tree.unflatten(space.treedef, jvp(call, tuple(root), tuple(leaves))[1])

        return tangent_solve(linearized, tree.unflatten(space.treedef, list(y)))

    twice = tree.structure(tuple([0] * (2 * len(space.avals))))
    body = Body(at_root, twice, [*space.avals, *[tangent_aval(a) for a in space.avals]])
    space.check("tangent_solve", tangent_solve, body)
    return body


class _Root:
    """The programs behind ``custom_root``, on flat lists: constants of ``f``, of the tangents' solver, of the
    solver, then the guess. The operation keeps this with its rule, so it holds no values.

    Attributes:
      size: how many arrays the root has.
    """

    def __init__(self, f: Body, tangents: Body, solving: Body, size: int) -> None:
        self.f, self.tangents, self.solving = f.program, tangents.program, solving.program
        self.counts = len(f.consts), len(tangents.consts), len(solving.consts)
        self.size = size

    def _parts(self, args: list[Value] | tuple[Value, ...]) -> tuple[list[Value] | tuple[Value, ...], ...]:
        m, n, k = self.counts
        return args[:m], args[m : m + n], args[m + n : m + n + k], args[m + n + k :]

    def solved(self, *args: Value) -> list[Value]:
        """The root and what the solver returns besides."""
        _, _, consts, guess = self._parts(args)
        return evaluate(self.solving, [*consts, *guess])

    def call(self, *args: Value) -> list[Value]:
        """The root by ``solved``, with its derivative."""
        return call_with_rules(self.solved, {PUSH: ForwardRule(self.jvp)}, args, "custom_root")

    def jvp(self, values: list[Value], tangents: list[Value]) -> tuple[list[Value], ...]:
        """The rule of forward mode."""
        outs = self.call(*values)
        root = outs[: self.size]
        f_consts, t_consts, _, _ = self._parts(values)
        moving = self._parts(tangents)[0]
        still = [instantiate(zero_tangent(typeof(x))) for x in outs]
        if not f_consts:
            return outs, still
        on_consts = lambda *consts: evaluate(self.f, [*consts, *root])
        _, pushed = jvp(on_consts, tuple(f_consts), tuple(moving))
        change = evaluate(self.tangents, [*t_consts, *root, *pushed])
        # The program was staged for tangents of strong types; as weak as the root.
        change = [with_weak_type(lax.neg(t), typeof(x).weak_type) for t, x in zip(change, root, strict=True)]
        return outs, [*change, *still[self.size :]]


__all__ = ["custom_linear_solve", "custom_root"]
