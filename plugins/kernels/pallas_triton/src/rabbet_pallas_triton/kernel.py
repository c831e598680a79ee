"""A kernel as a module of Triton IR."""

import math

from rabbet.experimental.pallas.targets import Rules, Walker, shared_rules

from rabbet_pallas_triton import arrays, library_functions, memory, pointers

RULES = Rules({**shared_rules, **arrays.RULES, **memory.RULES, **library_functions.RULES})
# How many programs the second and the third dimension of a launch may have.
MOST = 65535


class Writer(Walker):
    """Writes a kernel's program in the dialect of Triton."""

    bitcast, into = "tt.bitcast", "->"

    def __init__(self):
        super().__init__(RULES, "tensor")

    def check_shape(self, shape):
        if not all(arrays.is_power(n) for n in shape):
            self.refuse(
                f"an array of shape {tuple(shape)}, whose sizes are not all powers of two",
                "blocks whose sizes are powers of two; what lies beyond an array is masked",
            )

    def splat(self, name, aval, shape):
        if not tuple(shape):
            return name
        return self.emit(f"tt.splat {name} : {self.type(aval, ())} -> {self.type(aval, shape)}")


def module(call, name):
    """The text of the module for a call, and the three sizes of its launch."""
    writer = Writer()
    arrays_of = [*call.prefetch, *[b.array for b in (*call.ins, *call.outs)]]
    names = [f"%arg{n}" for n in range(len(arrays_of))]
    arguments = ", ".join([argument(writer, n, a) for n, a in zip(names, arrays_of, strict=True)])
    ids, grid = program_ids(writer, call.grid)
    prefetch = [pointers.whole(writer, n, a) for n, a in zip(names, call.prefetch, strict=False)]
    states = []
    for n, block in zip(names[len(prefetch) :], (*call.ins, *call.outs), strict=True):
        at = writer.program(block.index, [*ids, *prefetch])
        states.append(pointers.block(writer, n, block, at))
    writer.program(call.kernel, [*ids, *prefetch, *states])
    lines = "\n".join(writer.lines)
    return (
        f"module {{\n  tt.func public @{name}({arguments}) {{\n{lines}\n    tt.return\n  }}\n}}\n",
        grid,
    )


def argument(writer, name, aval):
    return f"{name}: !tt.ptr<{pointers.stored(writer, aval.dtype)}> {{tt.divisibility = 16 : i32}}"


def program_ids(writer, grid):
    """The names of a program's indices, and the sizes of the launch."""
    if len(grid) <= 3 and all(n <= MOST for n in grid[1:]):
        ids = [writer.emit(f"tt.get_program_id {'xyz'[d]} : i32") for d in range(len(grid))]
        return ids, (*grid, 1, 1, 1)[:3]
    rest, ids = writer.emit("tt.get_program_id x : i32"), []
    for n in reversed(grid[1:]):
        size = writer.i32(n)
        ids.append(writer.emit(f"arith.remsi {rest}, {size} : i32"))
        rest = writer.emit(f"arith.divsi {rest}, {size} : i32")
    return [rest, *ids[::-1]], (math.prod(grid), 1, 1)


__all__ = ["Writer", "module"]
