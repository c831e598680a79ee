"""Core, the CPU and one plugin with what it declares: a hidden dependency shows as a red line."""

import importlib.metadata
import os
import pathlib
import re
import tomllib

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

PLUGIN = os.environ.get("RABBET_ONE_PLUGIN", "")
ROOT = pathlib.Path(__file__).resolve().parents[2]

only = lambda name: pytest.mark.skipif(name != PLUGIN, reason=f"this environment is about {PLUGIN}")


def folder_of(name):
    """Where a package of ours lies: below ``plugins`` in the folder of its group."""
    if name == "core" or name.startswith("pjrt_"):
        return ROOT / name
    (folder,) = (file.parent for file in ROOT.glob(f"plugins/*/{name}/pyproject.toml"))
    return folder


def declared(folder):
    """The first-party distributions that a folder's project is and requires, and so on from these."""
    found, queue = set(), [folder]
    while queue:
        project = tomllib.loads((queue.pop() / "pyproject.toml").read_text())["project"]
        found.add(project["name"])
        names = [re.match(r"[A-Za-z0-9._-]+", line).group() for line in project["dependencies"]]
        ours = [n for n in names if n.startswith("rabbet-") and n not in found]
        folders = [n.removeprefix("rabbet-").replace("-", "_") for n in ours]
        queue += map(folder_of, folders)
    return found


@pytest.mark.skipif(not PLUGIN, reason="only where one plugin is installed")
def test_nothing_else_is_installed():
    ours = {d.name for d in importlib.metadata.distributions() if d.name.startswith("rabbet")}
    kit = declared(folder_of("testing"))  # what tests are written with
    assert ours == {"rabbet-pjrt-cpu"} | kit | declared(folder_of(PLUGIN))


@only("jit")
def test_jit():
    assert float(rb.jit(lambda x: lax.mul(x, x))(3.0)) == 9.0
    assert "mul a a" in str(rb.make_jaxpr(lambda x: lax.mul(x, x))(3.0))


@only("vmap")
def test_vmap():
    xs = np.arange(4, dtype=np.float32)
    assert rb.vmap(lambda x: lax.mul(x, x))(xs).tolist() == [0, 1, 4, 9]


@only("autodiff")
def test_autodiff():
    cube = lambda x: lax.mul(x, lax.mul(x, x))
    assert float(rb.grad(cube)(2.0)) == 12.0
    assert float(rb.grad(rb.grad(cube))(2.0)) == 12.0
    assert [float(x) for x in rb.jvp(cube, (2.0,), (1.0,))] == [8.0, 12.0]


@only("numpy")
def test_numpy():
    import rabbet.numpy as rnp

    assert rb.numpy is rnp
    assert rnp.sum(rnp.arange(4) * 2).tolist() == 12


@only("linalg")
def test_linalg():
    from rabbet.lax.linalg import cholesky

    assert lax.linalg.cholesky is cholesky
    assert cholesky(np.float32([[4, 2], [2, 5]])).tolist() == [[2, 0], [1, 2]]


@only("special")
def test_special():
    from rabbet.lax import lgamma

    assert lax.lgamma is lgamma and "igamma" in dir(lax)
    assert abs(float(lgamma(5.0)) - np.log(24)) < 1e-6


@only("convolution")
def test_convolution():
    from rabbet.lax import reduce_window

    assert lax.reduce_window is reduce_window and "conv_transpose" in dir(lax)
    line = np.float32([[[1, 2, 4, 7]]])
    assert lax.conv(line, np.float32([[[-1, 1]]]), (1,), "VALID").tolist() == [[[1, 2, 3]]]
    assert lax.reduce(line, 0.0, lax.add, (0, 1, 2)).tolist() == 14


@only("custom_rules")
def test_custom_rules():
    double = rb.custom_rules(lambda x: x * 2)
    assert double.def_rule("toast", len) is len
    assert float(double(3.0)) == 6.0


@only("collectives")
def test_collectives():
    from rabbet.extend.transform import bind_axes

    with bind_axes([("i", 3)]):
        assert lax.axis_size("i") == 3 and lax.psum(2, "i") == 6


@only("fft")
def test_fft():
    assert lax.fft(np.float32([1, 0, 0, 0]), lax.FftType.RFFT, (4,)).tolist() == [1, 1, 1]


@only("algorithms")
def test_algorithms():
    assert lax.sort(np.float32([3, 1, 2])).tolist() == [1, 2, 3] and "top_k" in dir(lax)
    assert lax.cumsum(np.float32([1, 2, 3])).tolist() == [1, 3, 6]


@only("nn")
def test_nn():
    assert rb.nn.relu(np.float32([-1, 2])).tolist() == [0, 2]
    assert abs(float(rb.nn.softmax(np.float32([0, 1])).sum()) - 1) < 1e-6


@only("random")
def test_random():
    key = rb.random.key(0)
    assert rb.random.uniform(key, (3,)).tolist() == rb.random.uniform(key, (3,)).tolist()


@only("image")
def test_image():
    halves = rb.image.resize(np.float32([0, 2, 4, 6]), (2,), "linear", antialias=False)
    assert halves.tolist() == [1, 5]


@only("ops")
def test_ops():
    assert rb.ops.segment_max(np.int32([3, 1, 2]), np.int32([1, 0, 1]), 2).tolist() == [1, 3]


@only("scipy")
def test_scipy():
    assert abs(float(rb.scipy.special.gamma(4.5)) - 11.631728) < 1e-5
    assert abs(float(rb.grad(rb.scipy.stats.norm.cdf)(0.0)) - 0.39894228) < 1e-6


@only("bfloat16")
def test_bfloat16():
    x = lax.convert_element_type(np.float32([1.00390625, 2.0]), "bfloat16")
    assert str(x.dtype) == "bfloat16"
    assert np.asarray(lax.convert_element_type(lax.add(x, x), np.float32)).tolist() == [2.0, 4.0]


@only("float8")
def test_float8():
    from rabbet.experimental import float8

    assert float(float8.dequantize(float8.quantize(np.float32(3.0)))) == 3.0


@only("int4")
def test_int4():
    x = lax.convert_element_type(np.float32([3.0, -8.0]), "int4")
    assert np.asarray(lax.convert_element_type(lax.add(x, x), np.int32)).tolist() == [6, 0]


@only("jet")
def test_jet():
    from rabbet.experimental.jet import jet

    value, terms = jet(lambda x: lax.mul(x, lax.sin(x)), (0.0,), ([1.0, 0.0],))
    assert [float(x) for x in (value, *terms)] == [0.0, 0.0, 2.0]


@only("progress")
def test_progress_is_silent_where_there_is_no_terminal(capfd):
    assert lax.add(1.0, 2.0).tolist() == 3.0
    assert capfd.readouterr().err == ""


@only("jax_compat")
def test_jax_compat():
    import rabbet_jax

    assert not rabbet_jax.installed() and rabbet_jax.report() == []


@only("checkify")
def test_checkify():
    from rabbet.experimental import checkify

    error, out = checkify.checkify(lax.log, errors=checkify.nan_checks)(-1.0)
    assert "nan generated by primitive: log" in error.get()
    assert np.isnan(float(out))


@only("sparse")
def test_sparse():
    from rabbet.experimental import sparse

    x = sparse.BCOO.fromdense(np.diag([1.0, 2.0]).astype(np.float32))
    assert (x @ np.ones(2, np.float32)).tolist() == [1, 2]
    assert sparse.grad(lambda x: (x @ np.ones(2, np.float32)).sum())(x).data.tolist() == [1, 1]


@only("passes")
def test_passes():
    from rabbet.extend.backend import lower_program
    from rabbet.extend.passes import stage
    from rabbet.extend.primitive import ShapedArray

    jaxpr = stage(lambda x: [lax.sin(x) + lax.sin(x)], [ShapedArray((), "float32")]).jaxpr
    assert lower_program(jaxpr).module.key_text.count("stablehlo.sine") == 1


@only("planning")
def test_planning():
    from rabbet import planning
    from rabbet.sharding import NamedSharding, PartitionSpec

    mesh = planning.topology("cpu:4").mesh({"x": 4})
    x = rb.ShapeDtypeStruct((4, 6), "float32", sharding=NamedSharding(mesh, PartitionSpec("x")))
    assert planning.plan(lambda x: lax.sin(x), x).memory.arguments == 24


@only("profiler")
def test_profiler():
    from rabbet import profiler

    with profiler.trace() as session, profiler.TraceAnnotation("alone"):
        lax.sin(1.0)
    names = {e.name for plane in session.planes for line in plane.lines for e in line.events}
    assert "alone" in names


@only("ffi")
def test_ffi():
    from rabbet import ffi

    with pytest.raises(rb.errors.CompileError, match="the function 'nobody' is not registered"):
        ffi.ffi_call("nobody", lax.sin(1.0))(1.0)


@only("test_util")
def test_test_util():
    from rabbet.test_util import check_grads

    check_grads(lambda x: lax.sin(x) * x, (0.5,), 2)


@only("export")
def test_export():
    from rabbet import export

    blob = export.export(rb.jit(lambda x: lax.sin(x)))(np.float32(1)).serialize(vjp_order=1)
    call = export.deserialize(blob).call
    assert abs(float(rb.grad(call)(np.float32(1))) - np.cos(1)) < 1e-6


@only("ode")
def test_ode():
    from rabbet.experimental.ode import odeint

    assert abs(float(odeint(lambda y, t: -y, 1.0, np.float32([0, 1]))[1]) - np.exp(-1)) < 1e-5


@only("safetensors")
def test_safetensors():
    data = rb.safetensors.dumps({"layers": [{"w": np.float32([1, 2])}]})
    assert rb.safetensors.loads(data)["layers.0.w"].tolist() == [1, 2]


@only("torch")
def test_torch():
    assert "from_torch" in dir(rb.torch)


@only("onnx")
def test_onnx():
    assert "export" in dir(rb.onnx)


@only("testing")
def test_testing():
    from rabbet.testing import LawError, Row, check_primitive
    from rabbet.testing.draws import some

    check_primitive(Row(lax.sin, np.sin, (some(2),), ("float32", "float64"), orders=1))
    with pytest.raises(LawError, match="sin in float32"):
        check_primitive(Row(lax.sin, np.cos, (some(2),), ("float32",), orders=0))
