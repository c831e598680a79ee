"""``pallas_call``."""

import functools
import operator
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from rabbet import Array, lax, tree
from rabbet.extend.cells import read
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import blocks, checking, interpreting, program_ids, programs, trees
from rabbet_pallas.block_specs import (
    BlockSpec,
    GridSpec,
    MemoryRef,
    MemorySpace,
    NoBlockSpec,
    check_fields,
    no_block_spec,
)
from rabbet_pallas.calls import Call
from rabbet_pallas.debugging import poisons
from rabbet_pallas.memory import type_of
from rabbet_pallas.primitive import pallas_call as pallas_call_p
from rabbet_pallas.references import Ref
from rabbet_pallas.scopes import is_memory, scratch_of

NO_ALIASES = MappingProxyType({})


@folded
def pallas_call(
    kernel, out_shape, *, grid_spec=None, grid=(), in_specs=no_block_spec, out_specs=no_block_spec,
    scratch_shapes=(), input_output_aliases=NO_ALIASES, debug=False, interpret=False, name=None,
    compiler_params=None, cost_estimate=None, metadata=None,
):  # fmt: skip
    """A function of arrays that runs a kernel for each program of a grid.

    Args:
      kernel: a function of references: to prefetched scalars, blocks of operands, blocks of results and
        scratch, in this order. It reads and writes them (``ref[...]``), and returns nothing. Arrays from
        outside that it uses are operands too, whole.
      out_shape: a tree of types of the results, such as ``rb.ShapeDtypeStruct(shape, dtype)``. For a list or
        tuple the kernel gets a reference for each entry.
      grid_spec: a ``GridSpec`` or ``tpu.PrefetchScalarGridSpec``, instead of the next four.
      grid: the sizes of the grid, an int or a tuple; they may be computed integers. On the CPU programs run
        one after the other, those along the last dimension first.
      in_specs, out_specs: trees of ``BlockSpec``, or prefixes of the trees of operands and results. Without
        them each program gets whole arrays.
      scratch_shapes: memory for the kernel's own use, such as ``tpu.VMEM((8, 128), "float32")``: a sequence,
        or a dict for keyword arguments. It keeps its content from one program to the next.
      input_output_aliases: ``{operand: result}``, by number, of arrays that share memory.
      debug: whether to print the kernel's program when it is traced.
      interpret: compute it with ordinary operations on every platform: True, or a ``tpu.InterpretParams``.
        On the CPU that is always so.
      name: what the kernel is called in messages; by default the function's name.
      compiler_params: what compilers for hardware are told, such as ``tpu.CompilerParams``.
      cost_estimate: a ``CostEstimate`` for compilers.
      metadata: a dict of strings, for writers.

    Returns:
      a function of arrays, and trees of arrays, that returns a tree as ``out_shape``.

    Raises:
      ValueError: blocks do not fit arrays or the grid, two programs that
        may run at the same time write one block.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> def add(x, y, out):
      ...     out[...] = x[...] + y[...]
      >>> block = pl.BlockSpec((2,), lambda i: (i,))
      >>> x = rnp.arange(6)
      >>> pl.pallas_call(add, rb.typeof(x), grid=3, in_specs=[block, block], out_specs=block)(x, x)
      Array([ 0,  2,  4,  6,  8, 10], dtype=int32)
    """
    called = name or name_of(kernel)
    if not isinstance(input_output_aliases, Mapping):
        raise TypeError(
            f"kernel {called!r}: input_output_aliases must be a dict {{operand: result}}, got "
            f"{input_output_aliases!r:.60}\n  to fix: leave it out where nothing shares memory"
        )
    if grid_spec is None:
        check_fields(f"kernel {called!r}", grid, in_specs, scratch_shapes)
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif (
        grid != ()
        or scratch_shapes != ()
        or any(not isinstance(s, NoBlockSpec) for s in (in_specs, out_specs))
    ):
        raise ValueError(
            "pallas_call: grid_spec together with grid, in_specs, out_specs or scratch_shapes\n"
            "  to fix: put them all into the grid_spec"
        )
    options = {
        "params": compiler_params, "cost": cost_estimate, "debug": bool(debug), "interpret": interpret,
        "metadata": tuple(sorted((metadata or {}).items())),
    }  # fmt: skip

    @folded
    def wrapped(*args):
        return Tracing(kernel, called, out_shape, grid_spec, input_output_aliases, options).run(args)

    wrapped.__name__ = wrapped.__qualname__ = called
    return wrapped


def name_of(kernel):
    """What a function is called."""
    while isinstance(kernel, functools.partial):
        kernel = kernel.func
    return getattr(kernel, "__name__", type(kernel).__name__)


class Tracing:
    """One call of a kernel on its way to a ``Call``."""

    def __init__(self, kernel, name, out_shape, spec, aliases, options):
        self.kernel, self.name, self.out_shape, self.spec = kernel, name, out_shape, spec
        self.aliases, self.options = aliases, options

    def run(self, args):
        self.grid, computed = grid_of(self.spec.grid, self.name)
        n = self.spec.num_scalar_prefetch
        if len(args) < n:
            raise TypeError(f"kernel {self.name!r}: {n} prefetched operands are wanted, got {len(args)}")
        prefetch, args = list(args[:n]), tuple(args[n:])
        scalars, self.prefetch_tree = tree.flatten(prefetch)
        arrays, self.in_tree = tree.flatten(args)
        scalars, arrays = [array_or_tracer(x) for x in scalars], [array_or_tracer(x) for x in arrays]
        call, more = self.call([type_of(x) for x in scalars], [type_of(x) for x in arrays], args)
        checking.check(call)
        if call.debug:
            print(f"kernel {call}:\n{call.kernel}")
        outs = pallas_call_p(*computed, *scalars, *arrays, *more, call=call)
        return tree.unflatten(self.out_tree, outs)

    def call(self, prefetch, arrays, args):
        """The ``Call`` for operands of these types, and the arrays from outside that the kernel uses, which
        are operands behind the others.
        """
        shapes, self.out_tree = tree.flatten(self.out_shape, is_leaf=lambda x: isinstance(x, MemoryRef))
        for s in shapes:
            if not hasattr(s, "shape") or not hasattr(s, "dtype"):
                raise TypeError(
                    f"kernel {self.name!r}: out_shape has {s!r:.60}, which has no shape and dtype\n"
                    "  to fix: rb.ShapeDtypeStruct(shape, dtype) for each result"
                )
        results = [ShapedArray(tuple(s.shape), s.dtype) for s in shapes]
        block = functools.partial(
            blocks.block, grid=self.grid, prefetch=prefetch, prefetch_tree=self.prefetch_tree
        )
        in_specs = trees.spread(self.spec.in_specs, args, f"kernel {self.name!r}: in_specs")
        leaves = tree.unflatten(self.out_tree, results)
        out_specs = trees.spread(self.spec.out_specs, leaves, f"kernel {self.name!r}: out_specs")
        ins = [
            block(s, a, what=f"kernel {self.name!r}: operand {i}")
            for i, (s, a) in enumerate(zip(in_specs, arrays, strict=True))
        ]
        outs = [
            block(s if s.memory_space else s.replace(memory_space=space_of(shape)), a,
                  what=f"kernel {self.name!r}: result {i}")
            for i, (s, a, shape) in enumerate(zip(out_specs, results, shapes, strict=True))
        ]  # fmt: skip
        scratch, self.scratch_tree = tree.flatten(self.spec.scratch_shapes, is_leaf=is_memory)
        scratch = [scratch_of(s) for s in scratch]
        jaxpr, more = self.program(prefetch, ins, outs, scratch)
        aliases = self.shared(len(prefetch), ins, outs)
        ins += [block(BlockSpec(), type_of(x), what="an array from outside") for x in more]
        call = Call(
            self.name, self.grid, semantics(self.options["params"], self.grid, self.name), tuple(prefetch),
            tuple(ins), tuple(outs), tuple(scratch), aliases, jaxpr,
            poison=poisons() or interpreting.poisoned(self.options["interpret"]),
            **{**self.options, "interpret": interpreting.asked(self.options["interpret"])},
        )  # fmt: skip
        return call, more

    def program(self, prefetch, ins, outs, scratch):
        """The kernel as a program on states, and what it uses from outside."""
        cut = [len(prefetch), len(ins), len(outs), len(scratch)]
        spaces = [MemorySpace.SMEM] * len(prefetch) + [b.space for b in (*ins, *outs, *scratch)]
        kinds = [None] * sum(cut[:3]) + [s.kind for s in scratch]

        def body(*args):
            own, sizes, states = programs.split(args, self.grid)
            refs = [Ref(typeof(x), x, s, k) for x, s, k in zip(states, spaces, kinds, strict=True)]
            with program_ids.within(own, sizes):
                self.call_kernel(refs, cut)
            self.refuse_lost_writes(states, refs, cut, ins)
            return [read(r) for r in refs[cut[0] + cut[1] :]]

        avals = [blocks.I32] * (len(self.grid) + self.grid.count(None))
        avals += [*prefetch, *[b.state for b in (*ins, *outs)], *[s.state for s in scratch]]
        place = len(self.grid) + self.grid.count(None) + len(prefetch) + len(ins)
        return programs.with_operands(body, avals, self.name, place)

    def call_kernel(self, refs, cut):
        """Run the user's function on references."""
        groups, at = [], 0
        for n in cut:
            groups.append(refs[at : at + n])
            at += n
        prefetch = tree.unflatten(self.prefetch_tree, groups[0])
        ins = tree.unflatten(self.in_tree, groups[1])
        outs = tree.unflatten(self.out_tree, groups[2])
        outs = outs if isinstance(self.out_shape, (list, tuple)) else (outs,)
        scratch = tree.unflatten(self.scratch_tree, groups[3])
        more, named = ((), scratch) if isinstance(scratch, dict) else (scratch, {})
        said = f"{cut[1]} operands, {cut[2]} results"
        said = f"{cut[0]} prefetched, {said}" if cut[0] else said
        said = f"{said}, {cut[3]} of scratch" if cut[3] else said
        args = (*prefetch, *ins, *outs, *more)
        blocks.check_arguments(self.kernel, args, named, f"kernel {self.name!r}", f"references: {said}")
        given = self.kernel(*prefetch, *ins, *outs, *more, **named)
        if given is not None:
            raise TypeError(
                f"kernel {self.name!r} returns {type(given).__name__} {given!r:.60}\n"
                "  to fix: write results to references, and return nothing"
            )

    def refuse_lost_writes(self, states, refs, cut, ins):
        """Refuse a kernel that writes to what it may only read."""
        for i, block in enumerate(ins):
            at = cut[0] + i
            if block.space is not None and block.space.is_whole and refs[at].content is not states[at]:
                raise ValueError(
                    f"kernel {self.name!r} writes to operand {i}, which lies in the large memory\n"
                    "  to fix: write to a result; input_output_aliases gives it what the operand has"
                )

    def shared(self, scalars, ins, outs):
        """The aliases, as numbers of operands and results in blocks."""
        found = []
        for operand, result in sorted(dict(self.aliases).items()):
            i = operand - scalars
            what = f"kernel {self.name!r}: input_output_aliases has {operand}: {result}"
            if not 0 <= i < len(ins) or not 0 <= result < len(outs):
                raise ValueError(
                    f"{what}; there are {scalars} prefetched operands, {len(ins)} others and {len(outs)} "
                    "results\n"
                    "  to fix: numbers of operands (prefetched ones count) and of results"
                )
            one, other = ins[i].array, outs[result].array
            if (one.shape, one.dtype) != (other.shape, other.dtype):
                raise ValueError(f"{what}, of the types {one.str_short()} and {other.str_short()}")
            found.append((i, result))
        return tuple(found)


def grid_of(grid, name):
    """The grid's sizes, None where they are computed, and the computed ones."""
    grid = tuple(grid) if isinstance(grid, (list, tuple)) else (grid,)
    sizes, computed = [], []
    for n in grid:
        if isinstance(n, (int, np.integer)) or (type(n) is Array and not n.shape):
            size = operator.index(n)
            if size < 0:
                raise ValueError(f"kernel {name!r}: a grid of the size {size}")
            sizes.append(size)
        elif hasattr(n, "dtype") and not typeof(n).shape and typeof(n).kind in "iu":
            sizes.append(None)
            computed.append(lax.convert_element_type(n, "int32"))
        else:
            raise TypeError(f"kernel {name!r}: {n!r:.40} in the grid\n  to fix: integers, computed or not")
    return tuple(sizes), computed


def semantics(params, grid, name):
    """What a compiler may assume of each grid dimension, in words."""
    given = getattr(params, "dimension_semantics", None)
    if given is None:
        return ("arbitrary",) * len(grid)
    if len(given) != len(grid):
        raise ValueError(
            f"kernel {name!r}: dimension_semantics has {len(given)} entries, the grid {len(grid)} dimensions"
        )
    return tuple([str(getattr(s, "value", s)).lower() for s in given])


def space_of(shape):
    """The memory that an entry of ``out_shape`` asks for."""
    return getattr(shape, "memory_space", None)


__all__ = ["pallas_call"]
