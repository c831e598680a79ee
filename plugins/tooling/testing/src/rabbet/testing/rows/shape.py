"""Rows of ``primitives/shape.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import scalar, some
from rabbet.testing.table import Row

DTYPES = ("float32", "float64", "bfloat16", "int32", "bool", "complex64")


def row(primitive, reference, params, *shapes, note="", orders=2):
    inputs = tuple([some(*shape) if shape else scalar() for shape in shapes or ((2, 3),)])
    return Row(primitive, reference, inputs, DTYPES, params, note, orders)


def broadcast(shape, out, dims):
    def reference(x):
        full = [1] * len(out)
        for size, d in zip(x.shape, dims, strict=True):
            full[d] = size
        return np.broadcast_to(x.reshape(full), out)

    return row(
        family.broadcast_in_dim,
        reference,
        {"shape": out, "broadcast_dimensions": dims},
        shape,
        note=f"{shape} to {out}",
    )


def pad(config, *shape):
    def reference(x, value):
        for d, (_, _, interior) in enumerate(config):
            if interior:
                x = np.insert(x, np.repeat(np.arange(1, x.shape[d]), interior), value, axis=d)
        x = np.pad(x, [(max(lo, 0), max(hi, 0)) for lo, hi, _ in config], constant_values=value)
        return x[
            tuple(slice(max(-lo, 0), n - max(-hi, 0)) for (lo, hi, _), n in zip(config, x.shape, strict=True))
        ]

    return row(family.pad, reference, {"padding_config": config}, shape, (), note=str(config))


def cut(starts, limits, strides, *shape):
    def reference(x):
        steps = strides or [1] * len(starts)
        return x[tuple(slice(*triple) for triple in zip(starts, limits, steps, strict=True))]

    params = {"start_indices": starts, "limit_indices": limits, "strides": strides}
    return row(family.slice, reference, params, shape, note=str(strides))


ROWS = [
    broadcast((), (2, 3), ()),
    broadcast((3,), (2, 3), (1,)),
    broadcast((2, 1), (2, 4, 3), (0, 2)),
    broadcast((1, 3), (2, 3), (0, 1)),
    row(family.reshape, lambda x: x.reshape(3, 2), {"new_sizes": (3, 2)}),
    row(family.reshape, lambda x: x.reshape(2, 1, 3, 1), {"new_sizes": (2, 1, 3, 1)}, note="ones"),
    row(family.squeeze, lambda x: x.reshape(2, 3), {"dimensions": (0, 2)}, (1, 2, 1, 3)),
    row(family.expand_dims, lambda x: x.reshape(1, 2, 1, 3), {"dimensions": (0, 2)}),
    row(family.transpose, lambda x: x.transpose(2, 0, 1), {"permutation": (2, 0, 1)}, (2, 3, 4)),
    row(family.rev, lambda x: x[::-1, ::-1], {"dimensions": (0, 1)}),
    row(family.rev, lambda x: x[:, ::-1], {"dimensions": (1,)}, note="one"),
    cut((1, 0), (4, 3), None, 5, 3),
    cut((1, 0), (5, 3), (3, 2), 5, 3),
    cut((2, 1), (2, 3), (1, 1), 5, 3),
    pad(((1, 2, 0), (0, 0, 0)), 2, 3),
    pad(((0, 1, 2), (1, 0, 1)), 2, 3),
    pad(((-1, 1, 0), (2, -2, 1)), 3, 4),
    row(family.concatenate, lambda *a: np.concatenate(a, 1), {"dimension": 1}, (2, 3), (2, 1), (2, 2)),
    row(family.concatenate, lambda *a: np.concatenate(a, 0), {"dimension": 0}, (2,), (3,), note="vectors"),
    Row(
        family.iota, lambda: np.broadcast_to(np.arange(3), (2, 3)), (),
        ("float32", "int32", "complex64", "bfloat16", "uint8"),
        lambda dtype: {"dtype": dtype, "shape": (2, 3), "dimension": 1},
        apart={"batching": "it has no operands"},
    ),
]  # fmt: skip

__all__ = ["ROWS"]
