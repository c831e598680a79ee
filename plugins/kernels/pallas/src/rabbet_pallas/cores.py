"""Kernels over the cores of a device: ``kernel`` and ``core_map``. On the CPU one runs after the other."""

import dataclasses
import functools

import numpy as np
from rabbet import lax, tree
from rabbet.extend.functions import folded
from rabbet.extend.transform import Interpreter, RuleTable, run, typeof

from rabbet_pallas import program_ids
from rabbet_pallas.api import name_of, pallas_call
from rabbet_pallas.block_specs import BlockSpec, MemoryRef, MemorySpace

as_they_are = RuleTable("pallas_cores", doc="(op, *values) -> value, with the number of a core known")


@as_they_are.otherwise(before_decompositions=True)
def as_it_is(op, *values):
    return op(*values)


class Core(Interpreter):
    """Runs a function on one core: ``lax.axis_index`` of the mesh's axis is its number."""

    table = as_they_are
    carries = True

    def __init__(self, mesh, number):
        self.mesh, self.number = mesh, number
        self.bound = tuple(mesh.shape.items())

    def key(self):
        return Core

    def lift(self, value):
        return value

    def type_of(self, value):
        return typeof(value)

    def wrap(self, value):
        return value

    def collective(self, op, args):
        if op.primitive.name != "axis_index":
            raise NotImplementedError(
                f"{op.primitive.name} between cores: each core is a program of its own\n"
                "  to fix: lax.axis_index, and memory that all see"
            )
        return self.number


@dataclasses.dataclass(frozen=True)
class TensorCoreMesh:
    """The cores of a device, along a named axis.

    Args:
      axis_name: ``lax.axis_index(axis_name)`` is the number of the core that runs.
      num_cores: how many.
    """

    axis_name: str
    num_cores: int = 1

    shape = property(lambda self: {self.axis_name: self.num_cores}, doc="The sizes of its axes.")


@folded
def kernel(
    body=None, out_type=(), *, mesh=None, scratch_types=(), compiler_params=None, interpret=False,
    cost_estimate=None, debug=False, name=None, metadata=None, out_shape=None, scratch_shapes=None,
):  # fmt: skip
    """A function of arrays from one of references that runs on each core of a device.

    Args:
      body: a function of references to whole arrays: the operands', the results', scratch. Without it, a
        decorator is returned.
      out_type: a tree of types of the results; ``out_shape`` is its older name.
      mesh: a ``TensorCoreMesh``.
      scratch_types: what memory a core has for itself; ``scratch_shapes`` is its older name.
      compiler_params, interpret, cost_estimate, debug, name, metadata: as for ``pallas_call``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> @pl.kernel(out_type=rb.ShapeDtypeStruct((2,), "int32"), mesh=tpu.TensorCoreMesh("core", 2))
      ... def numbers(x, out):
      ...     i = lax.axis_index("core")
      ...     out[i] = x[i] + i
      >>> numbers(rnp.array([10, 10])).tolist()
      [10, 11]
    """
    if body is None:
        return functools.partial(
            kernel, out_type=out_type, mesh=mesh, scratch_types=scratch_types, debug=debug, name=name,
            compiler_params=compiler_params, interpret=interpret, cost_estimate=cost_estimate,
            metadata=metadata, out_shape=out_shape, scratch_shapes=scratch_shapes,
        )  # fmt: skip
    if not isinstance(mesh, TensorCoreMesh):
        raise NotImplementedError(f"kernel: mesh {mesh!r:.60}\n  to fix: a tpu.TensorCoreMesh")
    whole = BlockSpec(memory_space=MemorySpace.ANY)
    given = out_type if out_shape is None else out_shape
    outs = tree.map(lambda _: whole, given, is_leaf=lambda x: isinstance(x, MemoryRef))

    def program(*refs, **named):
        on_core(mesh, program_ids.program_id(0), functools.partial(body, *refs, **named))

    program.__name__ = name_of(body)

    @folded
    def call(*args):
        return pallas_call(
            program, given, grid=(mesh.num_cores,), in_specs=tree.map(lambda _: whole, args), out_specs=outs,
            scratch_shapes=scratch_types if scratch_shapes is None else scratch_shapes,
            compiler_params=compiler_params, interpret=interpret, cost_estimate=cost_estimate, debug=debug,
            name=name, metadata=metadata,
        )(*args)  # fmt: skip

    return call


def on_core(mesh, number, function):
    """A function on one core; it returns nothing."""
    run(Core(mesh, number), lambda: (function(), None)[1], [])


@folded
def core_map(mesh, **options):
    """Decorator: the function runs at once on each core of a device, in ``run_state`` or by itself.

    Args:
      mesh: a ``TensorCoreMesh``.
      options: those of ``pallas_call``, for compilers; not looked at.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def count(ref):
      ...     @pl.core_map(tpu.TensorCoreMesh("core", 2))
      ...     def _():
      ...         ref[lax.axis_index("core")] += 1
      >>> pl.run_state(count)(rnp.zeros(3, "int32")).tolist()
      [1, 1, 0]
    """

    def decorate(function):
        for number in range(mesh.num_cores):
            on_core(mesh, lax.full((), np.int32(number), "int32"), function)

    return decorate


__all__ = ["TensorCoreMesh", "core_map", "kernel"]
