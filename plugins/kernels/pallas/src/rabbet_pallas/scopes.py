"""Memory for a while: ``run_scoped``, and functions that act on arrays through references: ``run_state``."""

import functools

from rabbet import lax, tree
from rabbet.extend.cells import read
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import Primitive, ShapedArray

from rabbet_pallas.block_specs import MemoryRef
from rabbet_pallas.calls import Scratch
from rabbet_pallas.memory import type_of
from rabbet_pallas.references import Ref

allocate = Primitive(
    "allocate", lambda *, scratch: ShapedArray(scratch.state.shape, scratch.state.dtype),
    doc="the state of new memory, of which nothing is known",
)  # fmt: skip


@allocate.decompose
def allocated(op):
    state = op.params["scratch"].state
    return lax.full(state.shape, 0, state.dtype)


def is_memory(x):
    """Whether something says what memory to make, in trees of such."""
    return x is not None and not isinstance(x, (dict, list, tuple))


def scratch_of(given):
    """A ``Scratch`` for an entry of ``scratch_shapes``, or of the types of ``run_scoped``."""
    if callable(getattr(given, "get_ref_aval", None)):
        given = given.get_ref_aval()
    if not isinstance(given, MemoryRef):
        raise TypeError(
            f"memory is asked for by {given!r:.60}\n"
            "  to fix: say it by its kind, such as tpu.VMEM(shape, dtype) or tpu.SemaphoreType.DMA"
        )
    return Scratch(ShapedArray(tuple(given.shape), given.dtype), given.memory_space, given.kind)


def new_reference(given):
    """A reference to new memory."""
    scratch = scratch_of(given)
    return Ref(scratch.state, allocate(scratch=scratch), scratch.space, scratch.kind)


@folded
def run_scoped(f, *types, collective_axes=(), **kw_types):
    """``f`` on references to new memory, which lasts until it returns.

    Args:
      f: a function of references, given in the order of ``types`` and by the names of ``kw_types``.
      types: what memory: ``tpu.VMEM((8, 128), "float32")``, ``tpu.SemaphoreType.DMA``, and trees of these.
      collective_axes: for several cores; not offered.

    Returns:
      what ``f`` returns.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(x, out):
      ...     def body(scratch):
      ...         scratch[...] = x[...] * 2
      ...         out[...] = scratch[...] + 1
      ...     pl.run_scoped(body, tpu.VMEM((2,), "int32"))
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((2,), "int32"))(rnp.arange(2)).tolist()
      [1, 3]
    """
    if collective_axes not in ((), None):
        raise NotImplementedError(f"run_scoped: collective_axes={collective_axes!r} is for several cores")
    args, named = tree.map(new_reference, (types, kw_types), is_leaf=is_memory)
    return f(*args, **named)


def with_scoped(*types, collective_axes=(), **kw_types):
    """Decorator: the function is given references to new memory behind its other arguments.

    Args:
      types, collective_axes, kw_types: as for ``run_scoped``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.with_scoped()(lambda: 3)()
      3
    """

    def decorate(f):
        @functools.wraps(f)
        def call(*args, **named):
            inner = functools.partial(f, *args, **named)
            return run_scoped(inner, *types, collective_axes=collective_axes, **kw_types)

        return folded(call)

    return decorate


@folded
def run_state(f):
    """A function of arrays from one of references: it returns what the references hold in the end.

    Args:
      f: a function of one argument, a tree of references.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> def double(ref):
      ...     ref[...] = ref[...] * 2
      >>> pl.run_state(double)(rnp.arange(3)).tolist()
      [0, 2, 4]
    """

    @folded
    def call(arrays):
        leaves, structure = tree.flatten(arrays)
        leaves = [array_or_tracer(x) for x in leaves]
        refs = [Ref(type_of(x), x) for x in leaves]
        f(tree.unflatten(structure, refs))
        return tree.unflatten(structure, [read(r) for r in refs])

    return call


@folded
def empty_ref_like(x):
    """The type of a reference like one, or like an array, for ``run_scoped``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.empty_ref_like(rnp.arange(3)).shape
      (3,)
    """
    return MemoryRef(ShapedArray(tuple(x.shape), x.dtype), getattr(x, "memory_space", None))


__all__ = ["allocate", "empty_ref_like", "is_memory", "run_scoped", "run_state", "scratch_of", "with_scoped"]
