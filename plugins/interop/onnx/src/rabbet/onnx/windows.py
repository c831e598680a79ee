"""Convolutions and pooling: dimensions go into ONNX's order, batch and channels first, and back."""

import math

import numpy as np

from rabbet.onnx.layout import spread
from rabbet.onnx.rules import Unsupported, named


@named("conv_general_dilated")
def convolution(graph, eqn, x, kernel):
    params = eqn.params
    numbers = params["dimension_numbers"]
    if params["batch_group_count"] != 1:
        raise Unsupported(f"with batch_group_count={params['batch_group_count']}")
    out = eqn.outputs[0].aval
    image, weights = [v.name if v.dtype == out.dtype else graph.cast(v.name, out.dtype) for v in (x, kernel)]
    image = graph.transpose(image, numbers.lhs_spec)
    weights = graph.transpose(weights, numbers.rhs_spec)
    low, high = zip(*params["padding"], strict=True) if params["padding"] else ((), ())
    if any(n != 1 for n in params["lhs_dilation"]):
        zero = graph.constant(np.zeros((), out.dtype))
        shape = [x.shape[d] for d in numbers.lhs_spec]
        image = spread(graph, image, shape, [1, 1, *params["lhs_dilation"]], zero)
    if min((0, *low, *high)) < 0:
        zero = graph.constant(np.zeros((), out.dtype))
        image = graph.node("Pad", image, graph.constant([0, 0, *low, 0, 0, *high], np.int64), zero)
        low = high = (0,) * len(low)
    found = graph.node(
        "Conv", image, weights,
        strides=list(params["window_strides"]), dilations=list(params["rhs_dilation"]), pads=[*low, *high],
        group=params["feature_group_count"],
    )  # fmt: skip
    return graph.transpose(found, np.argsort(numbers.out_spec).tolist())


@named("reduce_window_max", "reduce_window_sum")
def pooling(graph, eqn, x):
    window = eqn.params["window"]
    if any(n != 1 for n in window.base_dilation):
        raise Unsupported("with elements spread apart")
    idle = [
        d for d in range(x.ndim)
        if window.sizes[d] == window.strides[d] == 1 and tuple(window.padding[d]) == (0, 0)
    ]  # fmt: skip
    moving = [d for d in range(x.ndim) if d not in idle]
    if not moving:
        return x.name
    if np.dtype(x.dtype).kind != "f":
        raise Unsupported(f"of {x.dtype}; ONNX pools floats")
    order = [*idle, *moving]
    shape = [x.shape[d] for d in moving]
    name = graph.transpose(x.name, order)
    name = graph.reshape(name, [1, math.prod(x.shape[d] for d in idle), *shape])
    low, high = zip(*[window.padding[d] for d in moving], strict=True)
    sizes = [window.sizes[d] for d in moving]
    common = {"kernel_shape": sizes, "strides": [window.strides[d] for d in moving]}
    dilation = [window.dilation[d] for d in moving]
    if eqn.primitive.name == "reduce_window_max":
        pads = graph.constant([0, 0, *low, 0, 0, *high], np.int64)
        lowest = graph.constant(np.asarray(-np.inf, x.dtype))
        name = graph.node("Pad", name, pads, lowest)

        def pooled(name):
            return graph.node("MaxPool", name, dilations=dilation, **common)

        def somewhere(booleans):
            """Whether one of the window's booleans holds."""
            return graph.cast(pooled(graph.cast(booleans, np.float32)), bool)

        # A runtime's pooling may pass NaNs over, and starts from the lowest finite number.
        nans = graph.node("IsNaN", graph.cast(name, np.float32) if np.dtype(x.dtype).kind == "V" else name)
        some = somewhere(graph.node("Or", nans, graph.node("Greater", name, lowest)))
        most = graph.node("Where", some, pooled(name), lowest)
        name = graph.node("Where", somewhere(nans), graph.constant(np.asarray(np.nan, x.dtype)), most)
    else:
        # A sum over windows is a convolution with ones, which any runtime has with dilations, too.
        zero = graph.constant(np.zeros((), x.dtype))
        name = graph.node("Pad", name, graph.constant([0, 0, *low, 0, 0, *high], np.int64), zero)
        channels = math.prod(x.shape[d] for d in idle)
        padded = [n + a + b for n, a, b in zip(shape, low, high, strict=True)]
        name = graph.reshape(name, [channels, 1, *padded])
        ones = graph.constant(np.ones((1, 1, *sizes), x.dtype))
        name = graph.node("Conv", name, ones, dilations=dilation, **common)
    out = eqn.outputs[0].aval.shape
    name = graph.reshape(name, [out[d] for d in order])
    return graph.transpose(name, np.argsort(order).tolist())
