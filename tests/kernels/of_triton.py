"""Evaluate Triton IR: pointers are a buffer and offsets into it; a read outside of the buffer is an error."""

import dataclasses
import re

import evaluator
import numpy as np
from evaluator import Evaluator, attribute, integer, integers
from jaxlib.mlir import ir


@dataclasses.dataclass
class Pointers:
    """Places in a buffer of elements, one behind the other."""

    buffer: np.ndarray
    offsets: np.ndarray

    def checked(self, mask):
        inside = (self.offsets >= 0) & (self.offsets < self.buffer.size)
        assert np.all(inside | ~np.asarray(mask)), "an access outside of an array"
        return np.where(mask, self.offsets, 0)


ATOMIC = {
    "1": np.bitwise_and, "2": np.bitwise_or, "3": np.bitwise_xor, "4": np.add, "5": np.add, "6": np.maximum,
    "7": np.minimum, "8": np.maximum, "9": np.minimum, "10": lambda old, new: new,
}  # fmt: skip


class OfTriton(Evaluator):
    def more(self, op, args, env, shape, dtype):
        name = op.name.removeprefix("tt.")
        rule = getattr(self, f"op_{name}", None)
        assert rule is not None, f"the evaluator has no {op.name}"
        return rule(op, args, env, shape, dtype)

    def op_get_program_id(self, op, args, env, shape, dtype):
        return np.int32(self.ids[integer(op, "axis")])

    def op_splat(self, op, args, env, shape, dtype):
        x = args[0]
        if isinstance(x, Pointers):
            return Pointers(x.buffer, np.broadcast_to(x.offsets, pointer_shape(op)))
        return np.broadcast_to(x, shape)

    op_broadcast = op_splat

    def op_expand_dims(self, op, args, env, shape, dtype):
        return np.expand_dims(args[0], integer(op, "axis"))

    def op_reshape(self, op, args, env, shape, dtype):
        return np.reshape(args[0], shape)

    def op_make_range(self, op, args, env, shape, dtype):
        return np.arange(integer(op, "start"), integer(op, "end"), dtype=np.int32)

    def op_addptr(self, op, args, env, shape, dtype):
        return Pointers(args[0].buffer, args[0].offsets + np.asarray(args[1], np.int64))

    def op_bitcast(self, op, args, env, shape, dtype):
        if isinstance(args[0], Pointers):
            found = re.search(r"!tt.ptr<(\w+)>", str(op.results[0].type))
            return Pointers(args[0].buffer.view(evaluator.DTYPES[found[1]]), args[0].offsets)
        return np.ascontiguousarray(args[0]).view(dtype)

    def op_load(self, op, args, env, shape, dtype):
        mask = args[1] if len(args) > 1 else np.True_
        read = args[0].buffer[args[0].checked(mask)]
        return np.where(mask, read, args[2] if len(args) > 2 else read).astype(read.dtype)[()]

    def op_store(self, op, args, env, shape, dtype):
        mask = args[2] if len(args) > 2 else np.True_
        places = args[0].checked(mask)
        mask = np.broadcast_to(mask, np.shape(places))
        args[0].buffer[places[mask]] = np.broadcast_to(args[1], np.shape(places))[mask]

    def op_atomic_rmw(self, op, args, env, shape, dtype):
        mask = args[2] if len(args) > 2 else np.True_
        places = np.atleast_1d(args[0].checked(mask))
        old = args[0].buffer[places].copy()
        how = ATOMIC[str(integer(op, "atomic_rmw_op"))]
        mask = np.broadcast_to(mask, places.shape)
        for i, x, wanted in zip(
            places.flat, np.broadcast_to(args[1], places.shape).flat, mask.flat, strict=True
        ):
            if wanted:
                args[0].buffer[i] = how(args[0].buffer[i], x)
        return old.reshape(np.shape(args[0].offsets))[()]

    def op_atomic_cas(self, op, args, env, shape, dtype):
        at = args[0].offsets
        old = args[0].buffer[at].copy()
        if old == args[1]:
            args[0].buffer[at] = args[2]
        return old

    def op_trans(self, op, args, env, shape, dtype):
        return np.transpose(args[0], integers(op, "order"))

    def op_join(self, op, args, env, shape, dtype):
        return np.stack(args, axis=-1)

    def op_split(self, op, args, env, shape, dtype):
        return [args[0][..., 0], args[0][..., 1]]

    def op_dot(self, op, args, env, shape, dtype):
        return (np.matmul(*[np.asarray(x, np.float64) for x in args[:2]]) + args[2]).astype(dtype)

    def op_extern_elementwise(self, op, args, env, shape, dtype):
        symbol = str(attribute(op, "symbol")).strip('"').removeprefix("__nv_")
        symbol = symbol[:-1] if dtype == np.float32 else symbol
        return evaluator.in_wider(evaluator.LIBRARY[symbol])(*args)

    def op_reduce(self, op, args, env, shape, dtype):
        axis, body = integer(op, "axis"), op.regions[0].blocks[0]
        parts = [np.moveaxis(x, axis, 0) for x in args]
        total = [x[0] for x in parts]
        for k in range(1, len(parts[0])):
            total = self.combined(body, env, total, [x[k] for x in parts])
        return total[0] if len(total) == 1 else total

    def combined(self, body, env, total, new):
        env = {**env, **dict(zip(body.arguments, [*total, *new], strict=True))}
        return self.block(body, env)

    def op_scan(self, op, args, env, shape, dtype):
        axis, body = integer(op, "axis"), op.regions[0].blocks[0]
        back = str(attribute(op, "reverse")) == "true"
        (x,) = [np.moveaxis(x, axis, 0) for x in args]
        x = x[::-1] if back else x
        total = [x[0]]
        for part in x[1:]:
            total.append(self.combined(body, env, [total[-1]], [part])[0])
        return np.moveaxis(np.stack(total[::-1] if back else total), 0, axis)


def pointer_shape(op):
    found = re.match(r"tensor<((?:\d+x)*)", str(op.results[0].type))
    return tuple([int(n) for n in found[1].split("x")[:-1]])


def run(text, grid, operands, results, aliases=()):
    """The results of a kernel: ``results`` are pairs of a shape and a dtype, ``aliases`` pairs of numbers."""
    made = evaluator.context()
    module = evaluator.parsed(text, made)
    shared = {out: i for i, out in aliases}
    buffers = [in_memory(x) for x in operands]
    outs = [
        buffers[shared[i]] if i in shared else in_memory(evaluator.undefined(*r))
        for i, r in enumerate(results)
    ]
    with made, ir.Location.unknown():
        body = module.body.operations[0].operation.regions[0].blocks[0]
        start = [Pointers(x, np.int64(0)) for x in (*buffers, *outs)]
        for ids in np.ndindex(*grid[::-1]):
            OfTriton(ids[::-1]).block(body, dict(zip(body.arguments, start, strict=True)))
    return [
        (x.astype(bool) if np.dtype(dtype) == bool else x.view(dtype)).reshape(shape)
        for x, (shape, dtype) in zip(outs, results, strict=True)
    ]


def in_memory(x):
    """An array as it lies in memory: truth values are bytes, and integers have no sign."""
    x = np.array(x, order="C").reshape(-1)
    if x.dtype == bool:
        return x.astype(np.int8)
    return x.view(np.dtype(x.dtype.name[1:])) if x.dtype.kind == "u" else x
