"""``rabbet plan``, the names of topologies, and what is said of wrong ones."""

import argparse
import json

import pytest
import rabbet as rb
from rabbet import planning
from rabbet.errors import ConfigError, ShardingError
from rabbet_plan import command

pytestmark = pytest.mark.needs("cpu", "numpy")
PROGRAM = """
import rabbet as rb
from rabbet import numpy as rnp
from rabbet.sharding import NamedSharding, PartitionSpec as P

AXES = ("data", "model")


def step(w, x):
    return rnp.tanh(x @ w).sum()


def plan(mesh, layout="columns"):
    cut = {"columns": P(None, "model"), "whole": P()}[layout]
    w = rb.ShapeDtypeStruct((64, 128), "float32", sharding=NamedSharding(mesh, cut))
    x = rb.ShapeDtypeStruct((256, 64), "float32", sharding=NamedSharding(mesh, P("data")))
    return step, (w, x)


def nothing(mesh):
    return step
"""


def main(arguments):
    """What ``rabbet plan`` does with these arguments: its exit status."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(arguments))


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "trained.py"
    path.write_text(PROGRAM)
    return str(path)


def test_what_it_prints(program, capsys):
    assert main([program, "--topology", "cpu:8", "--mesh", "data=4,model=-1"]) == 0
    out = capsys.readouterr().out
    assert "step on cpu:8: 8 x cpu, 1 host, mesh data=4, model=2" in out
    for word in (
        "memory",
        "arguments 32.0 KiB",
        "collectives in a step",
        "over data",
        "FLOP",
        "no estimate",
        "trained.py:",
        "varied programs took 1.00 to 1.29 of it",
    ):
        assert word in out


def test_json_layout_and_the_usual_mesh(program, tmp_path, capsys):
    target = tmp_path / "plan.json"
    assert main([program, "--topology", "cpu:4", "--layout", "whole", "--json", str(target)]) == 0
    found = json.loads(target.read_text())
    assert (
        found["mesh"] == {"data": 4, "model": 1}
        and found["memory"]["arguments"] == 64 * 128 * 4 + 64 * 64 * 4
    )
    capsys.readouterr()
    assert main([program, "--topology", "cpu:4", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["mesh"] == {"data": 4, "model": 1}


WRONG = [
    (["--topology", "v5x:2x4"], "no hardware is called 'v5x'; did you mean v5"),
    (["--topology", "cpu:none"], "is not a topology of CPU devices: give a number, as in cpu:8"),
    (["--topology", "cpu:0"], "is not a topology of CPU devices"),
    (
        ["--topology", "cpu:8", "--mesh", "data=3,model=2"],
        "has 8 devices, and a mesh of data=3, model=2 has 6",
    ),
    (["--topology", "cpu:8", "--mesh", "data"], "axes are written as name=size"),
    (["--topology", "cpu:8", "--function", "other"], "has no function 'other'"),
    (["--topology", "cpu:8", "--function", "nothing"], "must return (step, arguments)"),
    (["--topology", "cpu:8", "--mesh", "rows=8"], "names the axis"),
]


@pytest.mark.parametrize("arguments, words", WRONG)
def test_messages(program, capsys, arguments, words):
    assert main([program, *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("rabbet plan: ") and words in error


def test_a_file_that_is_not_there(capsys):
    assert main(["nowhere.py", "--topology", "cpu:2"]) == 1
    assert "there is no file 'nowhere.py'" in capsys.readouterr().err
    assert main(["no_such_module_here", "--topology", "cpu:2"]) == 1
    assert "there is no module 'no_such_module_here'" in capsys.readouterr().err


def test_names_of_hardware():
    from rabbet_plan.topologies import split

    assert split("v5e:2x4") == ("tpu", "v5e:2x4") and split("tpu7x:2x2x1") == ("tpu", "tpu7x:2x2x1")
    assert split("h100:8") == ("cuda", "h100:8") and split("1x32x8") == ("cuda", "h100:1x32x8")
    assert split("a100-40gb:8") == ("cuda", "a100-40gb:8") and split("cpu:64") == ("cpu", "64")
    assert split("cuda/my.textproto") == ("cuda", "my.textproto") and split("tpu:v5e:2x2") == (
        "tpu",
        "v5e:2x2",
    )
    assert split("tpu/v5e:2x4") == ("tpu", "v5e:2x4")
    with pytest.raises(ConfigError, match="named by a text"):
        split(8)
    with pytest.raises(ConfigError, match="up to 1024 can be stood in for"):
        planning.topology("cpu:1000000")


def test_a_step_without_shardings_and_a_wrong_mesh():
    with pytest.raises(ShardingError, match=r"(?s)no argument of .f. has a sharding.*topology\(\"cpu:8\"\)"):

        def f(x):
            return x

        planning.plan(f, rb.ShapeDtypeStruct((4,), "float32"))
    with pytest.raises(ShardingError, match="sizes that fit have the product 4"):
        planning.topology("cpu:4").mesh({"a": 3})
    with pytest.raises(ShardingError, match="sizes that fit"):
        planning.topology("cpu:4").mesh({"a": -1, "b": -1})


@pytest.mark.parametrize("more, arguments, message", [
    ("AXES = 3", (), "AXES in the program is a tuple of names"),
    ("AXES = 'data'", (), "AXES in the program is a tuple of names"),
    ("LAYOUTS = 7", (), "LAYOUTS in the program is a tuple"),
    ("OPTIONS = ['a']", (), "OPTIONS in the program is a dict of tuples"),
    ("def plan(mesh): return step, (), 5", (), "the keywords of the step are a dict, got int"),
    ("raise SystemExit(3)", (), "ended with the exit status 3 when it was imported"),
    ("def f(:", (), "line 22"),
    ("raise ValueError('of its own')", (), "line 22, in <module>"),
    ("def plan(mesh): return (lambda x: x), (1.0, 2.0)", (), "1 positional argument"),
    ("", ("--budget", "3"), "--budget has no effect here: it is for --sweep"),
    ("", ("--sweep", "--mesh", "data=2"), "--mesh has no effect here: --sweep tries all meshes"),
    ("", ("--quick",), "--quick has no effect on cpu:2: it is for TPUs"),
    ("", ("--sweep", "--quick"), "--quick has no effect here: --sweep tries all meshes"),
    ("", ("--sweep", "--price", "2"), "--price has no effect here"),
    ("", ("--sweep", "--budget", "nan"), "--budget must not be negative, and finite"),
    ("", ("--top", "-1"), "--top must not be negative"),
])  # fmt: skip
def test_what_is_wrong_is_said_without_a_trace_of_rabbets(tmp_path, capsys, more, arguments, message):
    path = tmp_path / "odd.py"
    path.write_text(PROGRAM + more + "\n")
    assert main([str(path), "--topology", "cpu:2", *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("rabbet plan: ") and message in said
    assert "rabbet_plan" not in said


def test_a_module_without_a_name_is_said(capsys):
    assert main([":plan", "--topology", "cpu:2"]) == 1
    assert "'' is no module's name" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["between_failures", "price", "checkpoint", "restart"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_figures_of_training_are_finite(name, value):
    given = {"devices": 8, "peak": 1e12, "parameters": 1e9, "tokens": 500, "between_failures": 10.0}
    with pytest.raises(ConfigError, match="finite"):
        planning.training_of(1.0, **{**given, name: value})
