"""References as memrefs: the type of a memory, and which part of it a place is."""

import dataclasses

import numpy as np
from rabbet.experimental.pallas.targets import At, Bitcast, Index, MemorySpace
from rabbet.extend.primitive import ShapedArray

SEMAPHORES = {"dma": "!tpu.dma_semaphore", "regular": "!tpu.semaphore", "barrier": "!tpu.semaphore"}
SPACES = {
    MemorySpace.SMEM: "smem", MemorySpace.ANY: "any", MemorySpace.HBM: "hbm", MemorySpace.CMEM: "cmem",
    MemorySpace.HOST: "host", MemorySpace.SEMAPHORE: "semaphore_mem", MemorySpace.VMEM_SHARED: "vmem_shared",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Dim:
    """A dimension of a memref: where the part begins (a number or the name of an i32), how many elements it
    has and how far they lie apart, and whether the part has this dimension.
    """

    start: object
    size: int
    step: int = 1
    kept: bool = True


@dataclasses.dataclass(frozen=True, eq=False)
class Memory:
    """A state: a memref, and the part of it that it stands for.

    Args:
      name: of the memref.
      shape: its shape.
      element: what MLIR calls its elements.
      dtype: their dtype.
      space: "vmem", "smem", "any", ...
      dims: a ``Dim`` for each of its dimensions.
    """

    name: str
    shape: tuple[int, ...]
    element: str
    dtype: object
    space: str
    dims: tuple[Dim, ...]

    @property
    def type(self):
        """The type of the memref."""
        return memref(self.shape, self.element, self.space)

    @property
    def is_far(self):
        """Whether values can only be copied from and to it."""
        return self.space in ("any", "hbm", "host", "vmem_shared")


def memref(shape, element, space):
    sizes = "".join([f"{n}x" for n in shape])
    return f"memref<{sizes}{element}, #tpu.memory_space<{space}>>"


def space_of(space):
    """The name of a memory in Mosaic."""
    return SPACES.get(space, "vmem")


def of_block(walker, name, block):
    """The state of an operand or a result: its window, or the whole where that stays in its memory."""
    space = space_of(block.space)
    if is_window(block):
        squeezed = [type(d).__name__ == "Squeezed" for d in block.dims]
        shape = block.sizes
    else:
        shape, squeezed = block.array.shape, [False] * block.array.ndim
    dims = tuple([Dim(0, n, 1, not gone) for n, gone in zip(shape, squeezed, strict=True)])
    return Memory(name, shape, stored(walker, block.array), block.array.dtype, space, dims)


def is_window(block):
    return not (block.space is not None and block.space.is_whole)


def of_scratch(walker, name, scratch):
    """The state of scratch memory or semaphores."""
    shape = scratch.state.shape
    dims = tuple([Dim(0, n) for n in shape])
    if scratch.kind is not None:
        return Memory(name, shape, SEMAPHORES[scratch.kind], scratch.state.dtype, "semaphore_mem", dims)
    return Memory(
        name, shape, stored(walker, scratch.state), scratch.state.dtype, space_of(scratch.space), dims
    )


def of_prefetched(walker, name, aval):
    dims = tuple([Dim(0, n) for n in aval.shape])
    return Memory(name, aval.shape, stored(walker, aval), aval.dtype, "smem", dims)


def stored(walker, aval):
    """The type of an element in memory, where truth values are i32."""
    return walker.element(in_memory(aval).dtype)


def in_memory(aval):
    """The type of an array as memory holds it."""
    return aval.update(dtype=np.dtype("int32")) if is_truth(aval) else aval


def is_truth(aval):
    """Whether an array is of truth values."""
    return str(aval.dtype) == "bool"


def part(walker, memory, place, operands):
    """The part of a memory at a place."""
    operands = list(operands)
    for step in place.steps:
        own, operands = operands[: step.operands], operands[step.operands :]
        if isinstance(step, Bitcast):
            memory = seen_as(walker, memory, step.dtype)
            continue
        if not isinstance(step, Index):
            walker.refuse(
                "a reference seen in another shape or order", "reshape or transpose the value that is read"
            )
        if step.gathers:
            walker.refuse(
                "a part at an array of indices",
                "a loop over the indices, or a product with a matrix of ones and zeros",
            )
        memory = dataclasses.replace(memory, dims=narrowed(walker, memory, step, own))
    return memory


def narrowed(walker, memory, step, operands):
    """The dimensions after one more index."""
    given, entries, dims = iter(operands), iter(step.dims), []
    for dim in memory.dims:
        if not dim.kept:
            dims.append(dim)
            continue
        entry = next(entries)
        start = next(given) if entry.start is None else entry.start
        at = plus(walker, dim.start, times(walker, start, dim.step))
        if isinstance(entry, At):
            dims.append(Dim(at, 1, 1, False))
        else:
            dims.append(Dim(at, entry.size, dim.step * entry.step))
    return tuple(dims)


def plus(walker, a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int):
        a, b = b, a
    if b == 0:
        return a
    b = walker.i32(b) if isinstance(b, int) else b
    return walker.emit(f"arith.addi {a}, {b} : i32")


def times(walker, a, by):
    if by == 1 or isinstance(a, int):
        return a * by if isinstance(a, int) else a
    return walker.emit(f"arith.muli {a}, {walker.i32(by)} : i32")


def seen_as(walker, memory, dtype):
    """A memory whose elements are seen as another dtype."""
    if "bool" in (str(memory.dtype), str(dtype)):
        walker.refuse("truth values seen as another dtype", "a comparison, or a conversion, of what is read")
    element = walker.element(dtype)
    if element == memory.element:
        return dataclasses.replace(memory, dtype=dtype)
    if any(d.start != 0 or d.size != n or not d.kept for d, n in zip(memory.dims, memory.shape, strict=True)):
        walker.refuse(
            "a part of a reference seen as another dtype", "ref.bitcast(dtype) first, then the part"
        )
    old, new = ShapedArray((), memory.dtype).itemsize, ShapedArray((), dtype).itemsize
    shape = list(memory.shape)
    shape[max(0, len(shape) - 2)] = shape[max(0, len(shape) - 2)] * old // new
    typed = memref(shape, element, memory.space)
    name = walker.emit(f"tpu.memref_bitcast {memory.name} : {memory.type} -> {typed}")
    dims = tuple([Dim(0, n) for n in shape])
    return Memory(name, tuple(shape), element, dtype, memory.space, dims)


def sliced(walker, memory):
    """A memref of a part alone, for copies and semaphores: (its name, its type)."""
    sizes = [d.size for d in memory.dims]
    if any(d.step != 1 for d in memory.dims):
        walker.refuse("a copy of every second element or so", "copy the whole range")
    name, typed = memory.name, memory.type
    if any(d.start != 0 or d.size != n for d, n in zip(memory.dims, memory.shape, strict=True)):
        starts = ", ".join([as_i32(walker, d.start) for d in memory.dims])
        new = memref(sizes, memory.element, memory.space)
        name = walker.emit(f"tpu.memref_slice {name}[{starts}] : {typed} -> {new}")
        typed = new
    if not all(d.kept for d in memory.dims):
        new = memref([d.size for d in memory.dims if d.kept], memory.element, memory.space)
        name = walker.emit(f"tpu.memref_squeeze {name} : {typed} -> {new}")
        typed = new
    return name, typed


def as_i32(walker, start):
    return walker.i32(start) if isinstance(start, int) else start


def as_index(walker, start):
    """A place as an index."""
    if isinstance(start, int):
        return walker.emit(f"arith.constant {start} : index")
    return walker.emit(f"arith.index_cast {start} : i32 to index")


__all__ = [
    "Memory",
    "as_index",
    "in_memory",
    "is_truth",
    "is_window",
    "memref",
    "of_block",
    "of_prefetched",
    "of_scratch",
    "part",
    "sliced",
]
