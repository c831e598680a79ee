"""``implementation="cudnn"``: the calls that are written, and what is refused. Values need a GPU."""

import json
import re

import numpy as np
import pytest
import rabbet as rb

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "nn", "numpy")
SHAPE = (2, 32, 4, 64)
Q = rb.ShapeDtypeStruct(SHAPE, "bfloat16")
BIAS = rb.ShapeDtypeStruct((1, 4, 32, 32), "bfloat16")
LENGTHS = np.array([32, 20], "int32")


def attention(q, k, v, bias=None, **more):
    return rb.nn.dot_product_attention(q, k, v, bias, implementation="cudnn", **more)


def calls(f, *types):
    """(target, types of operands, types of results, description) of each fused call."""
    text = rb.jit(f).trace(*types).lower(platforms=("cuda",)).as_text()
    found = []
    for line in text.splitlines():
        if "__cudnn" in line:
            target = re.search(r'@"__cudnn\$fmha(\w+)"', line)[1]
            config = json.loads(re.search(r'backend_config = "(.*?)", ', line)[1].replace("\\22", '"'))
            ins, outs = line[line.rindex("} : ") + 4 :].split(" -> ")
            types = [re.findall(r"tensor<([\w]+)>", part) for part in (ins, outs)]
            assert "api_version = 2" in line
            found.append((target, *types, config["cudnn_fmha_backend_config"]))
    return found


def gradient(f, numbers=(0, 1, 2)):
    return rb.grad(lambda *xs: f(*xs).astype("float32").sum(), numbers)


HEADS, LOGS, ROOM, PAIRS = "2x4x32x64xbf16", "2x4x32xf32", "0xui8", "1x4x32x32xbf16"


def test_forward_and_backward():
    (forward,) = calls(lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.5), Q, Q, Q)
    assert forward[:3] == ("Softmax", [HEADS] * 3, [HEADS, LOGS, ROOM])
    assert forward[3]["mask_type"] == "CAUSAL" and forward[3]["fmha_scale"] == 0.5
    assert forward[3]["intermediate_tensor_shape"]["dimensions"] == ["2", "4", "32", "32"]
    _, backward = calls(gradient(attention), Q, Q, Q)
    # Queries, keys, values, logarithms, the cotangent, means.
    assert backward[:3] == (
        "SoftmaxBackward", [HEADS, HEADS, HEADS, LOGS, HEADS, HEADS], [HEADS, HEADS, HEADS, ROOM],
    )  # fmt: skip
    sums = {
        name: (n["lhs_contracting_dimensions"], n["rhs_contracting_dimensions"])
        for name, n in backward[3].items()
        if name.endswith("numbers")
    }
    assert sums == {
        "bmm1_grad_gemm1_dot_dimension_numbers": (["2"], ["2"]),
        "bmm1_grad_gemm2_dot_dimension_numbers": (["3"], ["2"]),
        "bmm2_grad_gemm1_dot_dimension_numbers": (["2"], ["2"]),
        "bmm2_grad_gemm2_dot_dimension_numbers": (["3"], ["3"]),
    }


def test_a_bias_and_its_derivative():
    forward, backward = calls(gradient(attention, (0, 3)), Q, Q, Q, BIAS)
    assert forward[:2] == ("ScaleBiasSoftmax", [HEADS] * 3 + [PAIRS])
    assert backward[0] == "ScaleBiasSoftmaxBackward"
    assert backward[1] == [HEADS, HEADS, HEADS, LOGS, HEADS, PAIRS, HEADS]
    assert backward[2] == [HEADS, HEADS, HEADS, PAIRS, ROOM]
    mask = lambda q, k, v: attention(q, k, v, mask=np.tri(32, dtype=bool)[None, None])
    assert calls(mask, Q, Q, Q)[0][1][3] == "1x1x32x32xbf16"


def test_lengths_windows_and_grouped_heads():
    few = rb.ShapeDtypeStruct((2, 32, 2, 64), "bfloat16")
    more = {"is_causal": True, "local_window_size": (9, 0), "key_value_seq_lengths": LENGTHS}
    (found,) = calls(lambda q, k, v: attention(q, k, v, **more), Q, few, few)
    assert found[1] == [HEADS, "2x2x32x64xbf16", "2x2x32x64xbf16", "2xi32", "2xi32"]
    assert (found[3]["mask_type"], found[3]["sliding_window_length"]) == ("PADDING_CAUSAL", 10)
    _, backward = calls(gradient(lambda q, k, v: attention(q, k, v, query_seq_lengths=LENGTHS)), Q, Q, Q)
    assert backward[1][-2:] == ["2xi32", "2xi32"] and backward[3]["mask_type"] == "PADDING"


WRONG = [
    ("bfloat16 or float16", {"dtype": "float32"}),
    ("a multiple of 8 and at most 256 .not 63", {"size": 63}),
    ("a multiple of 8 and at most 256 .not 264", {"size": 264}),
    ("no segment_ids", {"segment_ids": np.zeros((2, 32), "int32")}),
    ("local_window_size", {"local_window_size": (4, 4), "is_causal": True}),
    ("local_window_size", {"local_window_size": (4, 0)}),
    (r"a bias for all pairs \(32, 32\)", {"bias": np.zeros((1, 4, 1, 32), "float32")}),
]


@pytest.mark.parametrize(("said", "given"), WRONG)
def test_what_is_refused_by_name(said, given):
    given = dict(given)
    size, dtype = given.pop("size", 64), given.pop("dtype", "bfloat16")
    x = rb.ShapeDtypeStruct((2, 32, 4, size), dtype)
    with pytest.raises(ValueError, match=f"implementation='cudnn'.*{said}.*\n  to fix: None"):
        rb.eval_shape(lambda q, k, v: attention(q, k, v, **given), x, x, x)


def test_other_platforms_and_residuals_are_refused():
    x = np.ones(SHAPE, "float16")
    with pytest.raises(NotImplementedError, match="no branch for the platform 'cpu'"):
        attention(x, x, x)
    loss = lambda q, k, v: attention(q, k, v, return_residual=True)[1].astype("float32").sum()
    with pytest.raises(NotImplementedError, match="return_residual"):
        calls(rb.grad(loss), Q, Q, Q)


def test_mapped_and_in_forward_mode():
    many = rb.ShapeDtypeStruct((3, *SHAPE), "bfloat16")
    assert calls(rb.vmap(attention), many, many, many)
    tangent = rb.jit(lambda *xs: rb.jvp(attention, xs, xs)[1]).trace(Q, Q, Q).lower(platforms=("cuda",))
    assert "dot_general" in tangent.as_text()  # of plain operations
