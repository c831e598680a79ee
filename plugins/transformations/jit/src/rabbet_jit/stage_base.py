"""What the stages of a compiled function have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import ShapeDtypeStruct, tree
from rabbet.extend.functions import folded

if TYPE_CHECKING:
    from rabbet.extend.primitive import ShapedArray

    from rabbet_jit.argument_info import ArgInfo


def described(aval: ShapedArray) -> ShapeDtypeStruct:
    """A type as the ``ShapeDtypeStruct`` that stands for it."""
    sharding = None if aval.spread is None else aval.sharding
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)


@folded
class Stage:
    """What all stages know: the structure and types of arguments and results."""

    def __init__(
        self,
        asked: Any,
        signature: Any,
        program: Any,
        avals: tuple[ShapedArray, ...],
        key: tuple[Any, ...] | None = None,
    ) -> None:
        self.asked, self.signature, self.program, self.avals = asked, signature, program, avals
        self.key = key

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)`` without the static ones."""
        return self.signature.treedef

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self.program.out_tree

    @property
    def in_avals(self) -> tuple[tuple[ShapedArray, ...] | dict[Any, Any], ...]:
        """The types of ``(args, kwargs)``, as ``ShapedArray`` in a pytree."""
        return tree.unflatten(self.in_tree, self.avals)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of the argument leaves whose memory the program may take."""
        if not self.asked.donated:
            return ()
        return tuple(self.signature.donated_leaves(self.asked.donated))

    @property
    def args_info(self) -> tuple[tuple[ArgInfo | dict[Any, Any], ...] | dict[Any, Any], ...]:
        """The shapes and dtypes of ``(args, kwargs)``, and which are donated: an ``ArgInfo`` each."""
        from rabbet_jit.argument_info import ArgInfo

        given = frozenset(self.donate_argnums)
        infos = [ArgInfo(a.shape, a.dtype, i in given) for i, a in enumerate(self.avals)]
        return tree.unflatten(self.in_tree, infos)

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the result, and the shardings that types or ``out_shardings`` say."""
        outs = [described(a) for a in self.program.closed.out_avals[: self.out_tree.num_leaves]]
        said = self.asked.said
        asked = None if said is None else said.of_results(self.out_tree)
        if asked is not None:
            outs = [x if s is None else x.update(sharding=s) for x, s in zip(outs, asked, strict=True)]
        return tree.unflatten(self.out_tree, outs)

    @property
    def out_avals(self) -> dict[Any, Any]:
        """The types of the result, as ``ShapedArray`` in a pytree."""
        return tree.unflatten(self.out_tree, self.program.closed.out_avals[: self.out_tree.num_leaves])

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self.program.name
