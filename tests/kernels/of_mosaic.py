"""Evaluate Mosaic text for TPUs: memrefs are NumPy arrays, windows are moved around each program."""

import re

import evaluator
import numpy as np
from evaluator import Evaluator, attribute, integers
from jaxlib.mlir import ir

REDUCE = {
    "add": np.sum, "mul": np.prod, "maximumf": np.max, "minimumf": np.min, "maxsi": np.max, "minsi": np.min,
    "and": np.bitwise_and.reduce, "or": np.bitwise_or.reduce,
}  # fmt: skip


def box(starts, sizes, shape, steps=None):
    """The index of a part, which must lie within the memory."""
    steps = steps or [1] * len(sizes)
    found = []
    for start, size, n, step in zip(starts, sizes, shape, steps, strict=True):
        assert int(start) >= 0 and int(start) + (size - 1) * step < n, "an access outside of a memory"
        found.append(slice(int(start), int(start) + (size - 1) * step + 1, step))
    return tuple(found)


class OfMosaic(Evaluator):
    def more(self, op, args, env, shape, dtype):
        rule = getattr(self, f"op_{op.name.replace('.', '_')}", None)
        assert rule is not None, f"the evaluator has no {op.name}"
        return rule(op, args, shape, dtype)

    def op_vector_broadcast(self, op, args, shape, dtype):
        return np.broadcast_to(args[0], shape)

    def op_vector_shape_cast(self, op, args, shape, dtype):
        return np.reshape(args[0], shape)

    def op_vector_extract(self, op, args, shape, dtype):
        return args[0][tuple(integers(op, "static_position"))]

    def op_vector_extract_strided_slice(self, op, args, shape, dtype):
        starts, sizes, steps = [integers(op, n) for n in ("offsets", "sizes", "strides")]
        return args[0][tuple([slice(a, a + n * s, s) for a, n, s in zip(starts, sizes, steps, strict=True)])]

    def op_vector_multi_reduction(self, op, args, shape, dtype):
        kind = re.search(r"<(\w+)>", str(attribute(op, "kind")))[1]
        axes = tuple(integers(op, "reduction_dims"))
        wide = args[0].astype(np.float64) if args[0].dtype.kind not in "bi" else args[0]
        return np.asarray(REDUCE[kind](wide, axis=axes)).astype(dtype)

    def op_vector_load(self, op, args, shape, dtype):
        return args[0][box(args[1:], shape, args[0].shape)].copy()

    def op_tpu_strided_load(self, op, args, shape, dtype):
        return args[0][box(args[1:], shape, args[0].shape, integers(op, "strides"))].copy()

    def op_tpu_vector_store(self, op, args, shape, dtype):
        value, memory, *starts = args
        memory[box(starts, value.shape, memory.shape)] = value

    def op_tpu_strided_store(self, op, args, shape, dtype):
        value, memory, *starts = args
        if not str(op.operands[1].type).startswith("memref"):
            memory, value = value, memory
        memory[box(starts, value.shape, memory.shape, integers(op, "strides"))] = value

    def op_memref_load(self, op, args, shape, dtype):
        return args[0][box(args[1:], [1] * args[0].ndim, args[0].shape)].reshape(())[()]

    def op_memref_store(self, op, args, shape, dtype):
        value, memory, *starts = args
        memory[box(starts, [1] * memory.ndim, memory.shape)] = value

    def op_memref_alloca(self, op, args, shape, dtype):
        return evaluator.undefined(shape, dtype)

    def op_tpu_iota(self, op, args, shape, dtype):
        d = integers(op, "dimensions")[-1]
        line = np.arange(shape[d]).reshape([-1 if k == d else 1 for k in range(len(shape))])
        return np.broadcast_to(line, shape).astype(dtype)

    def op_tpu_transpose(self, op, args, shape, dtype):
        return np.transpose(args[0], integers(op, "permutation"))

    op_vector_transpose = op_tpu_transpose

    def op_tpu_concatenate(self, op, args, shape, dtype):
        return np.concatenate(args, axis=int(ir.IntegerAttr(attribute(op, "dimension")).value))

    def op_tpu_bitcast(self, op, args, shape, dtype):
        assert args[0].dtype.itemsize == np.dtype(dtype).itemsize, "bits of another width"
        return np.ascontiguousarray(args[0]).view(dtype)

    def op_tpu_dynamic_rotate(self, op, args, shape, dtype):
        return np.roll(args[0], int(args[1]), int(ir.IntegerAttr(attribute(op, "dimension")).value))

    def op_tpu_matmul(self, op, args, shape, dtype):
        left, right = re.search(r"<\[(\d)\], \[(\d)\]", str(attribute(op, "dimension_numbers"))).groups()
        wide = [np.asarray(x, np.float64) for x in args[:2]]
        return (np.tensordot(*wide, ((int(left),), (int(right),))) + args[2]).astype(dtype)

    def op_tpu_memref_slice(self, op, args, shape, dtype):
        return args[0][box(args[1:], shape, args[0].shape)]

    def op_tpu_memref_squeeze(self, op, args, shape, dtype):
        return args[0].reshape(shape)

    def op_tpu_memref_bitcast(self, op, args, shape, dtype):
        raise AssertionError("the evaluator does not see memory as other elements")

    def op_tpu_sem_alloc(self, op, args, shape, dtype):
        return np.zeros(shape, np.int64)

    def op_tpu_enqueue_dma(self, op, args, shape, dtype):
        source, target, semaphore = args
        target[...] = source
        semaphore += 1

    def op_tpu_wait_dma2(self, op, args, shape, dtype):
        assert np.all(args[0] > 0), "a wait for a copy that nobody started"
        np.subtract(args[0], 1, out=args[0])

    def op_tpu_sem_signal(self, op, args, shape, dtype):
        np.add(args[0], int(args[1]), out=args[0])

    def op_tpu_sem_wait(self, op, args, shape, dtype):
        assert np.all(args[0] >= int(args[1])), "a wait that nobody ends"
        np.subtract(args[0], int(args[1]), out=args[0])

    def op_tpu_iteration_bound(self, op, args, shape, dtype):
        return np.int32(self.ids[int(ir.IntegerAttr(attribute(op, "dim")).value)])

    def op_tpu_sem_read(self, op, args, shape, dtype):
        return np.int32(args[0].reshape(())[()])


def bounds(window):
    text = str(window)
    if "window_bounds" not in text:
        return None
    return [int(n) for n in re.findall(r"\d+", text.split("window_bounds = array<i64")[1].split(">")[0])]


def run(text, grid, prefetch, operands, results, scratch, aliases=()):
    """The results of a kernel. ``scratch`` are pairs of a shape and a dtype (None: semaphores)."""
    prefetch = [unsigned(np.array(x)) for x in prefetch]  # a kernel may write to them
    made = evaluator.context()
    module = evaluator.parsed(text, made)
    shared = {out: i for i, out in aliases}
    arrays = [unsigned(np.array(x, order="C")) for x in operands]
    outs = [
        arrays[shared[i]] if i in shared else unsigned(evaluator.undefined(*r)) for i, r in enumerate(results)
    ]
    own = [np.zeros(s, np.int64) if d is None else unsigned(evaluator.undefined(s, d)) for s, d in scratch]
    with made, ir.Location.unknown():
        functions = [f.operation for f in module.body.operations]
        names = [str(f.attributes["sym_name"]).strip('"') for f in functions]
        transforms = {n: f for n, f in zip(names, functions, strict=True) if n.startswith("transform_")}
        kernel = next(f for n, f in zip(names, functions, strict=True) if n not in transforms)
        windows = [bounds(w) for w in ir.ArrayAttr(kernel.attributes["window_params"])]
        body = kernel.regions[0].blocks[0]
        for ids in np.ndindex(*(grid or (1,))):
            one_program(body, grid, ids, prefetch, [*arrays, *outs], windows, transforms, own)
    return [
        (x.astype(bool) if np.dtype(dtype) == bool else x.view(dtype)).reshape(shape)
        for x, (shape, dtype) in zip(outs, results, strict=True)
    ]


def unsigned(x):
    """An array as it lies in memory: truth values are i32, and integers have no sign."""
    if x.dtype == bool:
        return x.astype(np.int32)
    return x.view(np.dtype(x.dtype.name[1:])) if x.dtype.kind == "u" else x


def one_program(body, grid, ids, prefetch, whole, windows, transforms, own):
    """Move windows in, run the program, and move them back."""
    ids = [np.int32(i) for i in ids]
    states, back = [], []
    for n, (array, sizes) in enumerate(zip(whole, windows, strict=True)):
        if sizes is None:
            states.append(array)
            continue
        block = transforms[f"transform_{n}"].regions[0].blocks[0]
        at = OfMosaic(grid).block(block, dict(zip(block.arguments, [*ids, *prefetch], strict=True)))
        part = tuple([slice(int(i) * z, int(i) * z + z) for i, z in zip(at, sizes, strict=True)])
        assert all(0 <= s.start < n for s, n in zip(part, array.shape, strict=True)), (
            "a block outside of an array"
        )
        inside = tuple([slice(0, m) for m in array[part].shape])
        window = evaluator.undefined(sizes, array.dtype)
        window[inside] = array[part]
        states.append(window)
        back.append((array, part, window, inside))
    OfMosaic(grid).block(body, dict(zip(body.arguments, [*ids, *prefetch, *states, *own], strict=True)))
    for array, part, window, inside in back:
        array[part] = window[inside]
