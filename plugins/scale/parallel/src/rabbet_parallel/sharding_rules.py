"""Sharding rules: which dimensions of operands and results are cut alike.

A rule gives each dimension a *factor*, a name; dimensions with the same factor are cut by the same axes. The
notation is that of einops: factors with spaces between, ``(a b)`` for a dimension that is made of two, and
``...`` for any number of leading dimensions.
"""

from __future__ import annotations

import math
import re
from typing import Any

KINDS = ("reduction_factors", "need_replication_factors", "permutation_factors")
BATCHING = "…"  # stands for leading dimensions
_TOKEN = re.compile(r"\s*(\.\.\.|…|[()]|[A-Za-z_]\w*|\S)")


class CompoundFactor(tuple):
    """A dimension that is made of several factors, the first one outermost.

    Example:
      >>> from rabbet.experimental.custom_partitioning import CompoundFactor
      >>> CompoundFactor("heads", "width")
      CompoundFactor('heads', 'width')
    """

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2 or not all(isinstance(f, str) for f in factors):
            raise ValueError(f"CompoundFactor takes two names or more, got {factors!r}")
        return super().__new__(cls, factors)

    def __repr__(self) -> Any:
        return f"CompoundFactor{tuple(self)!r}"


class ArrayMapping(tuple):
    """The factors of an operand's or result's dimensions: names and ``CompoundFactor``s, after a leading
    ``BATCHING`` if there may be more dimensions in front.

    Example:
      >>> from rabbet.experimental.custom_partitioning import BATCHING, ArrayMapping
      >>> ArrayMapping(BATCHING, "i")
      ArrayMapping('…', 'i')
    """

    def __new__(cls, *factors: CompoundFactor | str) -> ArrayMapping:
        for i, factor in enumerate(factors):
            if not isinstance(factor, (str, CompoundFactor)):
                raise ValueError(f"ArrayMapping takes names and CompoundFactors, got {factor!r:.60}")
            if factor == BATCHING and i:
                raise ValueError(f"ArrayMapping: BATCHING stands in front of all other factors: {factors!r}")
            if isinstance(factor, str) and factor != BATCHING and not factor.isidentifier():
                raise ValueError(f"ArrayMapping: {factor!r} is not a name of a factor")
        return super().__new__(cls, factors)

    def __repr__(self) -> Any:
        return f"ArrayMapping{tuple(self)!r}"


class SdyShardingRule:
    """Which dimensions of operands and results are cut alike, for ``custom_partitioning``.

    Args:
      operand_mappings, result_mappings: for each array its ``ArrayMapping``, or a tuple of its factors.
      reduction_factors: those that results are sums over: where these are cut, the parts are added up.
      need_replication_factors: those whose dimensions must be whole on each device; so they are proposed.
      permutation_factors: those whose dimensions can be cut at the cost of devices exchanging parts.
      factor_sizes: the size of each factor that occurs in compound ones only.

    Raises:
      ValueError: for a factor that does not occur, or one in a compound factor without a size.

    Example:
      >>> from rabbet.experimental.custom_partitioning import SdyShardingRule
      >>> SdyShardingRule((("i", "j"),), (("i",),), reduction_factors=("j",))
      SdyShardingRule('i j -> i', reduction_factors=('j',))
    """

    def __init__(
        self,
        operand_mappings: tuple[tuple[str, ...] | ArrayMapping, ...],
        result_mappings: tuple[tuple[str, ...] | ArrayMapping, ...],
        *,
        reduction_factors: list[str] | tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[Any, ...] = (),
        **factor_sizes: Any,
    ) -> None:
        self.operands = tuple([ArrayMapping(*m) for m in operand_mappings])
        self.results = tuple([ArrayMapping(*m) for m in result_mappings])
        given = (reduction_factors, need_replication_factors, permutation_factors)
        self.special = {kind: tuple(names) for kind, names in zip(KINDS, given, strict=True)}
        self.sizes = dict(factor_sizes)
        entries = [e for mapping in (*self.operands, *self.results) for e in mapping]
        alone = {e for e in entries if isinstance(e, str)}
        inside = {name for e in entries if isinstance(e, CompoundFactor) for name in e}
        for kind, names in self.special.items():
            for name in names:
                if name not in alone | inside:
                    raise ValueError(f"{kind} has {name!r}, which the rule {str(self)!r} does not use")
        of_results = {f for m in self.results for e in m for f in ((e,) if isinstance(e, str) else e)}
        for name in self.special["reduction_factors"]:
            if name in of_results:
                raise ValueError(
                    f"reduction_factors has {name!r}, which is in a result of the rule {str(self)!r}"
                )
        claimed = [name for names in self.special.values() for name in names]
        for name in claimed:
            if claimed.count(name) > 1:
                raise ValueError(f"the factor {name!r} is named twice among {', '.join(KINDS)}")
        for name in self.sizes:
            if name not in inside - alone:
                raise ValueError(
                    f"sizes are for factors that occur in compound ones only, got one for {name!r} with the "
                    f"rule {str(self)!r}"
                )
        for name in sorted(inside - alone - set(self.sizes)):
            raise ValueError(
                f"the factor {name!r} occurs in compound ones only: give its size, {name}=..., with the rule "
                f"{str(self)!r}"
            )

    def __str__(self) -> str:
        sides = [
            ", ".join([" ".join(map(_shown, mapping)) for mapping in side])
            for side in (self.operands, self.results)
        ]
        return " -> ".join(sides)

    def __repr__(self) -> Any:
        more = [f", {kind}={names!r}" for kind, names in self.special.items() if names]
        more += [f", {name}={size}" for name, size in self.sizes.items()]
        return f"SdyShardingRule({str(self)!r}{''.join(more)})"

    def _key(self) -> tuple[tuple[ArrayMapping | tuple[Any, ...], ...], ...]:
        return self.operands, self.results, tuple(self.special.items()), tuple(sorted(self.sizes.items()))

    def __eq__(self, other: Any) -> bool:
        return type(other) is SdyShardingRule and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def text(self, operands: list[tuple[int, ...]], results: list[tuple[int, ...]], who: str) -> str:
        """The rule for arrays of given shapes, as Shardy writes it.

        Raises:
          ValueError: if the rule does not fit the arrays.
        """
        letters, sizes, sides = {}, dict(self.sizes), []
        for what, mappings, shapes in (
            ("operand", self.operands, operands), ("result", self.results, results),
        ):  # fmt: skip
            if len(mappings) != len(shapes):
                raise ValueError(
                    f"{who}: the sharding rule {str(self)!r} has {len(mappings)} {what}s, and the function "
                    f"has {len(shapes)}"
                )
            written = []
            for i, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True)):
                name = f"{who}: {what} {i}"
                dims = dimensions_of(mapping, shape, f"{name} of the sharding rule {str(self)!r}")
                for factors, size in zip(dims, shape, strict=True):
                    for f in factors:
                        letters.setdefault(f, _letter(len(letters)))
                        if len(factors) == 1:
                            sizes.setdefault(f, size)
                    if len(factors) > 1 and all(f in sizes for f in factors):
                        product = math.prod([sizes[f] for f in factors])
                        if product != size:
                            raise ValueError(
                                f"{name} has a dimension of size {size}, and the factors {factors} of the "
                                f"sharding rule {str(self)!r} are {product} together"
                            )
                written.append(f"[{', '.join([''.join([letters[f] for f in fs]) for fs in dims])}]")
            sides.append(f"({', '.join(written)})")
        of_sizes = ", ".join([f"{letter}={sizes[f]}" for f, letter in letters.items()])
        kinds = ""
        for kind, names in self.special.items():
            if names:
                marked = ", ".join(sorted([letters[f] for f in names], key=_order))
                kinds += f" {kind.removesuffix('_factors')}={{{marked}}}"
        return f"#sdy.op_sharding_rule<{'->'.join(sides)} {{{of_sizes}}}{kinds}, custom>"


def _shown(entry: CompoundFactor | str) -> str:
    if isinstance(entry, CompoundFactor):
        return f"({' '.join(entry)})"
    return "..." if entry == BATCHING else entry


def dimensions_of(mapping: ArrayMapping, shape: tuple[int, ...], who: str) -> list[tuple[str, ...]]:
    """The factors of each dimension, ``BATCHING`` spelled out."""
    batched = bool(mapping) and mapping[0] == BATCHING
    rest = mapping[1:] if batched else mapping
    more = len(shape) - len(rest)
    if more < 0 or (more and not batched):
        raise ValueError(f"{who} has {len(rest)} dimensions, and the array is of shape {shape}")
    found = [(f"…{i}",) for i in range(more)]
    return [*found, *[tuple(e) if isinstance(e, CompoundFactor) else (e,) for e in rest]]


def whole_dimensions(rule: Any, shapes: Any, mappings: Any) -> Any:
    """For each array a list of its dimensions that must be whole on each device."""
    needed = set(rule.special["need_replication_factors"])
    return [
        [d for d, factors in enumerate(dimensions_of(m, shape, str(rule))) if needed.intersection(factors)]
        for m, shape in zip(mappings, shapes, strict=True)
    ]


def _letter(n: int) -> str:
    """The n-th factor's name in Shardy's text: i, j, ... z, z_1, z_2, ..."""
    return chr(ord("i") + n) if n < 18 else f"z_{n - 17}"


def _order(letter: str) -> tuple[int | str, ...]:
    return (letter[0], int(letter[2:] or 0)) if "_" in letter else (letter, 0)


def parse_rule(text: str, special: dict[Any, Any], sizes: dict[Any, Any]) -> SdyShardingRule:
    """The ``SdyShardingRule`` that a text such as ``"i k, k j -> i j"`` says.

    Args:
      special: the factors of each of ``KINDS``, by its name.
      sizes: of factors that occur in compound ones only, by name.
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"a sharding rule is 'operands -> results', with one arrow, got {text!r}")
    operands, results = [[_mapping(part, text) for part in side.split(",")] for side in sides]
    return SdyShardingRule(tuple(operands), tuple(results), **special, **sizes)


def _mapping(part: str, rule: str) -> ArrayMapping:
    factors: list = []
    group: list | None = None
    for token in _TOKEN.findall(part):
        if token == "(" and group is None:
            group = []
        elif token == ")" and group is not None:
            if len(group) == 1:
                factors.append(group[0])
            elif group:
                factors.append(CompoundFactor(*group))
            group = None
        elif token in ("...", BATCHING) and group is None:
            factors.append(BATCHING)
        elif token.isidentifier():
            (factors if group is None else group).append(token)
        else:
            raise ValueError(f"the sharding rule {rule!r} cannot be read at {token!r} in {part.strip()!r}")
    if group is not None:
        raise ValueError(f"the sharding rule {rule!r}: '(' without ')' in {part.strip()!r}")
    return ArrayMapping(*factors)


__all__ = [
    "BATCHING", "KINDS", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "dimensions_of", "parse_rule",
    "whole_dimensions",
]  # fmt: skip
