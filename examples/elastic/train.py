"""Train on handwritten digits, data-parallel over processes, one of which is lost and comes back.

    rabbet launch --elastic -n 3 examples/elastic/train.py --die-at 40 --out /tmp/elastic
    python examples/elastic/timeline.py /tmp/elastic

Each step takes the gradient of one batch, of which each process has its share. The batch of a step does not
depend on how many processes there are, so the parameters after all steps are those of a run without a loss,
up to rounding. Every ten steps a checkpoint is written.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import multihost_utils
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

BATCH = 96  # divisible by 1, 2 and 3 processes
SLOT = int(os.environ.get("RABBET_PROCESS_ID", 0))


def load():
    """Images as rows of 64 floats in 0..1, and labels; a fifth is held out."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    images, labels = (digits.data[order] / 16).astype(np.float32), digits.target[order].astype(np.int32)
    held_out = len(labels) // 5
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def initial():
    """The first parameters, as NumPy arrays."""
    draw = np.random.RandomState(1).normal
    return {
        "w1": (draw(size=(64, 128)) * np.sqrt(2 / 64)).astype(np.float32),
        "b1": np.zeros(128, np.float32),
        "w2": (draw(size=(128, 10)) * np.sqrt(1 / 128)).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }


def scores(params, images):
    """Ten scores for each image."""
    hidden = rb.nn.relu(images @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params, images, labels):
    """Mean cross-entropy."""
    logs = rb.nn.log_softmax(scores(params, images))
    return -rnp.mean(rnp.take_along_axis(logs, labels[:, None], axis=1))


class Group:
    """What has to be made anew whenever the processes are others: the mesh, and the step on it."""

    def __init__(self, data):
        mesh = rb.make_mesh((rb.device_count(),), ("data",))
        self.rows, self.everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
        self.images, self.labels = data

        def step(params, images, labels):
            value, gradient = rb.value_and_grad(loss)(params, images, labels)
            return rb.tree.map(lambda p, g: p - 0.5 * g, params, gradient), value

        self.step = rb.jit(step, out_shardings=(self.everywhere, self.everywhere))

    def batch(self, step):
        """The batch of a step, the same however many processes there are."""
        chosen = np.random.RandomState(step).randint(0, len(self.labels), BATCH)
        return rb.device_put(self.images[chosen], self.rows), rb.device_put(self.labels[chosen], self.rows)


def main():
    """Train; process 0 prints the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument(
        "--die-at", type=int, help="at this step the process started as number 1 kills itself, once"
    )
    parser.add_argument(
        "--pause", type=float, default=0.05, help="seconds between steps, so that there is a loss to see"
    )
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    def note(event, step):
        with open(args.out / f"events-{SLOT}.jsonl", "a") as log:
            log.write(json.dumps({"time": time.time(), "slot": SLOT, "event": event, "step": step}) + "\n")

    note("started", 0)
    rb.distributed.initialize(peer_timeout_seconds=10)
    training, held_out = load()
    checkpoints = rb.store.Checkpoints(args.out / "checkpoints", keep=2, timeout_seconds=30)
    died = args.out / "died"

    def settled():
        """The group, and the step and parameters of its last checkpoint."""
        group = Group(training)
        latest = checkpoints.latest() if rb.process_index() == 0 else 0
        step = int(multihost_utils.broadcast_one_to_all(np.int32(latest or 0)))
        state = checkpoints.load(step) if step else initial()
        note(f"in a group of {rb.process_count()}", step)
        return group, step, rb.device_put(state, group.everywhere)

    group, step, params = settled()
    while step < args.steps:
        try:
            if rb.distributed.joining():
                checkpoints.wait()
                rb.distributed.reform()
                group, step, params = settled()
                continue
            if step == args.die_at and SLOT == 1 and not died.exists():
                died.touch()
                note("killed", step)
                os.kill(os.getpid(), 9)
            params, value = group.step(params, *group.batch(step))
            step += 1
            note("step", step)
            if step % 10 == 0 and step not in checkpoints.steps():
                checkpoints.save(step, params)
            time.sleep(args.pause)
        except rb.errors.PeerLost as error:
            note(f"lost {list(error.ranks)}", step)
            checkpoints.abandon()  # one that is being written lacks the parts of the lost
            rb.distributed.reform()
            group, step, params = settled()
    checkpoints.wait()
    if rb.process_index() == 0:
        mine = rb.device_get(params)  # computed with here alone, and so on this process's devices
        guesses = np.argmax(scores(mine, held_out[0]), axis=1)
        print(f"accuracy {np.mean(guesses == held_out[1]):.4f}, loss {float(value):.4f}, after {step} steps")
    rb.distributed.shutdown()


if __name__ == "__main__":
    main()
