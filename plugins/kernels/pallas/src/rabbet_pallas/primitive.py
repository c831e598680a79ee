"""The primitive ``pallas_call``: a kernel run for each program of a grid."""

from rabbet.errors import NotOfferedError
from rabbet.extend.primitive import Primitive

from rabbet_pallas import batching, grids, narrow_values, targets, unrolled_grids, wider_blocks


def call_type(*operands, call):
    for i, (given, wanted) in enumerate(zip(operands, call.operands, strict=True)):
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            raise TypeError(
                f"kernel {call.name}: operand {i} is {given.str_short()}, not {wanted.str_short()}"
            )
    return tuple([b.array for b in call.outs])


pallas_call = Primitive(
    "pallas_call", call_type, kinds=("body",), multiple_results=True,
    doc="a kernel run for each program of a grid",
)  # fmt: skip

interpreted = Primitive(
    "interpreted", lambda x, *, kernel: x, kinds=("elementwise", "linear"),
    doc="the same value, computed by operations instead of by a kernel",
)  # fmt: skip


@pallas_call.decompose
def programs(op, *operands):
    """As operations: what every transformation sees."""
    call = op.params["call"]
    outs = grids.run(call, operands)
    return outs if call.interpret else [interpreted(x, kernel=call.name) for x in outs]


@pallas_call.rule("lower")
def lower_call(site, *names):
    call = site["call"]
    target = None if call.interpret else targets.writer(call, site.platform, site.where)
    if target is None:
        return site.write(on_cpu(call), site.in_avals, names)
    return targets.written(target, site, call, names)


def on_cpu(call):
    """A call by operations, with as few and as large blocks as can be."""
    short, order = unrolled_grids.peeled(narrow_values.narrowed(call))
    wide, first = wider_blocks.widened(short), call.computed + len(call.prefetch)

    def run(*operands):
        if order is not None:
            operands = [*operands[:first], *[operands[first + i] for i in order]]
        return grids.run(wide, operands)

    return run


@pallas_call.rule("batch")
def batch_call(op, *operands):
    return batching.batched_call(pallas_call, op.params["call"], operands)


@interpreted.rule("lower")
def lower_interpreted(site, x):
    if site.platform != "cpu":
        raise NotOfferedError(
            f"a derivative of kernel {site['kernel']!r}, or what another transformation makes of it, is to "
            f"run on {site.platform}, where only the kernel itself is written\n"
            f"  where: {targets.position(site.where)}\n"
            "  to fix: give the function around pallas_call a derivative rule (rb.custom_vjp), with a kernel "
            "of its own; or pallas_call(..., interpret=True), which computes it by operations, more slowly"
        )
    return x


@interpreted.rule("transpose")
def transpose_interpreted(op, cotangent, x):
    return [op(cotangent)]


__all__ = ["interpreted", "pallas_call"]
