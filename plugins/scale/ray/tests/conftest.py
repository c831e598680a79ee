"""A small Ray cluster on this machine, for the tests that need one."""

import os

import pytest

CLUSTER = "RABBET_RAY_CLUSTER"
OBJECTS = 80 * 2**20  # bytes; Ray takes a third of the memory otherwise


@pytest.fixture(scope="session")
def cluster():
    """Ray with two CPUs, of this process alone; ended at the end."""
    if not os.environ.get(CLUSTER):
        pytest.skip(f"a Ray cluster takes a gigabyte and half a minute: tox run -e ray, or {CLUSTER}=1")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else a token is written to the home folder
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 otherwise: on a busy machine nothing comes of them
    ray = pytest.importorskip("ray")
    variables = {"RABBET_PLATFORMS": "cpu", "RABBET_NUM_CPU_DEVICES": "1"}
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=OBJECTS,
        log_to_driver=True,
        logging_level="warning",
        runtime_env={"env_vars": variables},
    )
    yield ray
    ray.shutdown()
