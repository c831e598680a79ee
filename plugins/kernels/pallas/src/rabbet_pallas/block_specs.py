"""What says how arrays are cut into blocks: ``BlockSpec``, the kinds of its dimensions, ``GridSpec``."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

from rabbet.errors import ArgumentError
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.shapes import whole_number


class MemorySpace(enum.Enum):
    """Where a reference lies, for hardware that has several memories. On the CPU there is one.

    ``ANY`` leaves the whole array where it is, without a window of blocks.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.MemorySpace.VMEM((8, 128), "float32").shape
      (8, 128)
    """

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"
    HOST = "host"
    HBM = "hbm"
    VMEM = "vmem"
    VMEM_SHARED = "vmem_shared"
    SMEM = "smem"
    CMEM = "cmem"
    SEMAPHORE = "semaphore"

    def __call__(self, shape: Any, dtype: Any = None) -> "MemoryRef":
        """A reference of this shape and dtype in this memory, for ``scratch_shapes`` and ``run_scoped``."""
        if dtype is None:
            shape, dtype = shape.shape, shape.dtype
        return MemoryRef(ShapedArray(tuple(shape), dtype), self)

    def __str__(self) -> str:
        return self.value

    @property
    def is_whole(self) -> bool:
        """Whether arrays in it are not cut into windows."""
        return self in (MemorySpace.ANY, MemorySpace.HBM, MemorySpace.HOST)


@dataclasses.dataclass(frozen=True)
class MemoryRef:
    """The type of a reference: of a scratch array, or of a semaphore.

    Args:
      inner_aval: the type of its values, with a shape and a dtype.
      memory_space: a ``MemorySpace``.
      kind: for semaphores "regular", "dma" or "barrier".

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.MemoryRef(rb.typeof(np.float32(1)), pl.MemorySpace.SMEM).dtype
      dtype('float32')
    """

    inner_aval: Any
    memory_space: Any = None
    kind: str | None = None

    shape = property(lambda self: self.inner_aval.shape, doc="The shape of its values.")
    dtype = property(lambda self: self.inner_aval.dtype, doc="The dtype of its values.")

    def get_array_aval(self) -> Any:
        """The type of its values."""
        return self.inner_aval

    def get_ref_aval(self) -> "MemoryRef":
        """Itself."""
        return self


@dataclasses.dataclass(frozen=True)
class Blocked:
    """A dimension in blocks of ``block_size``; the index map gives the number of the block. An int in a block
    shape says the same.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.Blocked(128).block_size
      128
    """

    block_size: int


@dataclasses.dataclass(frozen=True)
class Squeezed:
    """A dimension of which a block has one element, and which the kernel does not see. None in a block shape
    says the same.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.Squeezed().block_size
      1
    """

    block_size = 1


@dataclasses.dataclass(frozen=True)
class Element:
    """A dimension in blocks of ``block_size`` that begin at any element, which the index map gives.

    Args:
      padding: how far the array reaches beyond its beginning and its end, with undefined elements; places
        are counted from the beginning of the padding.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.BlockSpec((pl.Element(3, (1, 1)),), lambda i: (2 * i,)).block_shape
      (Element(block_size=3, padding=(1, 1)),)
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclasses.dataclass(frozen=True)
class BoundedSlice:
    """A dimension in blocks of at most ``block_size``; the index map gives ``ds(start, size)``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.BlockSpec((pl.BoundedSlice(8),), lambda i: (pl.ds(4 * i, 4),)).block_shape
      (BoundedSlice(block_size=8),)
    """

    block_size: int


@dataclasses.dataclass(frozen=True)
class Indirect:
    """A dimension whose indices come from an array; only SparseCore has it, and it is refused.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.Indirect(8).block_size
      8
    """

    block_size: int


class RevisitMode(enum.Enum):
    """When a block is fetched again; a hint for TPUs.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.Buffered(2, revisit=pl.RevisitMode.ANY).buffer_count
      2
    """

    ANY = "any"
    IMMEDIATE = "immediate"


@dataclasses.dataclass(frozen=True)
class Buffered:
    """How many buffers a window has while the next blocks are fetched; a hint for TPUs.

    Args:
      buffer_count: the number of buffers.
      use_lookahead, revisit, prefetched_count: hints for TPUs.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.BlockSpec((8,), lambda i: (i,), pl.Buffered(3)).pipeline_mode.buffer_count
      3
    """

    buffer_count: int | tuple[int, int]
    use_lookahead: bool = False
    revisit: RevisitMode | None = None
    prefetched_count: int = 0


@dataclasses.dataclass
class BlockSpec:
    """How an array is cut into blocks, and which of them a program of the grid gets.

    Args:
      block_shape: for each dimension of the array an int, ``Blocked``, None or ``Squeezed``, ``Element`` or
        ``BoundedSlice``; None: the whole array is one block.
      index_map: a function from the indices of the grid (and the references to scalars fetched before, if
        there are any) to the block's number along each dimension; None: zeros.
      pipeline_mode: ``Buffered``, a hint.
      memory_space: a ``MemorySpace``; with ``ANY`` the kernel gets the whole array.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.BlockSpec((8, 128), lambda i, j: (i, j)).block_shape
      (8, 128)
    """

    block_shape: Any = None
    index_map: Callable[..., Any] | None = None
    pipeline_mode: Buffered | None = dataclasses.field(default=None, repr=False)
    memory_space: Any = dataclasses.field(default=None, kw_only=True)

    def replace(self, **changes: Any) -> "BlockSpec":
        """The same with some arguments changed."""
        return dataclasses.replace(self, **changes)


class NoBlockSpec:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "no_block_spec"


no_block_spec = NoBlockSpec()


@dataclasses.dataclass
class GridSpec:
    """A grid with the blocks of its operands and results.

    Args:
      grid: an int, or a tuple of ints and computed integers.
      in_specs, out_specs: trees of ``BlockSpec``, prefixes of the operands and of ``out_shape``.
      scratch_shapes: a sequence or dict of references such as ``tpu.VMEM((8, 128), "float32")``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> block = pl.BlockSpec((2,), lambda i: (i,))
      >>> spec = pl.GridSpec(3, [block], block)
      >>> copy = lambda x, out: out.set(x[...])
      >>> pl.pallas_call(copy, rb.ShapeDtypeStruct((6,), "int32"), grid_spec=spec)(rnp.arange(6)).tolist()
      [0, 1, 2, 3, 4, 5]
    """

    grid: Any = ()
    in_specs: Any = no_block_spec
    out_specs: Any = no_block_spec
    scratch_shapes: Any = ()
    num_scalar_prefetch = 0

    def __post_init__(self):
        check_fields(type(self).__name__, self.grid, self.in_specs, self.scratch_shapes)


@dataclasses.dataclass
class PrefetchScalarGridSpec:
    """A grid whose first operands are arrays of integers that index maps read.

    Args:
      num_scalar_prefetch: how many of the operands come first: index maps and the kernel get references to
        them.
      grid, in_specs, out_specs, scratch_shapes: as for ``GridSpec``; ``in_specs`` are for the other operands.
    """

    num_scalar_prefetch: int
    grid: Any = ()
    in_specs: Any = no_block_spec
    out_specs: Any = no_block_spec
    scratch_shapes: Any = ()

    def __post_init__(self):
        self.num_scalar_prefetch = whole_number(
            type(self).__name__, "num_scalar_prefetch", self.num_scalar_prefetch
        )
        check_fields(type(self).__name__, self.grid, self.in_specs, self.scratch_shapes)


def check_fields(who, grid, in_specs, scratch_shapes):
    """Refuse a grid, specs or scratch that can be none, before there are arrays.

    Raises:
      ArgumentError: says which field, and what it takes.
    """
    sizes = grid if isinstance(grid, (list, tuple)) else (grid,)
    if not all(hasattr(n, "shape") or hasattr(type(n), "__index__") for n in sizes):
        raise ArgumentError(
            f"{who}: grid must be an integer or a tuple of integers, computed or not, got {grid!r:.60}\n"
            "  to fix: // instead of / for a number of blocks"
        )
    if not isinstance(in_specs, (list, tuple, NoBlockSpec)):
        raise ArgumentError(
            f"{who}: in_specs must be a tuple or a list, with one entry for each operand, got "
            f"{in_specs!r:.60}\n  to fix: leave it out for whole arrays"
        )
    if not isinstance(scratch_shapes, (list, tuple, dict)):
        raise ArgumentError(
            f"{who}: scratch_shapes must be a tuple, a list or a dict of memory such as "
            f"tpu.VMEM((8, 128), 'float32'), got {scratch_shapes!r:.60}\n  to fix: () for none"
        )


@dataclasses.dataclass(frozen=True)
class CostEstimate:
    """What a kernel is said to cost.

    Args:
      flops, transcendentals, bytes_accessed, remote_bytes_transferred: for the whole call.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.CostEstimate(flops=100, transcendentals=0, bytes_accessed=64).flops
      100
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not hasattr(value, "__index__"):
                raise ValueError(f"CostEstimate: {field.name} must be an int, got {value!r:.60}")


__all__ = [
    "BlockSpec",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "CostEstimate",
    "Element",
    "GridSpec",
    "Indirect",
    "MemoryRef",
    "MemorySpace",
    "NoBlockSpec",
    "PrefetchScalarGridSpec",
    "RevisitMode",
    "Squeezed",
    "no_block_spec",
]
