"""What ``run`` checks before anything starts; no cluster is needed."""

import importlib
import subprocess
import sys

import pytest
from rabbet.errors import ConfigError, PeerLost

rabbet_ray = pytest.importorskip("rabbet_ray")
plan = importlib.import_module("rabbet_ray.plan")


def planned(function=print, args=(), **changed):
    given = {
        "processes": 2, "resources": None, "strategy": "PACK", "restarts": 3, "elastic": False,
        "retried": False, "seconds": 300, "devices": None, "runtime_env": None, **changed,
    }  # fmt: skip
    return plan.planned(function, args, **given)


def test_what_was_not_said():
    made = planned()
    assert made.resources == {"CPU": 1} and made.retried == () and made.runtime_env == {}


def test_variables_of_the_environment_are_joined():
    made = planned(devices=4, runtime_env={"working_dir": ".", "env_vars": {"A": "b"}})
    assert made.runtime_env == {
        "working_dir": ".", "env_vars": {"A": "b", "RABBET_NUM_CPU_DEVICES": "4"},
    }  # fmt: skip
    assert planned(retried=[OSError, KeyError]).retried == (OSError, KeyError)
    assert planned(resources={"CPU": 0, "GPU": 0.5}).resources == {"GPU": 0.5}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"function": 3}, "the function to call, got 3"),
        ({"processes": 0}, "processes must be a whole number from 1, got 0"),
        ({"processes": 2.0}, "processes must be a whole number"),
        ({"processes": True}, "processes must be a whole number"),
        ({"restarts": -1}, "restarts must be a whole number from 0, got -1"),
        ({"strategy": "TIGHT"}, "strategy must be one of PACK, .*STRICT_SPREAD, got 'TIGHT'"),
        ({"seconds": 0}, "start_timeout_seconds must be a positive number, got 0"),
        ({"seconds": float("nan")}, "start_timeout_seconds must be a positive number"),
        ({"resources": 4}, "resources_per_process is a dict"),
        ({"resources": {"num_gpus": 1}}, "Ray calls this resource 'GPU', got 'num_gpus'"),
        ({"resources": {"CPU": -1}}, "'CPU' must be a number from 0, got -1"),
        ({"resources": {"CPU": 0}}, "needs some resource"),
        ({"retried": "OSError"}, "retry_exceptions is True, False or a list of types"),
        ({"devices": 0}, "cpu_devices must be a whole number from 1, got 0"),
    ],
)  # fmt: skip
def test_what_cannot_be(changed, said):
    with pytest.raises(ConfigError, match=f"^rabbet_ray.run: .*{said}"):
        planned(**changed)


def test_importing_it_does_not_import_ray():
    done = subprocess.run(
        [sys.executable, "-c", "import rabbet_ray, sys; sys.exit('ray' in sys.modules)"], check=False
    )
    assert done.returncode == 0 and rabbet_ray.attempt() == 0


def test_processes_of_one_machine_follow_each_other():
    pytest.importorskip("ray")
    placement = importlib.import_module("rabbet_ray.placement")
    assert placement.by_node(["b", "a", "b", "a"]) == [0, 2, 1, 3]
    assert placement.by_node([None, None]) == [0, 1]
    assert placement.short_of(planned(resources={"CPU": 1, "GPU": 1}), {"CPU": 2, "GPU": 1}) == ["GPU"]


def test_who_is_to_blame():
    exceptions = pytest.importorskip("ray.exceptions")
    outcomes = importlib.import_module("rabbet_ray.outcomes")
    from rabbet.distributed import DifferentPrograms

    def raised(cause):
        return exceptions.RayTaskError("call", "Traceback", cause).as_instanceof_cause()

    loss = outcomes.Outcome(0, error=raised(PeerLost("process 1 is gone", (1,))), lost=(1,))
    assert loss.blames and "process 0 raised PeerLost: process 1 is gone" in loss.told()
    for cause in (ValueError("no"), DifferentPrograms("other text", (1,))):
        assert not outcomes.Outcome(0, error=raised(cause)).blames
    assert not outcomes.Outcome(1, error=exceptions.RayActorError(), gone=True).blames
