"""Loads, stores and atomic operations."""

from rabbet.experimental.pallas.targets import Rules
from rabbet.extend.primitive import ShapedArray

from rabbet_pallas_triton.pointers import both, stored, through

RULES = Rules()
# By kind of ``atomic``: on floats, signed and unsigned integers.
ATOMIC = {
    "add": ("fadd", "add", "add"), "max": (None, "max", "umax"), "min": (None, "min", "umin"),
    "and": (None, "and", "and"), "or": (None, "or", "or"), "xor": (None, "xor", "xor"),
    "xchg": ("exch", "exch", "exch"),
}  # fmt: skip


def pointer_type(walker, shape, dtype):
    return walker.shaped(shape, f"!tt.ptr<{stored(walker, dtype)}>")


def part(walker, view, equation, operands, value_operands=0):
    """(pointers, shape, mask or None, what masked-off elements are or None) of a place's operands."""
    params = equation.op.params
    n = params["place"].operands
    pointers, shape, mask = through(walker, view, params["place"], operands[:n])
    rest = operands[n:]
    if params.get("masked", False):
        mask = both(walker, mask, rest[0], shape)
    return pointers, shape, mask, rest[1] if params.get("other", False) else None


@RULES.of("load")
def load(walker, equation, view, *operands):
    out = equation.outputs[0].aval
    pointers, shape, mask, other = part(walker, view, equation, operands)
    memory = ShapedArray(out.shape, "int8") if str(out.dtype) == "bool" else out
    given = [pointers]
    if mask is not None:
        other = walker.constant(0, memory) if other is None else as_bytes(walker, other, out)
        given += [mask, other]
    value = walker.emit(f"tt.load {', '.join(given)} : {pointer_type(walker, shape, out.dtype)}")
    if memory is out:
        return value
    return walker.emit(f"arith.cmpi ne, {value}, {walker.constant(0, memory)} : {walker.type(memory)}")


def as_bytes(walker, value, aval):
    """Truth values as they lie in memory; others as they are."""
    if str(aval.dtype) != "bool":
        return value
    return walker.emit(f"arith.extui {value} : {walker.type(aval)} to {walker.shaped(aval.shape, 'i8')}")


@RULES.of("store")
def store(walker, equation, view, value, *operands):
    pointers, shape, mask, _ = part(walker, view, equation, operands)
    aval = equation.inputs[1].aval
    given = [pointers, as_bytes(walker, value, aval), *([] if mask is None else [mask])]
    walker.line(f"tt.store {', '.join(given)} : {pointer_type(walker, shape, aval.dtype)}")
    return view


@RULES.of("atomic")
def atomic(walker, equation, view, value, *operands):
    aval, kind = equation.inputs[1].aval, equation.op.params["kind"]
    name = ATOMIC[kind][0 if aval.kind == "f" else 2 if aval.kind == "u" else 1]
    if name is None or aval.itemsize < 2 or (aval.kind != "f" and aval.itemsize < 4):
        walker.refuse(
            f"an atomic {kind} of {aval.str_short()}",
            "atomic_add of floats, or what integers of 32 and 64 bits have",
        )
    pointers, shape, mask, _ = part(walker, view, equation, operands)
    given = [pointers, value, *([] if mask is None else [mask])]
    types = [pointer_type(walker, shape, aval.dtype), walker.type(aval)]
    types += [] if mask is None else [walker.shaped(shape, "i1")]
    types = f"({', '.join(types)}) -> {walker.type(aval)}"
    old = walker.emit(f"tt.atomic_rmw {name}, acq_rel, gpu, {', '.join(given)} : {types}")
    return [view, old]


@RULES.of("compare_and_swap")
def compare_and_swap(walker, equation, view, expected, value, *operands):
    aval = equation.inputs[2].aval
    pointers, shape, _, _ = part(walker, view, equation, operands)
    typed = walker.type(aval)
    old = walker.emit(
        f"tt.atomic_cas acq_rel, gpu, {pointers}, {expected}, {value} : "
        f"({pointer_type(walker, shape, aval.dtype)}, {typed}, {typed}) -> {typed}"
    )
    return [view, old]


@RULES.of("barrier")
def barrier(walker, equation, *operands):
    walker.line("gpu.barrier")
    return []


@RULES.of("allocate")
def allocate(walker, equation, *operands):
    if equation.op.params["scratch"].kind == "generator":
        walker.refuse("prng_seed, the generator of a TPU", "an operand of random bits, from rb.random.bits")
    walker.refuse("memory of its own, by run_scoped", "carry values through lax.fori_loop")


__all__ = ["RULES"]
