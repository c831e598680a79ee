"""Programs on a small Ray cluster of this machine: what they return, and what happens when a process is lost.

Functions that run there stand within a test, so that Ray sends them along.
"""

import importlib.util
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rabbet.errors import PeerLost

rabbet_ray = pytest.importorskip("rabbet_ray")

pytestmark = [
    pytest.mark.needs("cpu", "numpy", "distributed"),
    pytest.mark.filterwarnings("ignore"),  # of Ray's own
]
STEPS = 8


@pytest.fixture
def steps():
    """A program that adds up products over all processes, and resumes from its last checkpoint. Its numbers
    are whole, so the order of additions does not matter.
    """
    pytest.importorskip("rabbet.store")

    def main(folder, die_at=None, how="self"):
        import os
        import signal
        from pathlib import Path

        import rabbet as rb
        import rabbet_ray
        from rabbet.sharding import NamedSharding
        from rabbet.sharding import PartitionSpec as P

        def parent(pid):
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]

        rb.distributed.initialize()
        mesh = rb.make_mesh((rb.device_count(),), ("data",))
        rows, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
        step = rb.jit(lambda w, x: w + (x * x).sum(0), out_shardings=everywhere)
        checkpoints = rb.store.Checkpoints(folder, keep=2)
        latest = checkpoints.latest()
        if latest is None:
            begin, w = 0, rb.device_put(np.zeros(3, np.float32), everywhere)
        else:
            begin, w = latest, checkpoints.load(latest, shardings=everywhere)
        for i in range(begin, STEPS):
            if i == die_at and rb.process_index() == 1 and rabbet_ray.attempt() == 0:
                victim = os.getpid()
                if how == "coordinator":
                    (victim,) = [
                        int(each.parent.name)
                        for each in Path("/proc").glob("[0-9]*/cmdline")
                        if b"rabbet_distributed.coordinator" in each.read_bytes()
                        and parent(parent(each.parent.name)) == str(os.getppid())
                    ]
                os.kill(victim, signal.SIGKILL)
            x = rb.device_put(np.arange(12, dtype=np.float32).reshape(4, 3) + i, rows)
            w = step(w, x)
            checkpoints.save(i + 1, w, wait=True)
        return np.asarray(w), begin, rabbet_ray.attempt(), rb.process_index(), rb.process_count()

    return main


def expected():
    w = np.zeros(3, np.float32)
    for i in range(STEPS):
        w += ((np.arange(12, dtype=np.float32).reshape(4, 3) + i) ** 2).sum(0)
    return w


@pytest.mark.parametrize("how", [None, "self", "coordinator"])
def test_the_numbers_are_the_same_whatever_is_lost(cluster, steps, tmp_path, how, caplog):
    with caplog.at_level(logging.WARNING, "rabbet.ray"):
        found = rabbet_ray.run(steps, tmp_path, 5 if how else None, how, processes=2)
    for rank, (w, begin, attempt, index, count) in enumerate(found):
        np.testing.assert_array_equal(w, expected())
        assert (begin, attempt, index, count) == (5 if how else 0, 1 if how else 0, rank, 2)
    said = [record.getMessage() for record in caplog.records]
    if how is None:
        assert said == []
    else:
        who = "process 1" if how == "self" else "the coordinator"
        assert len(said) == 1 and "all are started again (1 of 3)" in said[0], said
        assert how != "self" or f"{who} has ended" in said[0], said


def test_only_the_lost_one_is_started_again(cluster, caplog):
    def main():
        import os
        import signal
        import time

        import rabbet as rb
        from rabbet.experimental import multihost_utils as utils

        rb.distributed.initialize()

        def settled(step):
            return int(utils.broadcast_one_to_all(np.int32(step)))

        step, sizes = settled(0), []
        while not (sizes[-1:] == [2] and step >= 6):
            try:
                if rb.distributed.joining():
                    rb.distributed.reform()
                    step = settled(step)
                    continue
                if step == 3 and os.environ["RABBET_PROCESS_ID"] == "1" and rabbet_ray.attempt() == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                assert utils.process_allgather(np.int32(step)).tolist() == [step] * rb.process_count()
                sizes.append(rb.process_count())
                step += 1
                time.sleep(0.05)
            except PeerLost:
                rb.distributed.reform()
                step = settled(step)
        return os.getpid(), rabbet_ray.attempt(), sorted(set(sizes))

    with caplog.at_level(logging.WARNING, "rabbet.ray"):
        (_, first, sizes), (_, second, _) = rabbet_ray.run(main, elastic=True)
    assert (first, second) == (0, 1) and sizes[-1] == 2
    (said,) = [record.getMessage() for record in caplog.records]
    assert "process 1 has ended" in said and "it is started again (1 of 3)" in said


def test_restarts_are_used_up(cluster):
    def main():
        import os
        import time

        import rabbet as rb

        rb.distributed.initialize()
        if rb.process_index() == 1:
            os._exit(3)
        time.sleep(600)  # Python code that looks at nobody: it is ended all the same

    with pytest.raises(PeerLost, match=r"process 1 has ended .*, after 1 restart") as caught:
        rabbet_ray.run(main, restarts=1)
    assert caught.value.ranks == (1,)


def test_what_a_function_raises(cluster):
    def main(exit):
        import os
        import sys
        import time

        rank = int(os.environ["RABBET_PROCESS_ID"])
        if rabbet_ray.attempt() == 0:
            if rank == 0:
                time.sleep(600)
            if exit:
                sys.exit(7)
            raise ValueError("on purpose")
        return rank

    with pytest.raises(ValueError, match="on purpose") as caught:
        rabbet_ray.run(main, False)
    assert "raised in process 1 of 2 on Ray" in caught.value.__notes__
    assert rabbet_ray.run(main, False, retry_exceptions=[ValueError]) == [0, 1]
    with pytest.raises(RuntimeError, match="exit status 7"):
        rabbet_ray.run(main, True, retry_exceptions=[ValueError])


def test_no_room(cluster, caplog):
    with pytest.raises(TimeoutError, match=r"no room for 3 processes of \{CPU: 1\} each") as caught:
        rabbet_ray.run(print, processes=3, start_timeout_seconds=1)
    assert "the cluster has {CPU: 2" in str(caught.value) and "ask for less CPU" in str(caught.value)
    assert "too little CPU" in caplog.text
    assert rabbet_ray.run(lambda: 1, processes=1) == [1]  # what was asked for in vain is given back


def test_the_example(cluster, tmp_path):
    program = Path(__file__).resolve().parents[4] / "examples" / "ray" / "train.py"
    if not program.exists() or not importlib.util.find_spec("rabbet_store"):
        pytest.skip("needs the repository and rabbet-store")
    env = {**os.environ, "RAY_ADDRESS": cluster.get_runtime_context().gcs_address, "RABBET_PLATFORMS": "cpu"}
    command = [sys.executable, str(program), "--die-at", "25", "--out", str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "y = 3.00" in done.stdout and "all are started again (1 of 3)" in done.stderr, done
    assert "begins at step 0" in done.stdout and "begins at step 20" in done.stdout, done
