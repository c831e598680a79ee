"""A kernel as a module of Mosaic for TPUs."""

from rabbet.experimental.pallas.targets import Rules, Walker, shared_rules

from rabbet_pallas_tpu import arrays, memory, memrefs

RULES = Rules({**shared_rules, **arrays.RULES, **memory.RULES})


class Writer(Walker):
    """Writes a kernel's program in the dialects that Mosaic takes."""

    bitcast, into = "tpu.bitcast", "->"

    def __init__(self):
        super().__init__(RULES, "vector", located=True)

    def splat(self, name, aval, shape):
        if not tuple(shape):
            return name
        return self.emit(f"vector.broadcast {name} : {self.type(aval, ())} to {self.type(aval, shape)}")

    def cast(self, name, aval, old, new):
        """A vector in another shape with as many elements."""
        if tuple(old) == tuple(new):
            return name
        return self.emit(f"vector.shape_cast {name} : {self.type(aval, old)} to {self.type(aval, new)}")


def module(call, name):
    """The text of the module for a call."""
    grid, semantics = (call.grid, call.semantics) if call.grid else ((1,), ("arbitrary",))
    writer, ids = Writer(), [f"%g{d}" for d in range(len(grid))]
    prefetch = [memrefs.of_prefetched(writer, f"%p{n}", a) for n, a in enumerate(call.prefetch)]
    blocks = [*call.ins, *call.outs]
    states = [memrefs.of_block(writer, f"%a{n}", b) for n, b in enumerate(blocks)]
    scratch = [memrefs.of_scratch(writer, f"%s{n}", s) for n, s in enumerate(call.scratch)]
    head = [f"{i}: i32" for i in ids]
    given = [f"{m.name}: {m.type}" for m in (*prefetch, *states, *scratch)]
    own = ids[: len(call.grid)]
    sizes = [writer.emit(f"tpu.iteration_bound {d} : i32") for d, n in enumerate(call.grid) if n is None]
    writer.program(call.kernel, [*own, *sizes, *prefetch, *states, *scratch])
    windows, functions = [], []
    for n, block in enumerate(blocks):
        if not memrefs.is_window(block):
            windows.append("{}")
            continue
        windows.append(window(block, f"@transform_{n}"))
        functions.append(transform(call, block, n, ids, prefetch))
    words = ", ".join([f"#tpu.dimension_semantics<{s}>" for s in semantics])
    bounds = ", ".join([bound(n) for n in grid])
    attributes = (
        f"dimension_semantics = [{words}], iteration_bounds = array<i64: {bounds}>, "
        f"scalar_prefetch = {len(prefetch)} : i64, scratch_operands = {len(scratch)} : i64, "
        f"tpu.core_type = #tpu.core_type<tc>, window_params = [{', '.join(windows)}]"
    )
    opening = f"func.func @{name}({', '.join([*head, *given])}) attributes {{{attributes}}}"
    lines = "\n".join([f"  {opening} {{", *writer.lines, "    return", "  }", *functions])
    return f"module {{\n{lines}\n}}\n"


def bound(size):
    """The size of a grid dimension, or what stands for a computed one."""
    return str(-(2**63) if size is None else size)


def window(block, function):
    """What is said of a window: its size, and which function tells its place."""
    sizes = ", ".join(map(str, block.sizes))
    more = ""
    if any(type(d).__name__ == "Element" for d in block.dims):
        low = ", ".join([str(getattr(d, "padding", (0, 0))[0]) for d in block.dims])
        high = ", ".join([str(getattr(d, "padding", (0, 0))[1]) for d in block.dims])
        more = f", window_kind = #tpu.element_window<[{low}], [{high}]>"
    count = getattr(block.pipeline, "buffer_count", None)
    if count == 1:
        more += ", pipeline_mode = #tpu.pipeline_mode<synchronous>"
    return f"{{transform_indices = {function}, window_bounds = array<i64: {sizes}>{more}}}"


def transform(call, block, n, ids, prefetch):
    """The function that tells where a block is."""
    writer = Writer()
    sizes = [writer.emit(f"tpu.iteration_bound {d} : i32") for d, n in enumerate(call.grid) if n is None]
    outs = writer.program(block.index, [*ids[: len(call.grid)], *sizes, *prefetch])
    head = ", ".join([*[f"{i}: i32" for i in ids], *[f"{m.name}: {m.type}" for m in prefetch]])
    types = ", ".join(["i32"] * len(outs))
    end = f"    return {', '.join(outs)} : {types}"
    return "\n".join([f"  func.func @transform_{n}({head}) -> ({types}) {{", *writer.lines, end, "  }"])


__all__ = ["Writer", "module"]
