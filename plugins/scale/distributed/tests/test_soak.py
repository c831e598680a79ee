"""Processes are killed at random moments, from their start to their end: nothing hangs, nobody else dies, and
who is left comes to the end with the right numbers. One run in each test run; with RABBET_SOAK=1 there are
RABBET_SOAK_RUNS of them (50).
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("rabbet_store")
Coordinator = pytest.importorskip("rabbet_distributed.coordinator").Coordinator

pytestmark = pytest.mark.needs("cpu", "numpy")
COUNT, LAST = 3, 60
RUNS = int(os.environ.get("RABBET_SOAK_RUNS", "50")) if os.environ.get("RABBET_SOAK") else 1
FIRST = int(os.environ.get("RABBET_SOAK_FIRST", "0"))
# What a victim has said last when it is killed: mostly that it has done a step.
EVENTS = ["", "started", "ready", *[f"step {step}\n" for step in range(1, LAST + 1)]]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + RUNS))
def test_killed_at_random_moments(together, tmp_path, seed):
    chance = random.Random(seed)
    together.limit = 1200  # jaxlib waits for minutes for the devices of who is killed before it has told them
    moments = sorted([chance.randrange(len(EVENTS)) for _ in range(chance.choice([1, 1, 2]))])
    delays = [chance.choice([0.0, chance.uniform(0.0, 0.3)]) for _ in moments]
    victims = chance.sample(range(COUNT), len(moments))
    replaced = chance.random() < 0.5
    port = together.free_port()
    env = {
        "RABBET_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
        "RABBET_COORDINATOR_STARTED": "1",
        "RABBET_NUM_PROCESSES": str(COUNT),
    }
    coordinator = Coordinator(f"127.0.0.1:{port}", COUNT)

    def start(slot):
        return together.start([together.programs / "soak.py", tmp_path / "checkpoints"],
                              {**env, "RABBET_PROCESS_ID": str(slot)})  # fmt: skip

    def said(child):
        return next(Path(out.name).read_text() for each, out in together.started if each is child)

    try:
        running = {slot: start(slot) for slot in range(COUNT)}
        first, killed, early = [*running.values()], [], False
        for moment, delay, victim in zip(moments, delays, victims, strict=True):
            child = running[victim]
            while EVENTS[moment] not in said(child) and child.poll() is None:
                time.sleep(0.01)
            time.sleep(delay)
            if child.poll() is not None:  # it has done its part
                continue
            early |= not all("ready" in said(each) for each in running.values())
            os.killpg(child.pid, signal.SIGKILL)
            killed.append(running.pop(victim))
            if replaced:
                running[victim] = start(victim)
        ended = together.wait()
    finally:
        together.close()
        coordinator.close()
    when = [(EVENTS[m], delay, victim) for m, delay, victim in zip(moments, delays, victims, strict=True)]
    about = f"seed {seed}, killed {when}, replaced: {replaced}, early: {early}\n{ended!r}"
    for (child, _), status, text in zip(together.started, ended.statuses, ended.said, strict=True):
        if child in killed:
            assert status == -signal.SIGKILL, about
        elif "ready" not in text and (early or child not in first):
            # It was never in a group, and says why: who was killed had not come, or nobody is left to join.
            assert status == 1 and ("TimeoutError" in text or "PeerLost" in text), about
        else:
            assert status == 0 and "has done 60" in text, about
