"""A call of a kernel as data: what ``pallas_call`` carries, and what a writer for some hardware is given."""

import dataclasses
from typing import Any

from rabbet.extend.primitive import ShapedArray
from rabbet.extend.rules import Enclosing

from rabbet_pallas.block_specs import Blocked, Element, MemorySpace, Squeezed


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """How the kernel sees an operand or a result.

    Args:
      dims: for each dimension of the array ``Blocked``, ``Squeezed``, ``Element`` or ``BoundedSlice``.
      index: a program from the program's ids, the sizes of computed grid dimensions and the states of the
        prefetched arrays to an i32 for each dimension (two for a ``BoundedSlice``: start and size). For
        ``Blocked`` and ``Squeezed`` it is a number of blocks, for the others a number of elements.
      array: the type of the whole array.
      space: a ``MemorySpace`` or None.
      pipeline: ``Buffered`` or None.
    """

    dims: tuple[Any, ...]
    index: Any
    array: Any
    space: MemorySpace | None = None
    pipeline: Any = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The block's sizes, 1 for dimensions that the kernel does not see."""
        return tuple([d.block_size for d in self.dims])

    @property
    def state(self) -> Any:
        """The type of the state that the kernel sees."""
        return ShapedArray(
            tuple([d.block_size for d in self.dims if not isinstance(d, Squeezed)]), self.array.dtype
        )

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """How far each dimension reaches beyond the array so that blocks are whole, before and behind."""
        return tuple([_padding(d, n) for d, n in zip(self.dims, self.array.shape, strict=True)])


def _padding(dim, size):
    if isinstance(dim, Element):
        return tuple(dim.padding)
    if isinstance(dim, Blocked):
        return 0, -size % dim.block_size
    return (0, 0) if isinstance(dim, Squeezed) else (0, dim.block_size)


@dataclasses.dataclass(frozen=True)
class Scratch:
    """Memory that a kernel has for itself.

    Args:
      state: the type of its state; of semaphores an i32 for each.
      space: a ``MemorySpace`` or None.
      kind: of semaphores "regular", "dma" or "barrier".
    """

    state: Any
    space: MemorySpace | None = None
    kind: str | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Call(Enclosing):
    """A kernel with its grid and blocks, the parameter of ``pallas_call``.

    Operands are, in this order, the sizes of computed grid dimensions (i32 scalars), the prefetched arrays
    and the arrays of ``ins``; results are those of ``outs``.

    Args:
      name: what the kernel is called.
      grid: an int for each dimension, None where it is computed.
      semantics: for each grid dimension "parallel", "arbitrary", or what else TPUs know.
      prefetch: the types of the prefetched arrays.
      ins, outs: a ``Block`` for each array.
      scratch: a ``Scratch`` each.
      aliases: pairs (number among ``ins``, number among ``outs``) of arrays that share memory.
      kernel: a program without captured arrays, from the program's ids, the sizes of computed grid
        dimensions, and the states of prefetched arrays, operands, results and scratch, to the states of
        results and scratch.
      params: the ``compiler_params``, or None.
      cost: a ``CostEstimate``, or None.
      metadata: pairs of strings.
      interpret: whether it is to be computed as on the CPU, everywhere.
      poison: whether what no program writes is NaN, or the least integer.
    """

    name: str
    grid: tuple[int | None, ...]
    semantics: tuple[str, ...]
    prefetch: tuple[Any, ...]
    ins: tuple[Block, ...]
    outs: tuple[Block, ...]
    scratch: tuple[Scratch, ...]
    aliases: tuple[tuple[int, int], ...]
    kernel: Any
    params: Any = None
    cost: Any = None
    metadata: tuple[tuple[str, str], ...] = ()
    interpret: bool = False
    debug: bool = False
    poison: bool = False

    @property
    def computed(self) -> int:
        """How many grid dimensions are computed."""
        return sum(n is None for n in self.grid)

    @property
    def operands(self) -> tuple[Any, ...]:
        """The types of its operands."""
        sizes = [ShapedArray((), "int32")] * self.computed
        return (*sizes, *self.prefetch, *[b.array for b in self.ins])

    def programs(self) -> list[tuple[str, Any]]:
        """The programs that are shown of it."""
        blocks = [
            *[(f"in_{i}", b) for i, b in enumerate(self.ins)],
            *[(f"out_{i}", b) for i, b in enumerate(self.outs)],
        ]
        return [*[(name, b.index) for name, b in blocks], ("kernel", self.kernel)]

    def __str__(self) -> str:
        grid = ", ".join(["computed" if n is None else str(n) for n in self.grid])
        return f"{self.name}(grid=({grid}))"


__all__ = ["Block", "Call", "Scratch"]
