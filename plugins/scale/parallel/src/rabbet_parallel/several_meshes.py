"""Programs whose arguments lie on several meshes: on which of them each result lies, and what is refused.

The type of an array says on which mesh explicit axes cut it, and nothing where none cuts it or where axes are
of type ``Auto``. What the types leave open follows from the arguments, operation by operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShardingError
from rabbet.extend.passes import Jaxpr, bodies_of
from rabbet.extend.primitive import optimization_barrier
from rabbet.extend.sharding import places_in
from rabbet.extend.transform import feeds_of

from rabbet_parallel.constraints import join_mesh, reshard, to_auto
from rabbet_parallel.explicit_sharding import mesh_of
from rabbet_parallel.meshes import HiddenMesh, Mesh, belong_apart
from rabbet_parallel.named_sharding import NamedSharding, with_devices
from rabbet_parallel.operations import provides

if TYPE_CHECKING:
    from rabbet.extend.passes import Equation


@provides
def results_over_meshes(jaxpr: Jaxpr, ins: Any, like: NamedSharding) -> list | None:
    """For each result a sharding on its mesh; None where the arguments and what the program names lie on one
    mesh, or on several without axes of type ``Explicit``.

    Raises:
      ShardingError: for an operation on values of different meshes, of which one has such axes.
    """
    given = [on_a_mesh(s) for s in ins]
    named = [on_a_mesh(s) for s in places_in(jaxpr)]
    if like.has_devices:
        named = [s and s.on(like.group) for s in named]
    known = {s.mesh.abstract_mesh: s for s in [*named, *reversed(given)] if s is not None}
    if len(known) < 2 or not any(mesh.explicit_axes for mesh in known):
        return None
    return [s or like for s in Walk(known, like).results(jaxpr, given)]


def on_a_mesh(sharding: Any) -> NamedSharding | None:
    """A sharding by rows if it is one on a mesh, and not one within ``shard_map``."""
    by_rows = sharding.by_rows
    if type(by_rows) is not NamedSharding or isinstance(by_rows.mesh, HiddenMesh):
        return None
    return None if by_rows.mesh.manual_axes or not by_rows.mesh.axis_names else by_rows


class Walk:
    """Goes through a program with a sharding on the mesh of each value, or None where it may lie on any.

    Args:
      known: from an ``AbstractMesh`` to a sharding on it.
      like: what else a sharding says.
    """

    def __init__(self, known: dict, like: NamedSharding) -> None:
        self.known, self.like = known, like

    def results(self, jaxpr: Jaxpr, given: list) -> list:
        """For each result of a program; ``given`` is for its arguments, captured ones first."""
        on = dict(zip([*jaxpr.constvars, *jaxpr.invars], given, strict=True))
        for eqn in jaxpr.equations:
            found = self.after(eqn, [on.get(v) for v in eqn.inputs])
            on.update(zip(eqn.outputs, found, strict=True))
        return [self.typed(v.aval) or on.get(v) for v in jaxpr.outvars]

    def typed(self, aval: Any) -> Any:
        """What a type says."""
        mesh = mesh_of(aval)
        return None if mesh is None or mesh.manual_axes else self.on_mesh(mesh)

    def on_mesh(self, mesh: Any) -> Any:
        """A sharding on this ``AbstractMesh``, on devices that some other one has."""
        if mesh not in self.known:
            others = [with_devices(mesh, s.mesh) for s in self.known.values() if isinstance(s.mesh, Mesh)]
            concrete = next((m for m in others if m is not None), None)
            self.known[mesh] = None if concrete is None else self.like.update(mesh=concrete)
        return self.known[mesh]

    def after(self, eqn: Equation, operands: list) -> list:
        """For each result of an equation."""
        primitive, params, outs = eqn.primitive, eqn.params, eqn.outputs
        if primitive is optimization_barrier:
            return operands
        if primitive is to_auto:
            return [None]
        if primitive is reshard:
            return [self.on_mesh(params["mesh"])]
        if primitive is join_mesh:
            return [self.together(eqn, [self.on_mesh(params["mesh"]), *operands])]
        if primitive.place is not None:
            told = on_a_mesh(params[primitive.place])
            told = told if told is None or told.has_devices else self.on_mesh(told.mesh)
            return [told] * len(outs)
        bodies = bodies_of(eqn.op)
        if bodies:
            return self.after_bodies(eqn, bodies, operands)
        return [self.together(eqn, operands) if outs else None] * len(outs)

    def after_bodies(self, eqn: Equation, bodies: list, operands: list) -> list:
        """The same of one that carries programs, each of which takes the operands that the primitive's rule
        ``feeds`` names; without that rule all of them, if it has as many inputs.
        """
        found, feeds = [None] * len(eqn.outputs), feeds_of(eqn.op)
        for name, body in bodies:
            if feeds is not None:
                taken = [operands[i] for i in feeds.places[name]]
            elif len(operands) == len(body.constvars) + len(body.invars):
                taken = operands
            else:
                continue
            outs = self.results(body, taken)
            if len(outs) == len(found) and (feeds is None or name not in feeds.decides):
                found = [a or b for a, b in zip(found, outs, strict=True)]
        for i, place in () if feeds is None else feeds.rounds.items():
            found[i] = operands[place] or found[i]
        return found if any(found) else (operands[:1] or [None]) * len(found)

    def together(self, eqn: Equation, operands: list) -> Any:
        """On which mesh an operation on these computes."""
        there = [s for s in operands if s is not None]
        for other in there[1:]:
            one = there[0].mesh
            if belong_apart(one, other.mesh):
                where = eqn.source_info
                name = "a loop" if eqn.primitive is join_mesh else eqn.primitive.name
                raise ShardingError(
                    f"{name}: operands are laid out on {one} and on {other.mesh}"
                    + ("" if where is None else f" ({where})")
                    + "\n  to fix: bring them to one mesh with rb.device_put"
                )
        return there[0] if there else None


__all__ = ["results_over_meshes"]
