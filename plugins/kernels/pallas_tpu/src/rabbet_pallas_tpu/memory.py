"""Loads and stores, copies, semaphores."""

from rabbet.experimental.pallas.targets import Rules
from rabbet.extend.primitive import ShapedArray

from rabbet_pallas_tpu import memrefs

RULES = Rules()
FAR = "an operation on an array that stays in its memory (pl.ANY)"
FAR_FIX = "tpu.make_async_copy or tpu.sync_copy to scratch in VMEM, and read that"


def place_of(walker, equation, memory, operands):
    """(the part, what operands there are beyond those of the place)."""
    place = equation.op.params["place"]
    return memrefs.part(walker, memory, place, operands[: place.operands]), operands[place.operands :]


MOST_SEEDS = 2
GENERATOR = object()  # the state that stands for the generator of the core


@RULES.of("load")
def load(walker, equation, memory, *operands):
    part, rest = place_of(walker, equation, memory, operands)
    out, params = equation.outputs[0].aval, equation.op.params
    if part.is_far:
        walker.refuse(FAR, FAR_FIX)
    masked = params.get("masked", False)
    if masked and any(not isinstance(d.start, int) for d in part.dims):
        walker.refuse("a masked load at a computed place", "load the whole block, and rabbet.numpy.where")
    value = value_of(walker, part, out)
    if not masked:
        return value
    other = rest[1] if params.get("other", False) else walker.constant(0, out)
    return walker.emit(
        f"arith.select {rest[0]}, {value}, {other} : {walker.type(rest_type(out))}, {walker.type(out)}"
    )


def value_of(walker, part, out):
    """What a part of a memory holds."""
    held = memrefs.in_memory(out)
    value = scalar_of(walker, part, held) if part.space == "smem" else vector_of(walker, part, held)
    if memrefs.is_truth(out):
        zero = walker.constant(0, held)
        value = walker.emit(f"arith.cmpi ne, {value}, {zero} : {walker.type(held)}")
    return value


def rest_type(out):
    return ShapedArray(out.shape, "bool")


def indices(walker, part):
    return ", ".join([memrefs.as_index(walker, d.start) for d in part.dims])


def scalar_of(walker, part, out):
    if out.shape:
        walker.refuse("a load of several elements from SMEM", "one element at a time")
    return walker.emit(f"memref.load {part.name}[{indices(walker, part)}] : {part.type}")


def vector_of(walker, part, out):
    """A vector from VMEM, or one element of it."""
    sizes = tuple([d.size for d in part.dims])
    if not sizes:
        walker.refuse("a reference without dimensions in VMEM", "shape (1,) in SMEM")
    boxed = walker.type(out, sizes)
    at = indices(walker, part)
    if any(d.step != 1 for d in part.dims):
        steps = ", ".join([str(d.step) for d in part.dims])
        value = walker.emit(
            f"tpu.strided_load {part.name}[{at}] {{strides = array<i32: {steps}>}} : {part.type}, {boxed}"
        )
    else:
        value = walker.emit(f"vector.load {part.name}[{at}] : {part.type}, {boxed}")
    if not out.shape:
        zeros = ", ".join("0" * len(sizes))
        return walker.emit(f"vector.extract {value}[{zeros}] : {walker.element(out.dtype)} from {boxed}")
    return walker.cast(value, out, sizes, out.shape)


@RULES.of("store")
def store(walker, equation, memory, value, *operands):
    part, rest = place_of(walker, equation, memory, operands)
    given = equation.inputs[1].aval
    aval = memrefs.in_memory(given)
    if part.is_far:
        walker.refuse(FAR, FAR_FIX)
    masked = equation.op.params.get("masked", False)
    sizes = tuple([d.size for d in part.dims])
    if part.space == "smem":
        if aval.shape or masked:
            walker.refuse("a store of several elements to SMEM, or one under a mask", "one element at a time")
        value = kept(walker, value, given)
        walker.line(
            f"memref.store {value}, {part.name}[{indices(walker, part)}] : {part.type}{walker.location()}"
        )
        return memory
    if not aval.shape:
        walker.refuse(
            "a store of a number to VMEM", "a store to SMEM, or of an array of at least two dimensions"
        )
    if masked:
        if any(not isinstance(d.start, int) for d in part.dims):
            walker.refuse(
                "a masked store at a computed place", "load the block, rabbet.numpy.where, and store it"
            )
        before = value_of(walker, part, given)
        types = f"{walker.type(rest_type(given))}, {walker.type(given)}"
        value = walker.emit(f"arith.select {rest[0]}, {value}, {before} : {types}")
    value = kept(walker, value, given)
    boxed, at = walker.cast(value, aval, aval.shape, sizes), indices(walker, part)
    typed = walker.type(aval, sizes)
    if any(d.step != 1 for d in part.dims):
        steps = ", ".join([str(d.step) for d in part.dims])
        said = f"{{strides = array<i32: {steps}>}} : {part.type}, {typed}"
        walker.line(f"tpu.strided_store {part.name}[{at}], {boxed} {said}")
    else:
        walker.line(
            f"tpu.vector_store {part.name}[{at}], {boxed} {{strides = array<i32>}} : {part.type}, {typed},"
            + walker.location()
        )
    return memory


def kept(walker, value, aval):
    """A value as memory holds it."""
    if not memrefs.is_truth(aval):
        return value
    to = walker.type(memrefs.in_memory(aval))
    return walker.emit(f"arith.extui {value} : {walker.type(aval)} to {to}")


@RULES.of("atomic", "compare_and_swap")
def atomic(walker, equation, *operands):
    walker.refuse(
        "an atomic operation", "a load and a store: programs of a TPU's core run one after the other"
    )


@RULES.of("allocate")
def allocate(walker, equation):
    scratch = equation.op.params["scratch"]
    if scratch.kind == "generator":  # the core has one
        return GENERATOR
    memory = memrefs.of_scratch(walker, "%", scratch)
    if scratch.kind is not None:
        name = walker.emit(f"tpu.sem_alloc : {memory.type}")
    else:
        name = walker.emit(f"memref.alloca() : {memory.type}")
    return memrefs.of_scratch(walker, name, scratch)


@RULES.of("prng_seed")
def seed(walker, equation, state, *seeds):
    if len(seeds) > MOST_SEEDS:
        walker.refuse(f"a generator of {len(seeds)} seeds", f"at most {MOST_SEEDS}")
    types = ", ".join(["i32"] * len(seeds))
    walker.line(f'"tpu.prng_set_seed_32"({", ".join(seeds)}) : ({types}) -> ()')
    return state


@RULES.of("prng_random_bits")
def random_bits(walker, equation, state):
    typed = walker.type(equation.outputs[1].aval)
    return [state, walker.emit(f'"tpu.prng_random_bits"() : () -> {typed}')]


def copied(walker, equation, dst, src, sem, operands):
    """The memrefs of a copy: (destination, source, semaphore), each a name and a type."""
    params, found = equation.op.params, []
    for memory, name in ((dst, "dst_place"), (src, "src_place"), (sem, "sem_place")):
        place = params[name]
        own, operands = operands[: place.operands], operands[place.operands :]
        found.append(memrefs.sliced(walker, memrefs.part(walker, memory, place, own)))
    return found


@RULES.of("copy_start")
def copy_start(walker, equation, dst, src, sem, *operands):
    if equation.op.params.get("add", False):
        walker.refuse("a copy that adds", "a copy to scratch, and a sum")
    to, of, at = copied(walker, equation, dst, src, sem, operands)
    walker.line(
        f"tpu.enqueue_dma source({of[0]} : {of[1]}) target({to[0]} : {to[1]}) "
        f"target_semaphore({at[0]} : {at[1]}){walker.location()}"
    )
    return [dst, sem]


@RULES.of("copy_wait")
def copy_wait(walker, equation, dst, src, sem, *operands):
    to, of, at = copied(walker, equation, dst, src, sem, operands)
    walker.line(
        f"tpu.wait_dma2 semaphore({at[0]} : {at[1]}) src({of[0]} : {of[1]}) "
        f"dst({to[0]} : {to[1]}){walker.location()}"
    )
    return [dst, sem]


def semaphore(walker, equation, sem, operands):
    place = equation.op.params["place"]
    return memrefs.sliced(walker, memrefs.part(walker, sem, place, operands[: place.operands]))


@RULES.of("semaphore_signal")
def signal(walker, equation, sem, inc, *operands):
    name, typed = semaphore(walker, equation, sem, operands)
    walker.line(f"tpu.sem_signal {name}, {inc} : {typed}")
    return sem


@RULES.of("semaphore_wait")
def wait(walker, equation, sem, value, *operands):
    if not equation.op.params.get("decrement", True):
        walker.refuse("a wait that does not subtract", "semaphore_wait(sem, value)")
    name, typed = semaphore(walker, equation, sem, operands)
    walker.line(f"tpu.sem_wait {name}, {value} : {typed}")
    return sem


@RULES.of("semaphore_read")
def read(walker, equation, sem, *operands):
    name, typed = semaphore(walker, equation, sem, operands)
    return walker.emit(f"tpu.sem_read {name} : {typed} -> i32")


__all__ = ["RULES"]
