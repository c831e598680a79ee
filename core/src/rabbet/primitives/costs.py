"""What programs cost before they are compiled: a rule each for operations, by kind or by hand.

A rule ``cost`` is ``(op, *types) -> Cost``. Kinds give defaults, so a primitive needs one where it does
something else than its kind says, above all where it is a call of a native function, of which compilers know
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.lowering.module import decomposed
from rabbet.messages import function_names
from rabbet.primitives.contractions import dot_general
from rabbet.primitives.scatter import scatter_add, scatter_max, scatter_min, scatter_mul, scatter_sub
from rabbet.program.jaxpr import Jaxpr, bodies_of
from rabbet.rules import failures
from rabbet.rules.tables import Decomposed, RuleTable

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray


class Cost(NamedTuple):
    """What an operation, or a program, costs.

    Args:
      flops: arithmetic operations on numbers, a multiplication and an addition each one.
      bytes: bytes that it reads and writes, if nothing is fused.
      transcendentals: functions such as ``exp`` on one number each.
      fuses: whether compilers fuse it with its neighbours, so that its bytes need not be moved.

    Example:
      >>> from rabbet.extend.cost import Cost
      >>> Cost(flops=100.0, bytes=40.0) + Cost(flops=1.0)
      Cost(flops=101.0, bytes=40.0, transcendentals=0.0, fuses=False)
    """

    flops: float = 0.0
    bytes: float = 0.0
    transcendentals: float = 0.0
    fuses: bool = False

    def __add__(self, other: Any) -> Any:
        flops, moved, slow = [a + b for a, b in zip(self[:3], other[:3], strict=True)]
        return Cost(flops, moved, slow, self.fuses and other.fuses)

    def __mul__(self, times: Any) -> Any:
        flops, moved, slow = [times * x for x in self[:3]]
        return Cost(flops, moved, slow, self.fuses)


cost = RuleTable(
    "cost",
    doc="""(op, *types) -> Cost

    Example:
      >>> from rabbet.extend.cost import Cost, cost
      >>> from rabbet.extend.primitive import Primitive
      >>> fused_gelu = Primitive("fused_gelu_of_doc", lambda x: x, kinds=("elementwise",))
      >>> @fused_gelu.rule("cost")
      ... def gelu_cost(op, x):
      ...     return Cost(flops=8.0 * x.size, bytes=2.0 * x.nbytes, transcendentals=float(x.size))
      >>> cost.explain(fused_gelu).source
      'owner'
    """,
)
SLOW = frozenset(
    "acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cos cosh digamma erf erf_inv erfc exp "
    "exp2 expm1 lgamma log log1p logistic pow rsqrt sin sinh sqrt tan tanh".split()
)


def moved(op: Any, types: tuple[ShapedArray, ...]) -> float:
    """Bytes of the operands and results."""
    return float(sum(t.physical.nbytes for t in (*types, *op.outs(types))))


@cost.kind("elementwise")
def elementwise_cost(op: Any, *types: ShapedArray) -> Cost:
    """One operation for each number of the result."""
    size = float(op.outs(types)[0].size)
    slow = op.primitive.name in SLOW
    return Cost(0.0 if slow else size, moved(op, types), size if slow else 0.0, fuses=True)


@cost.kind("reduction")
def reduction_cost(op: Any, *types: ShapedArray) -> Cost:
    """One operation for each number that disappears."""
    return Cost(float(types[0].size - op.outs(types)[0].size), moved(op, types))


@cost.kind("structural", "indexed")
def structural_cost(op: Any, *types: ShapedArray) -> Cost:
    """Numbers elsewhere."""
    return Cost(0.0, moved(op, types), fuses=True)


@cost.primitive(dot_general)
def dot_cost(op: Any, *types: ShapedArray) -> Cost:
    """A multiplication and an addition for each pair of numbers."""
    (contracted, _), _ = op.params["dimension_numbers"]
    depth = prod([types[0].shape[d] for d in contracted])
    return Cost(2.0 * op.outs(types)[0].size * depth, moved(op, types))


@cost.primitive(scatter_add, scatter_sub, scatter_mul, scatter_min, scatter_max)
def scatter_cost(op: Any, *types: ShapedArray) -> Cost:
    """One operation for each number that comes in."""
    return Cost(float(types[2].size), moved(op, types))


@cost.otherwise
def unknown_cost(op: Any, *types: ShapedArray) -> Cost:
    """Of what nobody says the bytes."""
    return Cost(0.0, moved(op, types))


def cost_of(
    program: Jaxpr,
    *,
    own_only: bool = False,
    rounds: bool = True,
    counts: Callable[[Any], bool] | None = None,
) -> Cost:
    """What a program costs as it is written: loops of a known length count as often as they run, of branches
    the dearest counts, and ``while`` counts once.

    Args:
      own_only: count only operations whose primitive has a rule ``cost`` of its own.
      counts: of those with a rule of their own, ``counts(eqn)`` says which are to be counted; by default all.
      rounds: False counts the body of every loop once, as estimates of XLA do.

    Example:
      >>> from rabbet.extend.cost import cost_of
      >>> from rabbet.extend.passes import stage
      >>> x = rb.typeof(np.ones((4, 8), np.float32))
      >>> program = stage(lambda x: [lax.dot_general(x, x, (((1,), (1,)), ((), ())))], [x]).jaxpr
      >>> cost_of(program).flops
      256.0
    """
    total = Cost(fuses=True)
    for eqn in program.equations:
        types = tuple([v.aval.bare for v in eqn.inputs])
        if "cost" in eqn.primitive.rules:
            if counts is not None and not counts(eqn):
                continue
            total = total + asked("cost", eqn, eqn.primitive.rules["cost"], types, Cost)
            continue
        bodies = bodies_of(eqn.op)
        if bodies:
            runs = runs_of(eqn, [name for name, _ in bodies], types)
            inner = [
                cost_of(body, own_only=own_only, rounds=rounds, counts=counts)
                * (times if rounds else min(times, 1))
                for name, body in bodies
                if (times := runs.get(name, 0))
            ]
            if inner:
                total = total + (max(inner) if eqn.primitive.decider == 0 else sum(inner[1:], inner[0]))
            continue
        rule = cost.lookup(eqn.primitive)
        if type(rule) is Decomposed:
            parts = decomposed(eqn, rule.parts).jaxpr
            total = total + cost_of(parts, own_only=own_only, rounds=rounds, counts=counts)
        elif not own_only:
            total = total + asked("cost", eqn, rule, types, Cost)
    return total


def runs_of(eqn: Any, names: list[str], types: tuple[ShapedArray, ...]) -> dict[str, float]:
    """How often an operation runs each of its programs, by the parameter's name: as its primitive's rule
    ``runs`` says, where it has one, else once.
    """
    rule = eqn.primitive.rules.get("runs")
    if rule is None:
        return dict.fromkeys(names, 1)
    found = asked("runs", eqn, rule, types, dict)
    unknown = [name for name in found if name not in names]
    if unknown:
        raise TypeError(
            f"the 'runs' rule for primitive {eqn.primitive.name!r} ({function_names.address(rule)}) names "
            f"{', '.join(map(repr, unknown))}; its programs are {', '.join(map(repr, names))}"
        )
    return found


def asked(
    table: str, eqn: Any, rule: Callable[..., Any], types: tuple[ShapedArray, ...], wanted: type
) -> Any:
    """What a rule says of an operation; what it raises, or returns instead, is said of it."""
    what = f"the {table!r} rule for primitive {eqn.primitive.name!r}"
    try:
        found = rule(eqn.op, *types)
    except Exception as error:
        failures.attribute(error, what, rule, eqn.where)
        raise
    if not isinstance(found, wanted):
        whose = " of rabbet.extend.cost" if wanted is Cost else ""
        raise TypeError(
            f"{what} ({function_names.address(rule)}) returned {found!r:.60}; it returns a "
            f"{wanted.__name__}{whose}"
        )
    return found


__all__ = ["Cost", "cost", "cost_of"]
