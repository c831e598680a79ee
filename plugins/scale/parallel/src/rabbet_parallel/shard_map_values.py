"""Values within an eager ``shard_map``: what Python asks for while the function is traced, as by ``if`` and
``print``, is computed by a program of what was recorded up to there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rabbet import lax
from rabbet.dtypes import ExtendedDType
from rabbet.extend.functions import to_array
from rabbet.extend.passes import Jaxpr, Literal, effects_of, evaluate, stage
from rabbet.extend.transform import bind_axes, context
from rabbet_collectives import varying

from rabbet_parallel.explicit_sharding import entries_of
from rabbet_parallel.partition_spec import PartitionSpec
from rabbet_parallel.shard_map_primitive import axes_of_op, made


class Values:
    """What the trace of an eager ``shard_map`` is asked for.

    Args:
      stager: the interpreter that records.
      params: those of the ``shard_map`` that it will be.
      operands: its arguments, over the devices.
      outside: the interpreter that executes operations.
    """

    def __init__(self, stager: Any, params: dict, operands: Any, outside: Any) -> None:
        self.stager, self.params, self.operands, self.outside = stager, params, operands, outside
        self.found: dict = {}

    def __call__(self, atom: Any) -> Any:
        """The value of a variable, if it is the same on all devices; else None."""
        if type(atom) is Literal:
            return np.asarray(atom.value)
        if varying.axes_of(atom.aval):
            return None
        rows = self.rows(atom)
        if not rows or any(row.tobytes() != rows[0][1].tobytes() for _, row in rows):
            return None
        return self.outside_of_it(lambda: to_array(rows[0][1][0], dtype=atom.aval.dtype))

    def shown(self, atom: Any) -> Any:
        """The value on each device, as a text; None where it is not known."""
        rows = None if type(atom) is Literal else self.rows(atom)
        if not rows:
            return None
        mesh = self.params["mesh"]
        places = {d: at for at, d in np.ndenumerate(mesh.devices)}
        names = ", ".join(map(str, mesh.axis_names)) + ("," if len(mesh.axis_names) == 1 else "")
        where = lambda device: f"On {device} at mesh coordinates ({names}) = {places[device]}"
        return "\n".join([f"{where(device)}:\n{row[0]}\n" for device, row in rows])

    def rows(self, variable: Any) -> Any:
        """What each device of this process has, in NumPy, with one more dimension; None where that takes
        effects, where what is captured lies cut, and of what NumPy has no numbers for.
        """
        if variable not in self.found:
            program = None if isinstance(variable.aval.dtype, ExtendedDType) else self.needed(variable)
            self.found[variable] = None if program is None else self.run(*program)
        return self.found[variable]

    def needed(self, variable: Any) -> Any:
        """The program that computes a variable, and the arrays that it captures."""
        live, kept = {variable}, []
        for eqn in reversed(self.stager.equations):
            if not live.isdisjoint(eqn.outputs):
                if eqn.op.primitive.special and effects_of(eqn.op):
                    return None
                kept.append(eqn)
                live.update([v for v in eqn.inputs if type(v) is not Literal])
        made_here = {v for eqn in kept for v in eqn.outputs}
        held = [(v, x) for v, x in self.stager.captured.values() if v in live]
        inputs = [v for v, _ in held] + list(self.stager.inputs)
        if not live <= made_here.union(inputs) or any(any(entries_of(v.aval)) for v, _ in held):
            return None
        return Jaxpr(inputs, [variable], kept[::-1], name=self.params["name"]), [x for _, x in held]

    def run(self, program: Any, consts: Any) -> Any:
        """The rows of this process's devices."""
        params = self.params

        def rows() -> Any:
            with bind_axes(axes_of_op(params)):
                in_row = lambda *args: [lax.expand_dims(evaluate(program, args)[0], (0,))]
                body = stage(in_row, program.in_avals, program.name).jaxpr
            in_specs = [*[PartitionSpec()] * len(consts), *params["in_specs"]]
            call = made(params, body, in_specs, [PartitionSpec(params["manual"])])
            shards = call(*consts, *self.operands)[0].addressable_shards
            return [(shard.device, np.asarray(shard.data)) for shard in shards]

        return self.outside_of_it(rows)

    def outside_of_it(self, function: Any) -> Any:
        """What a function returns whose operations are executed, not recorded."""
        before, context.interpreter = context.interpreter, self.outside
        try:
            return function()
        finally:
            context.interpreter = before


__all__ = ["Values"]
