"""What is given and is not what it should be: an error that names it, and no figure that makes no sense."""

import dataclasses

import pytest
import rabbet as rb
from rabbet import planning
from rabbet.errors import ConfigError, ShardingError

NAN, INF = float("nan"), float("inf")
USUAL = {"devices": 8, "peak": 1e12, "parameters": 1e9, "tokens": 500.0}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("devices", 0),
        ("peak", 0),
        ("peak", NAN),
        ("products", -1.0),
        ("stages", INF),
        ("tokens", "2"),
        ("price", 1j),
    ],
)
def test_figures_of_training(name, value):
    with pytest.raises(ConfigError, match=rf"{name} (is a number|must be finite)"):
        planning.training_of(1.0, **{**USUAL, name: value})


@pytest.mark.parametrize("given", [(NAN, 1.0), (1.0, 0.0), ([1], 1.0), (10**400, 1.0), (True, 1.0)])
def test_times_of_failures(given):
    with pytest.raises(ConfigError, match=r"goodput_of: (checkpoint|between_failures)"):
        planning.goodput_of(*given)


@pytest.mark.parametrize("name", ["bandwidth", "link", "host"])
@pytest.mark.parametrize("value", [0, -1.0, NAN, None, 10**400])
def test_speeds_of_hardware(name, value):
    with pytest.raises(ConfigError, match=f"Hardware: {name}"):
        dataclasses.replace(planning.hardware_of("v5e"), **{name: value})


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    "axes", [{"a": 2.5, "b": 2}, {"a": "4"}, {"a": True, "b": 4}, [("a", 4)], "a", {4: 4}]
)
def test_sizes_of_meshes_are_whole_numbers_by_name(axes):
    with pytest.raises(ShardingError, match="a mesh of 'cpu:4'"):
        planning.topology("cpu:4").mesh(axes)


@pytest.mark.parametrize("name", ["cpu:²", "cpu:0", "cpu:1e3", None, 4])
def test_names_of_topologies(name):
    with pytest.raises(ConfigError, match="topology"):
        planning.topology(name)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("cpu:2", "data"), "names of the mesh's axes"),
        (("cpu:2", ("data", "data")), "each once"),
        ((None, ("data",)), "on is a topology"),
        (("cpu:2", ("data",), 3), "layouts are a sequence"),
    ],
)
def test_what_a_sweep_is_given(given, says):
    with pytest.raises(ConfigError, match=f"sweep: .*{says}"):
        planning.sweep(lambda mesh: None, *given)
    with pytest.raises(ConfigError, match="sweep: budget must be finite"):
        planning.sweep(lambda mesh: None, "cpu:2", ("data",), budget=NAN)


@pytest.mark.parametrize("given", [{"hardware": "v5e"}, {"compiler_options": 7}])
def test_what_a_plan_is_given(given):
    with pytest.raises(TypeError, match=f"plan: {next(iter(given))} is a"):
        planning.plan(lambda x: x, rb.ShapeDtypeStruct((3,), "float32"), **given)
    with pytest.raises(TypeError, match="plan takes a function"):
        planning.plan(None)
