"""Rules ``partition`` of primitives: which dimensions go together, in the terms of Shardy's sharding rules.

Such a rule stands beside a primitive, ``@p.rule("partition")``, a function of the operation and its operands'
types that returns a text, ``"i j, j k -> i k"``, an ``SdyShardingRule``, a dict that holds one of these and
more (see ``Answer``), or None where the compiler is to cut it up by itself. Where the compiler cuts a program
up over the devices of a mesh, the operation is then one call in it: dimensions of one factor are cut alike,
each device does the operation on its parts, and results are added up along reduction factors that are cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from rabbet import tree
from rabbet.extend.functions import describe_function, describe_value
from rabbet_collectives.functions import axis_index, psum

from rabbet_parallel.custom_partitioning_primitive import PartitionedCall, mesh_of
from rabbet_parallel.named_sharding import NamedSharding
from rabbet_parallel.operations import provides
from rabbet_parallel.partition_spec import PartitionSpec
from rabbet_parallel.sharding_rules import KINDS, SdyShardingRule, dimensions_of, parse_rule


class Answer(NamedTuple):
    """What a rule says.

    Attributes:
      rule: a text or an ``SdyShardingRule``.
      reduction_factors, need_replication_factors, permutation_factors: with a text, as ``SdyShardingRule``
        takes them.
      part: ``part(op, starts, *parts)``, what each device computes, where that is not the operation itself:
        of its parts and, by factor, of the index with which they begin.
    """

    rule: Any
    reduction_factors: tuple[str, ...] = ()
    need_replication_factors: tuple[str, ...] = ()
    permutation_factors: tuple[str, ...] = ()
    part: Callable[..., Any] | None = None


class RuleCall:
    """An operation that says by its rule how it is cut up, as ``PartitionedCall`` asks for it."""

    static = ()
    decode_shardings = True

    def __init__(self, op: Any, rule: Callable[..., Any], said: Any, ins: list[Any], outs: list[Any]) -> None:
        self.primitive, self.params, self.name = op.primitive, dict(op.params), op.primitive.name
        self.who = f"the 'partition' rule for primitive {self.name!r} ({describe_function(rule)})"
        self.op = op
        self.part: Callable[..., Any] | None = None
        self.found = self.made(said)
        self.ins, self.outs = ins, outs
        self.in_tree, self.out_tree = tree.structure(tuple(ins)), tree.structure(list(outs))

    def made(self, answer: Any) -> SdyShardingRule:
        """The rule that was returned. Factors that results lack and nobody adds up stay whole, and those that
        operands lack.
        """
        if isinstance(answer, dict):
            unknown = sorted(map(str, answer.keys() - set(Answer._fields)))
            if unknown or "rule" not in answer:
                wrong = f"with {', '.join(unknown)}" if unknown else "without 'rule'"
                known = ", ".join(Answer._fields)
                raise TypeError(f"{self.who} returned a dict {wrong}; its keys are {known}")
            told = Answer(**answer)
            self.part = told.part
            special = {kind: tuple(getattr(told, kind)) for kind in KINDS}
            if any(special.values()) and isinstance(told.rule, SdyShardingRule):
                given = ", ".join([kind for kind in KINDS if special[kind]])
                raise TypeError(
                    f"{self.who} returned {given} beside an SdyShardingRule; give them to the SdyShardingRule"
                )
            answer = parse_rule(told.rule, special, {}) if isinstance(told.rule, str) else told.rule
        rule = parse_rule(answer, {}, {}) if isinstance(answer, str) else answer
        if not isinstance(rule, SdyShardingRule):
            raise TypeError(
                f"{self.who} returned {describe_value(answer)}; it returns a text, an SdyShardingRule or a "
                "dict with one as 'rule'"
            )
        names = lambda mappings: {f for m in mappings for e in m for f in ((e,) if isinstance(e, str) else e)}
        lost = (names(rule.operands) ^ names(rule.results)) - {"…"}
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
        primitive, params, part, op = self.primitive, self.params, self.part, self.op

        def starts(parts: Any) -> dict[str, Any]:
            """Where in the whole arrays this device's parts begin, by factor."""
            found: dict[str, Any] = {}
            for per_array, x in zip(factors[: len(args)], parts, strict=True):
                for dims, size in zip(per_array, x.shape, strict=True):
                    cut = axes.get(dims[0])
                    found[dims[0]] = axis_index(cut) * size if cut else 0
            return found

        def on_parts(*parts: Any) -> Any:
            out = primitive(*parts, **params) if part is None else part(op, starts(parts), *parts)
            found = list(out) if primitive.multiple_results else [out]
            return [psum(y, tuple(summed)) for y in found] if summed else found

        return mesh, on_parts, outs, tuple(ins)

    def axes_of_factors(self, factors: Any, arrays: Any) -> dict[str, tuple]:
        """For each factor the axes that cut it: those of the first array that has it cut, each axis once.
        What the compiler has cut into parts that are not equal stays whole.
        """
        count = len(self.found.operands)
        ordered = [*factors[count:], *factors[:count]]
        whole = set(self.found.special["need_replication_factors"])
        whole |= set(self.found.special["permutation_factors"])
        axes: dict[str, tuple] = {}
        used: set = set()
        for per_array, x in zip(ordered, arrays, strict=True):
            spec = tuple(x.sharding.spec) if isinstance(x.sharding, NamedSharding) else ()
            for dims, entry, size in zip(per_array, spec, x.shape, strict=False):
                names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
                free = tuple([name for name in names if name not in used])
                if size % math.prod([x.sharding.mesh.shape[name] for name in names]):
                    continue
                if free and dims[0] not in whole and not axes.get(dims[0]) and len(free) == len(names):
                    axes[dims[0]] = free
                    used.update(free)
        return axes


@provides
def write_partitioned(op: Any, said: Callable[..., Any], names: Any) -> Any:
    """Write an operation as a call that says how it is cut up; return the names of its results, or None
    where its rule leaves that to the compiler.
    """
    answer = said(op, *op.in_avals)
    if answer is None:
        return None
    call = RuleCall(op, said, answer, list(op.in_avals), list(op.out_avals))
    asked = PartitionedCall(call, mesh_of(op.like), op.in_avals, op.out_avals)
    target, attributes = op.partitioner(asked)
    taken, given = ([a.shape for a in avals] for avals in (op.in_avals, op.out_avals))
    attributes += f", sdy.sharding_rule = {call.found.text(taken, given, call.who)}"
    ins, outs = (", ".join([a.mlir for a in avals]) for avals in (op.in_avals, op.out_avals))
    text = f"stablehlo.custom_call {target}({', '.join(names)}) {{{attributes}}} : ({ins}) -> ({outs})"
    return op.emit_all(text, len(op.out_avals))


__all__ = ["RuleCall", "write_partitioned"]
