"""Functions in kernels for GPUs through Triton: masked loads and stores, products, atomic operations."""

from rabbet import lax
from rabbet.extend.cells import read, write
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import memory, references
from rabbet_pallas.reference_parts import Place
from rabbet_pallas.references import as_reference, fitting, part, spread

inline_asm = Primitive(
    "inline_asm", lambda *args, asm, constraints, pack, results: results, multiple_results=True,
    doc="assembly of a GPU on each element",
)  # fmt: skip


@inline_asm.decompose
def no_assembly(op, *args):
    raise NotImplementedError("elementwise_inline_asm is assembly of a GPU, which nothing else can run")


@folded
def load(ref, *, mask=None, other=None, cache_modifier=None, eviction_policy=None, volatile=False):
    """The value of a reference, or of a part of one.

    Args:
      ref: a reference, or ``ref.at[index]``.
      mask: where to read, an array of bools that fits the part; elsewhere the part may lie outside.
      other: what stands where the mask is False; without it, anything may.
      cache_modifier, eviction_policy, volatile: hints for GPUs.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import triton
      >>> def kernel(x, out):
      ...     out[...] = triton.load(x.at[pl.ds(0, 4)], mask=rnp.arange(4) < 3, other=-1)
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((4,), "int32"))(rnp.arange(3)).tolist()
      [0, 1, 2, -1]
    """
    return references.get(ref, mask, other, hints(cache_modifier, eviction_policy, volatile))


@folded
def store(ref, val, *, mask=None, eviction_policy=None):
    """Replace the value of a reference, or of a part of one.

    Args:
      ref: a reference, or ``ref.at[index]``.
      val: the new value.
      mask: where to write, as for ``load``.
      eviction_policy: a hint for GPUs.
    """
    references.put(ref, val, mask, hints(None, eviction_policy, False))


def hints(cache_modifier, eviction_policy, volatile):
    """Hints as pairs."""
    given = {"cache": cache_modifier, "eviction": eviction_policy, "volatile": volatile or None}
    return tuple([(name, value) for name, value in given.items() if value is not None])


@folded
def dot(a, b, trans_a=False, trans_b=False, allow_tf32=None, precision=None):
    """The product of two matrices.

    Args:
      a, b: matrices of one dtype.
      trans_a, trans_b: whether to turn one around first.
      allow_tf32: whether hardware may round factors to 10 bits; not together with ``precision``.
      precision: as for ``lax.dot_general``.

    Returns:
      the product; of float32 if the matrices are of 16 bits.

    Example:
      >>> from rabbet.experimental.pallas import triton
      >>> float(triton.dot(rnp.ones((2, 3)), rnp.ones((2, 3)), trans_b=True)[0, 0])
      3.0
    """
    a, b = array_or_tracer(a), array_or_tracer(b)
    if typeof(a).ndim != 2 or typeof(b).ndim != 2:
        raise ValueError(f"dot: two matrices are wanted, got shapes {typeof(a).shape} and {typeof(b).shape}")
    if allow_tf32 is not None:
        if precision is not None:
            raise ValueError("dot: allow_tf32 and precision together\n  to fix: one of them")
        precision = lax.Precision.HIGH if allow_tf32 else lax.Precision.HIGHEST
    dims = (((0 if trans_a else 1,), (1 if trans_b else 0,)), ((), ()))
    wide = "int32" if typeof(a).kind in "iu" else "float32"
    kind = None if typeof(a).itemsize > 2 and typeof(a).kind == "f" else wide
    return lax.dot_general(a, b, dims, precision=precision, preferred_element_type=kind)


def atomically(ref, index, value, mask, kind):
    """Combine a part with a value; the part before."""
    ref = part(as_reference(ref), index)
    value = fitting(value, ref)
    operands, more = list(ref.operands), {}
    if mask is not None:
        operands.append(spread(mask, ref.shape, "bool", "the mask"))
        more["masked"] = True
    made, old = memory.atomic(
        read(ref.root), value, *operands, place=Place(ref.steps), kind=kind, **more
    )  # fmt: skip
    write(ref.root, made)
    return old


def atomic_function(name, kind, what):
    """The public function of an atomic operation."""

    def function(x_ref_or_view, idx, val, *, mask=None):
        return atomically(x_ref_or_view, idx, val, mask, kind)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what}, at once.

    Args:
      x_ref_or_view: a reference, or a part of one.
      idx: the index of what is changed.
      val: the other value.
      mask: where to do so, an array of bools that fits the part.

    Returns:
      what was there before.
    """
    return folded(function)


atomic_add = atomic_function("atomic_add", "add", "``ref[idx] += val``")
atomic_and = atomic_function("atomic_and", "and", "``ref[idx] &= val``")
atomic_max = atomic_function("atomic_max", "max", "The larger of ``ref[idx]`` and ``val``")
atomic_min = atomic_function("atomic_min", "min", "The smaller of ``ref[idx]`` and ``val``")
atomic_or = atomic_function("atomic_or", "or", "``ref[idx] |= val``")
atomic_xchg = atomic_function("atomic_xchg", "xchg", "``ref[idx] = val``")
atomic_xor = atomic_function("atomic_xor", "xor", "``ref[idx] ^= val``")


@folded
def atomic_cas(ref, cmp, val):
    """``ref[...] = val`` if the element is ``cmp``, at once.

    Args:
      ref: a reference of one element, or such a part.
      cmp: the element that is expected.
      val: the new one.

    Returns:
      the element before.
    """
    ref = as_reference(ref)
    if ref.shape:
        raise ValueError(f"atomic_cas: one element is wanted, got a reference of shape {ref.shape}")
    expected, value = fitting(cmp, ref), fitting(val, ref)
    made, old = memory.compare_and_swap(
        read(ref.root), expected, value, *ref.operands, place=Place(ref.steps)
    )
    write(ref.root, made)
    return old


@folded
def debug_barrier():
    """Threads of a program wait for each other; nothing on the CPU."""


@folded
def max_contiguous(x, values):
    """``x``, of whose values a compiler may assume that so many lie side by side; a hint."""
    return x


@folded
def elementwise_inline_asm(asm, *, args, constraints, pack, result_shape_dtypes):
    """Assembly of a GPU on each element; cannot run on the CPU."""
    results = tuple([ShapedArray(tuple(r.shape), r.dtype) for r in result_shape_dtypes])
    args = [array_or_tracer(x) for x in args]
    return inline_asm(*args, asm=asm, constraints=constraints, pack=pack, results=results)


__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "debug_barrier",
    "dot",
    "elementwise_inline_asm",
    "load",
    "max_contiguous",
    "store",
]
