"""What a step means for training, worked out by hand."""

import argparse

import pytest
import rabbet as rb
from rabbet import planning
from rabbet.errors import ConfigError
from rabbet_plan import command

pytestmark = pytest.mark.needs("cpu", "numpy")


def test_use_of_the_hardware():
    found = planning.training_of(
        2.0, devices=10, peak=1e12, parameters=1e9, tokens=1000, products=8e11, price=3.6
    )
    assert found.model_flops == 6e12 and found.mfu == pytest.approx(6e12 / 2e13)
    assert found.again == pytest.approx(8e12 / 6e12) and found.tokens_per_second == 500
    assert found.price == pytest.approx(3.6 * 10 / 3600 / 500 * 1e9)
    assert found.goodput == 1.0 and found.interval is None and found.bubbles == 0


def test_bubbles():
    assert planning.bubbles_of(1, 8) == 0 and planning.bubbles_of(4, 12) == 3 / 15
    assert planning.bubbles_of(4, 4, rounds=3) == 3 / 15
    found = planning.training_of(
        1.0, devices=1, peak=1e12, parameters=1, tokens=1, stages=4, microbatches=12
    )
    assert found.seconds == pytest.approx(1.25)
    with pytest.raises(ConfigError, match="at least 1"):
        planning.bubbles_of(0, 1)


def test_goodput_is_the_best_of_all_intervals():
    cost, mean, restart = 5.0, 9000.0, 60.0
    interval, share = planning.goodput_of(cost, mean, restart)
    assert interval == 300.0

    def kept(every):
        return 1 - cost / (every + cost) - (every / 2 + restart) / mean

    assert share == pytest.approx(kept(interval))
    assert share > kept(100) and share > kept(1000)
    assert planning.goodput_of(0.0, mean)[1] == 1.0
    with pytest.raises(ConfigError, match="checkpoint must be finite and at least 0"):
        planning.goodput_of(-1.0, mean)


def test_a_plan_tells_it_and_options_without_effect_are_refused(tmp_path, capsys):
    mesh = planning.topology("cpu:2").mesh({"x": 2})
    place = rb.sharding.NamedSharding(mesh, rb.sharding.PartitionSpec("x"))
    x = rb.ShapeDtypeStruct((64, 64), "float32", sharding=place)
    fast = planning.Hardware("a", "A", 1 << 30, 1e12, {"f32": 1e12}, 1e12, 1e9, 1, 1e9, 0.0, 0.0, "a test")
    found = planning.plan(lambda x: x @ x.T, x, hardware=fast)
    told = found.training(parameters=64 * 64, tokens=64, dtype="f32")
    assert told.again == pytest.approx(2 * 64**3 / (6 * 64**3))
    assert told.seconds == found.estimate.most
    with pytest.raises(ConfigError, match="no speeds are published"):
        planning.plan(lambda x: x + 1, x).training(1, 1)
    program = tmp_path / "program.py"
    program.write_text("def plan(mesh):\n    raise AssertionError\n")
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    given = [str(program), "--topology", "cpu:2", "--mesh", "x=2", "--price", "3"]
    assert command.run(parser.parse_args(given)) == 1
    assert "--price has an effect together with" in capsys.readouterr().err


def test_sweeps_try_options_and_keep_to_their_budget():
    from rabbet.sharding import NamedSharding
    from rabbet.sharding import PartitionSpec as P

    def program(mesh, rows=8):
        x = rb.ShapeDtypeStruct((rows, 8), "float32", sharding=NamedSharding(mesh, P("d")))
        return (lambda x: x.sum()), (x,)

    found = planning.sweep(program, "cpu:2", ("d",), options={"rows": (8, 16)})
    assert [t.options for t in found] == [{"rows": 8}, {"rows": 16}] and not any(t.problem for t in found)
    late = planning.sweep(program, "cpu:2", ("d",), options={"rows": (8, 16)}, budget=0.0)
    assert any("not tried" in t.problem for t in late)
    with pytest.raises(ConfigError, match="takes no 'remat'"):
        planning.sweep(program, "cpu:2", ("d",), options={"remat": ("all",)})
