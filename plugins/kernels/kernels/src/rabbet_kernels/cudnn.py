"""Attention by cuDNN's fused kernels, for ``rabbet.nn.dot_product_attention(implementation="cudnn")``.

XLA's compiler for GPUs knows the calls; cuDNN makes a kernel of one where the program is compiled on a GPU,
and says there what it cannot do. Ahead of time, without a GPU, the compiler reads the description of a call
and builds nothing: float32 passes, which cuDNN does not have. So what it does not have is refused here.
"""

import functools
import json

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.extend.native import NativeCalls
from rabbet.nn.implementations import Attention

from rabbet_kernels.attention import plain
from rabbet_kernels.attention_parts import Options

DTYPES = {"bfloat16": "BF16", "float16": "F16"}
NO_ROOM = rb.ShapeDtypeStruct((0,), "uint8")  # for the work; on a GPU the compiler makes it larger
MOST_SIZE, MULTIPLE = 256, 8
# A mask is a bias: about the least number of either dtype, so that sums stay finite.
LEAST = {"bfloat16": -(2.0**41), "float16": -6e4}


def why_not(platform, query, key, value, asked):
    """What was asked for that cuDNN does not have, or None; all are types."""
    size = query.shape[-1]
    time, other = query.shape[3], key.shape[2]
    if str(query.dtype) not in DTYPES or not query.dtype == key.dtype == value.dtype:
        given = f"not {query.dtype}, {key.dtype}, {value.dtype}"
        return "takes bfloat16 or float16, the same for all three", given
    if not all(isinstance(n, int) and n > 0 for n in (*query.shape, *key.shape)):
        return "needs sizes that are known", f"not {query.shape}"
    if value.shape[-1] != size or size > MOST_SIZE or size % MULTIPLE:
        return f"takes heads of a multiple of {MULTIPLE} and at most {MOST_SIZE}", f"not {size}"
    if not isinstance(asked.scale, (int, float)):
        return "needs a scale that is a number", f"not {type(asked.scale).__name__}"
    if asked.segments is not None:
        return "has no segment_ids", "leave them out, or pass a mask"
    if asked.window is not None and (not asked.is_causal or pair(asked.window)[1]):
        return "has a local_window_size (before, 0), with is_causal=True", f"not {asked.window}"
    for name in ("bias", "mask"):
        x = getattr(asked, name)
        if x is not None and tuple(x.shape[3:]) != (time, other):
            return f"takes a {name} for all pairs {(time, other)}", f"not {tuple(x.shape[3:])}"
    return None


def pair(window):
    return window if isinstance(window, tuple) else (window, window)


def attend(platform, query, key, value, asked):
    """As ``rabbet_kernels.attention.attend``."""
    batch, heads, group, time, size = query.shape
    other = key.shape[2]
    lengths: tuple = ()
    if asked.query_lengths is not None or asked.key_lengths is not None:
        pairs = (asked.query_lengths, time), (asked.key_lengths, other)
        full = lambda n: rnp.full((batch,), n, "int32")
        lengths = tuple([full(n) if x is None else rnp.asarray(x).astype("int32") for x, n in pairs])
    window = None if asked.window is None else pair(asked.window)
    options = Options(float(asked.scale), asked.is_causal, window, group, 0, 0, bool(lengths))
    flat = lax.reshape(query, (batch, heads * group, time, size))
    bias = as_bias(asked, heads * group, query.dtype)
    if not asked.residual:
        return [lax.reshape(fused(options, flat, key, value, bias, lengths), query.shape)]
    out, logs = with_logs(options, flat, key, value, bias, lengths)
    logs = lax.convert_element_type(lax.reshape(logs, query.shape[:-1]), query.dtype)
    return [lax.reshape(out, query.shape), logs]


def as_bias(asked, heads, dtype):
    """A bias and a mask as one bias, ``(batch or 1, heads or 1, time, other time)``, in a tuple, or ()."""
    flat = lambda x: lax.reshape(x, (x.shape[0], heads if x.shape[1] * x.shape[2] > 1 else 1, *x.shape[3:]))
    found = () if asked.bias is None else (flat(asked.bias).astype(dtype),)
    if asked.mask is None:
        return found
    beside = rnp.where(flat(asked.mask), 0.0, LEAST[str(dtype)]).astype(dtype)
    return (found[0] + beside if found else beside,)


@functools.partial(rb.custom_rules, nondiff_argnums=(0,))
def fused(options, query, key, value, bias, lengths):
    """The means. ``bias`` and ``lengths`` are tuples, empty if there are none."""
    return forward(options, query, key, value, bias, lengths)[0]


@functools.partial(rb.custom_rules, nondiff_argnums=(0,))
def with_logs(options, query, key, value, bias, lengths):
    """The means and the logarithms of the sums."""
    return forward(options, query, key, value, bias, lengths)


def forward(options, query, key, value, bias, lengths):
    batch, heads, time, _ = query.shape
    struct = rb.ShapeDtypeStruct
    results = [struct(query.shape, query.dtype), struct((batch, heads, time), "float32"), NO_ROOM]
    numbers = {"bmm1": ((3,), (3,)), "bmm2": ((3,), (2,))}
    operands = query, key, value, *bias, *lengths
    out, logs, _ = call("Softmax", options, numbers, results, operands, bool(bias))
    return out, logs


@fused.def_rule("vjp")
def fused_vjp(options, query, key, value, bias, lengths):
    out, logs = with_logs(options, query, key, value, bias, lengths)

    def pull(given):
        struct = lambda x: rb.ShapeDtypeStruct(x.shape, x.dtype)
        results = [*map(struct, (query, key, value, *bias)), NO_ROOM]
        numbers = {
            "bmm1_grad_gemm1": ((2,), (2,)), "bmm1_grad_gemm2": ((3,), (2,)), "bmm2_grad_gemm1": ((2,), (2,)),
            "bmm2_grad_gemm2": ((3,), (3,)),
        }  # fmt: skip
        operands = query, key, value, logs, given.astype(query.dtype), *bias, out, *lengths
        *found, _ = call("SoftmaxBackward", options, numbers, results, operands, bool(bias))
        return (*found[:3], tuple(found[3:]), None)

    return out, pull


@with_logs.def_rule("vjp")
def with_logs_vjp(*_):
    raise NotImplementedError(
        "dot_product_attention: implementation='cudnn' has no derivative of what return_residual returns\n"
        "  to fix: leave implementation= out, or return_residual="
    )


@fused.def_rule("jvp")
def fused_jvp(options, primals, tangents):
    """In forward mode by plain operations."""
    *arrays, lengths = primals
    return rb.jvp(lambda *xs: directly(options, lengths, *xs)[0], tuple(arrays), tuple(tangents[:4]))


@with_logs.def_rule("jvp")
def with_logs_jvp(options, primals, tangents):
    *arrays, lengths = primals
    return rb.jvp(lambda *xs: directly(options, lengths, *xs), tuple(arrays), tuple(tangents[:4]))


def directly(options, lengths, query, key, value, bias):
    """By plain operations."""
    known = lengths[1] if lengths else rnp.full(query.shape[:1], key.shape[2], "int32")
    return plain(options, query, key, value, known, {"bias": bias[0]} if bias else {})


def call(name, options, numbers, results, operands, has_bias):
    """A call of a fused kernel; queries and keys come first, all arrays have heads before time."""
    target = f"__cudnn$fmha{'ScaleBias' if has_bias else ''}{name}"
    description = {
        "algorithm": {
            "algo_id": "0", "math_type": "TENSOR_OP_MATH", "tuning_knobs": {"17": "1", "24": "0"},
            "is_cudnn_frontend": True, "workspace_size": "0",
        },
        "fmha_scale": options.scale, "intermediate_tensor_shape": scores_type(*operands[:2]),
        "is_flash_attention": True, "mask_type": mask_type(options),
        **{f"{n}_dot_dimension_numbers": dimension_numbers(*pair) for n, pair in numbers.items()},
        "dropout_rate": 0.0, "seed": 42, "max_seg_per_batch": 1, "is_paged_attention": False,
        "sliding_window_length": 0 if options.window is None else options.window[0] + 1,
    }  # fmt: skip
    config = json.dumps({"operation_queue_id": "0", "cudnn_fmha_backend_config": description})
    one = rb.ffi.ffi_call(
        target, results, vmap_method="sequential", custom_call_api_version=2, legacy_backend_config=config
    )
    return one(*operands)


def scores_type(query, key):
    """The type of all products at once, which are never in memory, as XLA writes a shape."""
    sizes = [str(n) for n in (*query.shape[:3], key.shape[2])]
    invalid = "PRIMITIVE_TYPE_INVALID"
    layout = {
        "dim_level_types": [], "dim_unique": [], "dim_ordered": [], "minor_to_major": ["3", "2", "1", "0"],
        "tiles": [], "element_size_in_bits": "0", "memory_space": "0", "index_primitive_type": invalid,
        "pointer_primitive_type": invalid, "dynamic_shape_metadata_prefix_bytes": "0",
    }  # fmt: skip
    return {
        "element_type": DTYPES[str(query.dtype)], "dimensions": sizes, "tuple_shapes": [], "layout": layout,
        "is_dynamic_dimension": [False] * 4,
    }  # fmt: skip


def mask_type(options):
    """``bounded`` says that there are lengths."""
    if options.bounded:
        return "PADDING_CAUSAL" if options.is_causal else "PADDING"
    return "CAUSAL" if options.is_causal else "NO_MASK"


def dimension_numbers(left, right):
    """Of a product of matrices, behind batch and heads, by the dimensions that are summed up."""
    batch = ["0", "1"]
    return {
        "lhs_contracting_dimensions": [str(d) for d in left],
        "rhs_contracting_dimensions": [str(d) for d in right],
        "lhs_batch_dimensions": batch,
        "rhs_batch_dimensions": batch,
    }


CALLS = NativeCalls("cudnn-attention", ("__cudnn$fmha*",))
FUSED = Attention("cudnn", ("cuda",), why_not=why_not, attend=attend, by_default=False)

__all__ = ["CALLS", "FUSED", "attend", "fused", "why_not"]
