"""What the five programs share: running beside the same thing on one device, and types for `rabbet plan`.

A program has `AXES` (of its mesh), `arguments()` (arrays on the host), `specs()` (how each of them lies),
`alone` (what it computes, written for one device) and `spread(mesh)` (the same over the mesh). `sends(n)` is
what each of n devices sends in a step: how many collective operations of a kind there are, and the bytes that
it puts into all of them.
"""

import sys

import numpy as np
import rabbet as rb
from rabbet.sharding import NamedSharding


def lay_out(mesh, arguments, specs):
    """The arguments on the mesh, each as its spec says."""
    return rb.tree.map(lambda x, spec: rb.device_put(x, NamedSharding(mesh, spec)), arguments, specs)


def types(mesh, arguments, specs):
    """Types of the arguments with their shardings: nothing is put anywhere."""
    return rb.tree.map(
        lambda x, spec: rb.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, spec)),
        arguments, specs,
    )  # fmt: skip


def run(program):
    """Run a program over all devices and on one.

    Returns:
      the largest difference between the two, relative to the largest number of each result.
    """
    mesh = rb.make_mesh((rb.device_count(),), program.AXES)
    arguments = program.arguments()
    found = program.spread(mesh)(*lay_out(mesh, arguments, program.specs()))
    wanted = rb.jit(program.alone)(*arguments)
    worst = 0.0
    for x, y in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        worst = max(worst, float(np.abs(x - y).max() / np.abs(y).max()))
    return worst


def main():
    """For a program that is run: say whether both agree."""
    program = sys.modules["__main__"]
    worst = run(program)
    print(f"{rb.device_count()} devices; largest difference from one device {worst:.1e}")
    if not worst < 1e-4:
        raise SystemExit("that is too much")
