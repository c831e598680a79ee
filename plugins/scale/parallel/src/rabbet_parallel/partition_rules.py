"""Rules ``partition`` of primitives: which dimensions go together, in the terms of Shardy's sharding rules.

Such a rule stands beside a primitive, ``@p.rule("partition")``, a function of the operation and its operands'
types that returns a text, ``"i j, j k -> i k"``, or an ``SdyShardingRule``. Where the compiler cuts a program
up over the devices of a mesh, the operation is then one call in it: dimensions of one factor are cut alike,
each device does the operation on its parts, and results are added up along reduction factors that are cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rabbet import tree
from rabbet.extend.functions import describe_function, describe_value
from rabbet_collectives.functions import psum

from rabbet_parallel.custom_partitioning_primitive import Asked, mesh_of
from rabbet_parallel.named_sharding import NamedSharding
from rabbet_parallel.operations import provides
from rabbet_parallel.partition_spec import PartitionSpec
from rabbet_parallel.sharding_rules import SdyShardingRule, dimensions_of, parse_rule


class RuleCall:
    """An operation that says by its rule how it is cut up, as ``Asked`` asks for it."""

    static = ()
    decode_shardings = True

    def __init__(self, op: Any, said: Callable[..., Any], ins: list[Any], outs: list[Any]) -> None:
        self.primitive, self.params, self.name = op.primitive, dict(op.params), op.primitive.name
        self.who = f"the 'partition' rule for primitive {self.name!r} ({describe_function(said)})"
        self.found = self.made(said(op, *ins))
        self.ins, self.outs = ins, outs
        self.in_tree, self.out_tree = tree.structure(tuple(ins)), tree.structure(list(outs))

    def made(self, answer: Any) -> SdyShardingRule:
        """The rule that was returned. Factors that results lack and nobody adds up stay whole."""
        rule = parse_rule(answer, {}, {}) if isinstance(answer, str) else answer
        if not isinstance(rule, SdyShardingRule):
            raise TypeError(
                f"{self.who} returned {describe_value(answer)}; it returns a text or an SdyShardingRule"
            )
        names = lambda mappings: {f for m in mappings for e in m for f in ((e,) if isinstance(e, str) else e)}
        lost = names(rule.operands) - names(rule.results) - {"…"}
        lost -= {name for named in rule.special.values() for name in named}
        whole = (*rule.special["need_replication_factors"], *sorted(lost))
        special = {**rule.special, "need_replication_factors": whole}
        return SdyShardingRule(rule.operands, rule.results, **special, **rule.sizes)

    def rule(self, mesh: Any, ins: Any, outs: Any) -> SdyShardingRule:
        """The ``SdyShardingRule`` for arrays of these types."""
        return self.found

    def partition(self, mesh: Any, args: Any, result: Any) -> Any:
        """What each device does, for operands and results that the compiler proposes to lay out so."""
        factors = [
            dimensions_of(m, x.shape, self.who)
            for m, x in zip((*self.found.operands, *self.found.results), (*args, *result), strict=True)
        ]
        axes = self.axes_of_factors(factors, [*result, *args])
        laid = [
            NamedSharding(mesh, PartitionSpec(*[axes.get(dims[0]) or None for dims in per_array]))
            for per_array in factors
        ]
        ins, outs = laid[: len(args)], laid[len(args) :]
        summed = [a for f in self.found.special["reduction_factors"] for a in axes.get((f), ())]
        primitive, params = self.primitive, self.params

        def on_parts(*parts: Any) -> Any:
            out = primitive(*parts, **params)
            found = list(out) if primitive.multiple_results else [out]
            return [psum(y, tuple(summed)) for y in found] if summed else found

        return mesh, on_parts, outs, tuple(ins)

    def axes_of_factors(self, factors: Any, arrays: Any) -> dict[str, tuple]:
        """For each factor the axes that cut it: those of the first array that has it cut, each axis once."""
        count = len(self.found.operands)
        ordered = [*factors[count:], *factors[:count]]
        whole = set(self.found.special["need_replication_factors"])
        whole |= set(self.found.special["permutation_factors"])
        axes: dict[str, tuple] = {}
        used: set = set()
        for per_array, x in zip(ordered, arrays, strict=True):
            spec = tuple(x.sharding.spec) if isinstance(x.sharding, NamedSharding) else ()
            for dims, entry in zip(per_array, spec, strict=False):
                names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
                free = tuple([name for name in names if name not in used])
                if free and dims[0] not in whole and not axes.get(dims[0]) and len(free) == len(names):
                    axes[dims[0]] = free
                    used.update(free)
        return axes


@provides
def write_partitioned(op: Any, said: Callable[..., Any], names: Any) -> Any:
    """Write an operation as a call that says how it is cut up; return the names of its results."""
    call = RuleCall(op, said, list(op.in_avals), list(op.out_avals))
    asked = Asked(call, mesh_of(op.like), op.in_avals, op.out_avals)
    target, attributes = op.partitioner(asked)
    taken, given = ([a.shape for a in avals] for avals in (op.in_avals, op.out_avals))
    attributes += f", sdy.sharding_rule = {call.found.text(taken, given, call.who)}"
    ins, outs = (", ".join([a.mlir for a in avals]) for avals in (op.in_avals, op.out_avals))
    text = f"stablehlo.custom_call {target}({', '.join(names)}) {{{attributes}}} : ({ins}) -> ({outs})"
    return op.emit_all(text, len(op.out_avals))


__all__ = ["RuleCall", "write_partitioned"]
