"""Orbax: two processes save an array that lies over the devices of both, and read it back."""

import pathlib
import socket
import subprocess
import sys
import tempfile

import jax
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

if len(sys.argv) == 1:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        both = [
            subprocess.Popen([*sys.orig_argv, port, str(rank), folder], stdout=subprocess.PIPE, text=True)
            for rank in range(2)
        ]
        print(*[float(word) for each in both for word in each.communicate()[0].splitlines()[-1].split()])
    sys.exit(max(each.returncode for each in both))

port, rank, folder = sys.argv[1:]
jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(rank))
mesh = jax.make_mesh((jax.device_count(),), ("x",), axis_types=(AxisType.Auto,))
host = np.arange(32, dtype=np.float32).reshape(8, 4)


def laid(values, *spec):
    where = NamedSharding(mesh, PartitionSpec(*spec))
    return jax.make_array_from_callback(values.shape, where, lambda index: values[index])


tree = {"rows": laid(host, "x"), "all": laid(host[0])}
options = ocp.CheckpointManagerOptions(max_to_keep=2)
with ocp.CheckpointManager(pathlib.Path(folder), options=options) as manager:
    for step in range(3):
        manager.save(step, args=ocp.args.StandardSave(tree))
    manager.wait_until_finished()
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), tree)
    back = manager.restore(manager.latest_step(), args=ocp.args.StandardRestore(like))
    steps = manager.all_steps()
same = [np.array_equal(shard.data, host[shard.index]) for shard in back["rows"].addressable_shards]
print(int(all(same)), float(back["all"].sum()), *steps)
