"""What ``vjp`` returns to pull cotangents back with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import lax, tree
from rabbet.extend.cells import Cell, read, write
from rabbet.extend.functions import folded
from rabbet.extend.primitive import tangent_aval, zero_tangent
from rabbet.extend.transform import typeof

from rabbet_autodiff import checks, modes, with_refs
from rabbet_autodiff.functions import StandIn, aval_of, given_back, taken

if TYPE_CHECKING:
    from rabbet.typing import Value


class Pullback:
    """What ``vjp`` returns to pull cotangents back with. It is a pytree of the values that the forward pass
    kept, so a compiled function may return and take it.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        recording: Any,
        out_tree: Any,
        in_tree: Any,
        out_avals: Any,
        primals: Any,
    ) -> None:
        self.fun, self.recording, self.out_tree, self.in_tree = fun, recording, out_tree, in_tree
        self.out_avals, self.primals = out_avals, [typeof(p) for p in primals]
        self.parts: tuple[Any, Any] | None = None
        # Which kept values are arguments: nothing that is kept can have the place of one that has gone.
        self.places = {id(p): i for i, p in enumerate(primals)}

    @property
    def out_nzs(self) -> tuple[bool | dict[Any, Any], ...] | bool:
        """Which outputs have a tangent that is not zero throughout: bools in a pytree like the output."""
        return tree.unflatten(self.out_tree, [v is not None for v in self.recording.outputs])

    @property
    def args_res(self) -> list[Any]:
        """The arguments (leaf by leaf) that the backward pass uses; others are ``NotNeeded()``."""
        found: list[Any] = [with_refs.NotNeeded() for _ in self.primals]
        for value in self.flatten()[0]:
            if id(value) in self.places:
                found[self.places[id(value)]] = value
        return found

    @property
    def opaque_residuals(self) -> list[Any]:
        """The values besides that the forward pass kept."""
        return [value for value in self.flatten()[0] if id(value) not in self.places]

    @property
    def jaxpr(self) -> Any:
        """The linear program, from tangents of the arguments to those of the outputs; what is kept comes in
        as its constants.
        """
        return self.flatten()[1].program

    def with_refs(self, *refs: Any) -> Callable[[Any], Any]:
        """The function that pulls back and adds gradients to references.

        Args:
          refs: a tree like the arguments. Each leaf is a ``Ref``, to which the gradient is added; or a
            ``GradValue()``, which asks for it as a value; or a ``DontWant()``; both are in
            ``rabbet_autodiff.with_refs``.

        Returns:
          a function of the cotangent; its result is like ``refs``, with ``GradRef()``, the gradient, or
          ``DidntWant()`` as leaves.

        Raises:
          ValueError: if ``refs`` has another structure. TypeError: for another leaf.

        Example:
          >>> from rabbet_autodiff.with_refs import DontWant
          >>> _, pull = rb.vjp(lambda a, b: a * b, 2.0, 3.0)
          >>> total = rb.new_ref(rnp.array(10.0))
          >>> pull.with_refs(total, DontWant())(1.0), total
          ((GradRef(), DidntWant()), Ref(13., dtype=float32))
        """
        is_want = lambda x: isinstance(x, (Cell, with_refs.GradValue, with_refs.DontWant))
        asked, treedef = tree.flatten(refs, is_leaf=is_want)
        checks.same_structure(
            "vjp(...).with_refs", self.fun, treedef, self.in_tree, ("refs", "the arguments"), ValueError
        )
        for one in asked:
            if not is_want(one):
                raise TypeError(
                    f"vjp(...).with_refs takes a Ref, GradValue() or DontWant() for each argument, got "
                    f"{type(one).__name__}: {one!r:.60}"
                )

        def pull_to_refs(cotangent: Any) -> Any:
            return tree.unflatten(
                self.in_tree,
                [_delivered(g, w) for g, w in zip(tree.leaves(self(cotangent)), asked, strict=True)],
            )

        return pull_to_refs

    @folded
    def __call__(self, cotangent: Any) -> tuple[Value | dict[Any, Any], ...]:
        leaves, treedef = tree.flatten(cotangent)
        checks.same_structure(
            "vjp", self.fun, treedef, self.out_tree, ("the cotangent", "the output"), ValueError
        )
        # Of an output without derivatives, an integer, anything of its own type is as good as a float0.
        wanted = [tangent_aval(a).cotangent for a in self.out_avals]
        cotangents = [
            zero_tangent(a) if a.dtype != w.dtype and aval_of(ct).strong() == a.strong() else taken(ct)
            for ct, a, w in zip(leaves, self.out_avals, wanted, strict=True)
        ]
        checks.same_types(
            "vjp", self.fun, [aval_of(c) for c in cotangents], wanted, checks.cotangent_name(self.out_tree)
        )
        results = self.recording.pull(cotangents)
        return tree.unflatten(
            self.in_tree, [given_back(g, a) for g, a in zip(results, self.primals, strict=True)]
        )

    def flatten(self) -> Any:
        """The values that the forward pass kept, and everything else."""
        if self.parts is None:
            program, values = self.recording.program()
            # A compiled function may keep this, and `fun` may close over values of its trace.
            kept = StandIn(self.fun), self.out_tree, self.in_tree, self.out_avals, self.primals
            self.parts = values, Closed(self.recording._replace(equations=[]), program, kept)
        return self.parts

    @classmethod
    def unflatten(cls, static: Any, values: Any) -> Any:
        """The function that pulls back with other values in the places of those that were kept."""
        recording = static.recording.with_values(static.program, values)
        fun, out_tree, in_tree, out_avals, primals = static.kept
        made = cls(fun, recording, out_tree, in_tree, out_avals, [])
        made.primals, made.parts = primals, (list(values), static)
        made.places = {}
        return made


def _delivered(gradient: Any, want: Any) -> Any:
    """A gradient as it was asked for."""
    if isinstance(want, with_refs.DontWant):
        return with_refs.DidntWant()
    if isinstance(want, Cell):
        write(want, lax.add(read(want), gradient))
        return with_refs.GradRef()
    return gradient


class Closed(NamedTuple):
    """What is the same for all values that a ``Pullback`` may hold; equal to itself only."""

    recording: modes.Recording
    program: object
    kept: tuple

    def __eq__(self, other: Any) -> Any:
        return self is other

    def __hash__(self) -> Any:
        return id(self)


tree.register_node(Pullback, Pullback.flatten, Pullback.unflatten)
