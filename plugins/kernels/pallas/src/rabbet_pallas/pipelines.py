"""``emit_pipeline``: a loop within a kernel that moves blocks between memories.

Blocks are copied to buffers, the body runs on those, and what it wrote is copied back, one step after the
other. Hardware may do so at the same time; the CPU gains nothing by it.
"""

import numpy as np
from rabbet import lax, tree
from rabbet.extend.functions import folded

from rabbet_pallas import indexing, program_ids, references
from rabbet_pallas.block_specs import Blocked, BlockSpec, BoundedSlice, Element, MemorySpace, Squeezed
from rabbet_pallas.scopes import run_scoped
from rabbet_pallas.semaphores import SemaphoreType, async_copy


def dims_of(spec, shape, what):
    """A block's dimensions."""
    from rabbet.extend.primitive import ShapedArray

    from rabbet_pallas import blocks

    return blocks.dims_of(spec.block_shape, ShapedArray(tuple(shape), "int32"), what)


class Window:
    """A reference that a pipeline goes through, block by block."""

    def __init__(self, ref, spec, what):
        self.ref, self.spec = ref, spec or BlockSpec()
        self.dims = dims_of(self.spec, ref.shape, what)
        for size, dim in zip(ref.shape, self.dims, strict=True):
            if isinstance(dim, Blocked) and size % dim.block_size:
                raise ValueError(
                    f"{what}: blocks of {dim.block_size} along a dimension of {size}\n"
                    "  to fix: a size that divides it, or BoundedSlice with ds(start, size)"
                )
            if isinstance(dim, (Element, BoundedSlice)):
                raise NotImplementedError(f"{what}: {type(dim).__name__} in a pipeline; use whole blocks")

    @property
    def shape(self):
        """The shape of a block as the body sees it."""
        return tuple([d.block_size for d in self.dims if not isinstance(d, Squeezed)])

    @property
    def memory(self):
        """What memory a block needs."""
        space = self.spec.memory_space
        return (space if space is not None and not space.is_whole else MemorySpace.VMEM)(
            self.shape, self.ref.dtype
        )

    def block(self, indices):
        """The part of the reference that is the block of a step."""
        given = self.spec.index_map(*indices) if self.spec.index_map is not None else (0,) * len(self.dims)
        given = given if isinstance(given, (tuple, list)) else (given,)
        entries = []
        for dim, at in zip(self.dims, given, strict=True):
            if isinstance(dim, Squeezed):
                entries.append(at)
                continue
            n = dim.block_size
            start = (
                at * n if isinstance(at, int) else lax.mul(lax.convert_element_type(at, "int32"), np.int32(n))
            )
            entries.append(indexing.ds(start, n))
        return references.part(self.ref, tuple(entries))


@folded
def emit_pipeline(
    body, *, grid, in_specs=(), out_specs=(), tiling=None, core_axis=None, core_axis_name=None,
    dimension_semantics=None, trace_scopes=True, no_pipelining=False, output_wait_read_only=False,
    _explicit_indices=False,
):  # fmt: skip
    """A function of references, within a kernel, that runs a body for each step of a grid on blocks of them.

    Args:
      body: a function of references to blocks, of the inputs and then of the outputs.
      grid: the sizes of the grid, ints or computed integers.
      in_specs, out_specs: a ``BlockSpec`` for each reference; trees of them.
      tiling, dimension_semantics, trace_scopes, no_pipelining, output_wait_read_only: hints.
      core_axis, core_axis_name: several cores; not offered.

    Returns:
      ``run(*refs, scratches=())``: of references to the inputs and the outputs. ``scratches`` are given to
      the body behind the blocks.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(x, out):
      ...     def body(x, out):
      ...         out[...] = x[...] + pl.program_id(0)
      ...     block = pl.BlockSpec((2,), lambda i: (i,))
      ...     tpu.emit_pipeline(body, grid=(3,), in_specs=[block], out_specs=[block])(x, out)
      >>> whole = pl.BlockSpec(memory_space=pl.ANY)
      >>> x = rnp.zeros(6, "int32")
      >>> pl.pallas_call(kernel, rb.typeof(x), in_specs=[whole], out_specs=whole)(x).tolist()
      [0, 0, 1, 1, 2, 2]
    """
    if core_axis is not None or core_axis_name is not None:
        raise NotImplementedError(
            "emit_pipeline: core_axis is for several cores, for which nothing is written"
        )
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    ins = leaves_of(in_specs)
    outs = leaves_of(out_specs)

    @folded
    def run(*refs, scratches=(), allocations=None):
        given = leaves_of(refs)
        if len(given) != len(ins) + len(outs):
            raise TypeError(
                f"emit_pipeline: {len(ins)} in_specs and {len(outs)} out_specs for {len(given)} references\n"
                "  to fix: one reference for each"
            )
        each = zip(given, [*ins, *outs], strict=True)
        windows = [Window(r, s, f"emit_pipeline: reference {i}") for i, (r, s) in enumerate(each)]
        run_scoped(lambda *room: steps(body, grid, windows, len(ins), room, scratches, _explicit_indices),
                   *[w.memory for w in windows], SemaphoreType.DMA)  # fmt: skip

    return run


def leaves_of(specs):
    """The specs, or references, of a tree."""
    if isinstance(specs, BlockSpec):
        return [specs]
    return tree.leaves(specs, is_leaf=lambda x: not isinstance(x, (dict, list, tuple)))


def steps(body, grid, windows, count, room, scratches, explicit):
    """Every step: blocks to buffers, the body, and what it wrote back."""
    *buffers, sem = room
    total = np.int32(1)
    for n in grid:
        total = total * n

    def step(k, _):
        from rabbet_pallas.grids import ids_of

        places = ids_of(k, grid)
        parts = [w.block(places) for w in windows]
        for part, buffer in zip(parts[:count], buffers, strict=False):
            async_copy(part, buffer, sem).wait()
        with program_ids.within(places, grid):
            body(*([tuple(places)] if explicit else []), *buffers, *scratches)
        for part, buffer in zip(parts[count:], buffers[count:], strict=True):
            async_copy(buffer, part, sem).wait()

    lax.fori_loop(np.int32(0), total, step, None)


@folded
def emit_pipeline_with_allocations(body, *, grid, in_specs=(), out_specs=(), **more):
    """``emit_pipeline`` and what it wants allocated before, which is nothing here.

    Returns:
      ``(run, make_allocations)``.
    """
    run = emit_pipeline(body, grid=grid, in_specs=in_specs, out_specs=out_specs, **more)
    return run, lambda *refs: ()


__all__ = ["emit_pipeline", "emit_pipeline_with_allocations"]
