"""The primitive ``pallas_call``: a kernel run for each program of a grid."""

from rabbet.extend.primitive import Primitive

from rabbet_pallas import grids, targets


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


@pallas_call.decompose
def programs(op, *operands):
    return grids.run(op.params["call"], operands)


@pallas_call.rule("lower")
def lower_call(site, *names):
    call = site["call"]
    write = None if call.interpret else targets.writer(call, site.platform, site.where)
    if write is None:
        return site.write(lambda *operands: grids.run(call, operands), site.in_avals, names)
    return targets.written(write, site, call, names)


__all__ = ["pallas_call"]
