"""What clusters tell a process in its environment, with environments made up after their manuals."""

import sys
import types

import pytest
from rabbet.errors import ConfigError

pytest.importorskip("rabbet_distributed")
from rabbet_distributed.clusters import (
    FIRST_PORT,
    METHODS,
    Place,
    complete,
    first_host,
    from_kubernetes,
    port_of,
)

SLURM = {
    "SLURM_JOB_ID": "4711", "SLURM_STEP_NODELIST": "node[007-009,012],other", "SLURM_NTASKS": "64",
    "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5", "SLURM_LOCALID": "1",
}  # fmt: skip
OPEN_MPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}  # fmt: skip
OPEN_MPI_5 = {
    "PMIX_NAMESPACE": "prterun-host-4242@1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}  # fmt: skip
TORCHRUN = {
    "MASTER_ADDR": "head", "MASTER_PORT": "29500", "WORLD_SIZE": "6", "RANK": "4", "LOCAL_RANK": "0",
}  # fmt: skip
KUBERNETES = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "2", "RABBET_NUM_PROCESSES": "3"}


@pytest.mark.parametrize(
    ("env", "place"),
    [
        (SLURM, Place(f"node007:{FIRST_PORT + 4711 - 4096}", 8, 5, (1,))),
        (OPEN_MPI, Place(f"10.96.0.1:{port_of(1531576320)}", 4, 3, (1,))),
        (OPEN_MPI_5, Place(f"127.0.0.1:{port_of(42421)}", 2, 1, (1,))),
        (TORCHRUN, Place("head:29501", 6, 4, (0,))),
        (
            {"RABBET_COORDINATOR_ADDRESS": "a:1", "RABBET_NUM_PROCESSES": "2", "RABBET_PROCESS_ID": "0"},
            Place("a:1", 2, 0, None),
        ),
        (
            {"JAX_COORDINATOR_ADDRESS": "a:1", "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "1",
             "JAX_LOCAL_DEVICE_IDS": "2,3"},
            Place("a:1", 2, 1, (2, 3)),
        ),
        ({**SLURM, "RABBET_COORDINATOR_ADDRESS": "mine:5"}, Place("mine:5", 8, 5, (1,))),
    ],
)  # fmt: skip
def test_the_environment_tells(env, place):
    assert complete(Place(), env=env) == place


def test_what_is_given_counts_first():
    given = Place("there:1", None, 7, None)
    assert complete(given, env=SLURM) == Place("there:1", 8, 7, (1,))
    assert complete(Place("a:1", 2, 1, None), env=SLURM) == Place("a:1", 2, 1, None)
    assert complete(Place(), "slurm", {**SLURM, **TORCHRUN}).num_processes == 8
    assert complete(Place(), "torchrun", {**SLURM, **TORCHRUN}).num_processes == 6


def test_launched_within_a_job():
    launched = {
        "RABBET_COORDINATOR_ADDRESS": "127.0.0.1:5", "RABBET_NUM_PROCESSES": "2", "RABBET_PROCESS_ID": "1",
    }  # fmt: skip
    for cluster in (SLURM, OPEN_MPI, TORCHRUN, KUBERNETES):
        for method in (None, "slurm"):
            assert complete(Place(), method, {**cluster, **launched}) == Place("127.0.0.1:5", 2, 1, None)
    one_each = {**SLURM, **launched, "RABBET_LOCAL_DEVICE_IDS": "3"}
    assert complete(Place(), env=one_each).local_device_ids == (3,)


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("node1", "node1"), ("a,b", "a"), ("n[3,5-7]", "n3"), ("n[08-11]-ib", "n08-ib"), ("x[1-2],y", "x1")],
)
def test_first_host_of_a_list(nodes, first):
    assert first_host(nodes) == first


def test_pods_of_an_indexed_job():
    place = from_kubernetes(KUBERNETES, lambda: "train-2.workers.default.svc.cluster.local")
    assert place == Place(f"train-0.workers.default.svc.cluster.local:{FIRST_PORT}", None, 2)
    assert from_kubernetes(KUBERNETES, lambda: "elsewhere") == Place(None, None, 2)
    assert from_kubernetes({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) is None


def test_mpi4py_is_asked_for_by_name(monkeypatch):
    class World:
        bcast = staticmethod(lambda value, root: value)
        Get_size, Get_rank = staticmethod(lambda: 2), staticmethod(lambda: 1)
        Split_type = classmethod(lambda cls, kind: cls)

    fake = types.ModuleType("mpi4py.MPI")
    fake.COMM_WORLD, fake.COMM_TYPE_SHARED = World, 0
    monkeypatch.setitem(sys.modules, "mpi4py", types.ModuleType("mpi4py"))
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", fake)
    place = complete(Place(), "mpi4py", {})
    assert place[1:] == (2, 1, (1,)) and ":" in place.coordinator_address


def test_messages():
    with pytest.raises(
        ConfigError, match=r"not known: coordinator_address, num_processes, process_id\n.*launch"
    ):
        complete(Place(), env={})
    with pytest.raises(ConfigError, match=r"not known: num_processes"):
        complete(Place("a:1", None, 0), "deactivate", env=SLURM)
    with pytest.raises(ConfigError, match=r"must be one of slurm, .*, got 'flux'"):
        complete(Place(), "flux", env={})
    with pytest.raises(ConfigError, match="process_id must be from 0"):
        complete(Place("a:1", 2, 2), env={})
    with pytest.raises(ConfigError, match="SLURM_PROCID must be a whole number, got 'x'"):
        complete(Place(), env={**SLURM, "SLURM_PROCID": "x"})
    assert set(METHODS) == {"slurm", "ompi", "torchrun", "k8s", "mpi4py"}
