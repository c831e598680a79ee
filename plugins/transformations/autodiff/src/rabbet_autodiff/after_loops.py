"""Products that the backward pass of a scan adds up step by step, computed once after the loop.

The gradient of a weight is the sum over steps of ``dot(a_t, b_t)``. Stacked along time, the same is one
product that is summed over time too: one large product instead of many small ones, and no sum of the weight's
size that is read and written at every step. Likewise a stacked result ``dot(a_t, constant)`` is one product
with the stack of ``a_t``.

What has to be stacked for it takes memory, so it is bounded: by the setting ``scan_stacking``, and by the
bytes that the loop reads from stacks anyway. A weight that a step reads several times has several products.

Core asks for it by the table ``backward_scan``, when it transposes a scan.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import config, typeof
from rabbet.extend.passes import Jaxpr, Literal, Var, open_calls
from rabbet.extend.primitive import (
    add,
    dot_general,
    optimization_barrier,
    reduce_sum,
    reshape,
    scan,
    transpose,
)
from rabbet.extend.transform import RuleSet

if TYPE_CHECKING:
    from rabbet.extend.passes import Equation
    from rabbet.extend.primitive import Op
    from rabbet.typing import Value

CARRIED_OVER = (reshape, transpose)  # what may stand between a product and its sum

RULES = RuleSet("backward_scan")


@RULES.primitive(scan)
def scan_with_products_after_it(op: Op, sums: int, *inputs: Value) -> list[Value]:
    """The scan of a backward pass; what can be computed after it, is."""
    params = dict(op.params)
    body, consts = params.pop("jaxpr"), params.pop("consts")
    carry = params.pop("carry")
    after = plan(body, consts, sums, carry - sums, params["length"])
    if after is None:
        return op(*inputs)
    gone = len([i for i in after.dropped if i < sums])
    left = [x for i, x in enumerate(inputs) if i - consts not in after.dropped or not 0 <= i - consts < sums]
    outs = scan(*left, jaxpr=after.jaxpr, consts=consts, carry=carry - gone, **params)
    computed = after.results(inputs, outs)
    others = iter(outs)
    return [computed[i] if i in after.dropped else next(others) for i in range(len(body.outvars))]


class Part(NamedTuple):
    """An output that is computed after the loop, or one of several that add up to it."""

    output: int
    product: Any  # the equation of dot_general or reduce_sum
    moves: tuple  # equations of reshape or transpose that follow it
    stacked: tuple  # for each of its operands whether a stack takes its place
    summed: bool  # over time; else time stays, as the first dimension


class Plan(NamedTuple):
    """A body without what is computed after the loop.

    jaxpr: takes the inputs without the dropped sums, gives the outputs that are left, then new stacks.
    dropped: the outputs that are gone, sums among them.
    """

    jaxpr: Jaxpr
    dropped: frozenset
    parts: tuple
    stacks: dict  # variable of the body: ("given", input index) or ("made", output index of ``jaxpr``)
    constants: dict  # variable of the body: its input index

    def results(self, inputs: tuple[Value, ...], outputs: list[Value]) -> dict[Any, Any]:
        """What the dropped outputs are: ``{output index: array}``."""

        def operand(v: Var, stacked: bool) -> Value:
            if not stacked:
                return inputs[self.constants[v]]
            where, i = self.stacks[v]
            return inputs[i] if where == "given" else outputs[i]

        found = {}
        for part in self.parts:
            operands = [
                operand(v, stacked) for v, stacked in zip(part.product.inputs, part.stacked, strict=True)
            ]
            term = computed(part, operands)
            found[part.output] = add(found[part.output], term) if part.output in found else term
        return found


def plan(jaxpr: Jaxpr, consts: int, sums: int, carry: int, length: int) -> Plan | None:
    """What of the body of a backward pass can wait until after the loop; None if nothing can.

    Args:
      jaxpr: a body that takes ``consts`` constants, ``sums`` sums, ``carry`` other carried values and slices,
        and gives new sums, carried values and slices of stacks.
    """
    jaxpr = open_calls(jaxpr, multiplies)
    body = _Body(jaxpr, consts, sums, carry)
    found = [parts for i in range(sums) if (parts := body.sum_of_products(i))]
    products = [parts for parts in found if any(p.product.op.primitive is dot_general for p in parts)]
    if not products:
        return None
    wanted = dict.fromkeys(v for parts in products for part in parts for v in part.product.inputs)
    chosen = [part for parts in found if all(reads(p) <= wanted.keys() for p in parts) for part in parts]
    for i in range(sums + carry, len(jaxpr.outvars)):
        part = body.product_with_constant(i, wanted)
        chosen += [part] if part else []
    dropped = frozenset([part.output for part in chosen])
    kept = [v for i, v in enumerate(jaxpr.outvars) if i not in dropped]
    stacks, made = {}, []
    carried = len([i for i in range(sums + carry) if i not in dropped])
    for v in wanted:
        if v in body.slices:
            stacks[v] = "given", body.slices[v]
        elif v in kept[carried:]:
            stacks[v] = "made", carried + kept[carried:].index(v)
        else:
            stacks[v] = "made", len(kept) + len(made)
            made.append(v)
    read = sum([_bytes(v) for v in body.slices])
    if length * sum(map(_bytes, made)) > min(config.scan_stacking, length * read):
        return None
    gone = {id(eqn) for part in chosen for eqn in (part.product, *part.moves)}
    gone |= {id(eqn) for i in dropped if i < sums for eqn in body.additions[i]}
    equations = [eqn for eqn in jaxpr.equations if id(eqn) not in gone]
    invars = [
        v for i, v in enumerate(jaxpr.invars) if not (consts <= i < consts + sums and i - consts in dropped)
    ]
    smaller = Jaxpr(invars, [*kept, *made], equations, (), None, jaxpr.name)
    return Plan(smaller, dropped, tuple(chosen), stacks, body.constants)


def multiplies(body: Jaxpr) -> bool:
    return any(eqn.op.primitive is dot_general for eqn in body.equations)


def reads(part: Part) -> set[Any]:
    return set(part.product.inputs)


def _bytes(v: Var) -> int:
    return prod(v.aval.shape) * v.aval.dtype.itemsize


class _Body:
    """The body of a backward pass, and which of its variables is what."""

    def __init__(self, jaxpr: Jaxpr, consts: int, sums: int, carry: int) -> None:
        self.jaxpr = jaxpr
        self.constants = {v: i for i, v in enumerate(jaxpr.invars[:consts])}
        self.totals = jaxpr.invars[consts : consts + sums]
        self.slices = {v: i for i, v in enumerate(jaxpr.invars) if i >= consts + sums + carry}
        self.additions: dict[int, list] = {}  # for each sum the equations that add to it
        self.makers = {v: eqn for eqn in jaxpr.equations for v in eqn.outputs}
        self.uses: dict[Any, int] = {}
        for v in [v for eqn in jaxpr.equations for v in eqn.inputs] + jaxpr.outvars:
            if type(v) is not Literal:
                self.uses[v] = self.uses.get(v, 0) + 1

    def once(self, v: Var) -> Any:
        return type(v) is Var and self.uses.get(v) == 1

    def sum_of_products(self, i: Any) -> list[Part] | None:
        """The parts for sum ``i``, if all that it does is to grow by products or sums of what varies."""
        total, grown = self.totals[i], self.jaxpr.outvars[i]
        additions, terms, pending = [], [], [grown]
        while pending:
            v = pending.pop()
            eqn = self.makers.get(v) if self.once(v) else None
            if eqn is not None and eqn.op.primitive is add:
                additions.append(eqn)
                pending += reversed(eqn.inputs)
            else:
                terms.append(v)
        if total not in terms or not self.once(total):
            return None
        terms.remove(total)
        parts = []
        for v in terms:
            product, moves = self.product_of(v)
            if product is None or any(type(x) is Literal or x in self.constants for x in product.inputs):
                return None
            parts.append(Part(i, product, moves, (True,) * len(product.inputs), True))
        self.additions[i] = additions
        return parts

    def product_with_constant(self, i: Any, wanted: Any) -> Any:
        """The part for stacked output ``i``, if it is a product of one of ``wanted`` with a constant."""
        product, moves = self.product_of(self.jaxpr.outvars[i])
        if product is None or product.op.primitive is not dot_general:
            return None
        kinds = [
            ("stack" if v in wanted else "constant" if v in self.constants else None) for v in product.inputs
        ]
        if sorted(map(str, kinds)) != ["constant", "stack"]:
            return None
        return Part(i, product, moves, tuple([kind == "stack" for kind in kinds]), False)

    def product_of(self, v: Var) -> Any:
        """The equation of a product or sum that ``v`` is made by, and the moves after it; both read once."""
        moves = []
        while self.once(v) and v in self.makers:
            eqn = self.makers[v]
            if eqn.op.primitive in (dot_general, reduce_sum):
                return eqn, tuple(reversed(moves))
            if eqn.op.primitive not in CARRIED_OVER or type(eqn.inputs[0]) is not Var:
                break
            moves.append(eqn)
            v = eqn.inputs[0]
        return None, ()


def computed(part: Part, operands: list[Value]) -> Value:
    """One dropped output, from its operands with time as the first dimension where they are stacked."""
    op = part.product.op
    if op.primitive is reduce_sum:
        axes = (0, *[d + 1 for d in op.params["axes"]])
        out = reduce_sum(operands[0], **{**op.params, "axes": axes})
    else:
        out = product(op.params, operands, part)
    for eqn in part.moves:
        out = moved(eqn, out, part.summed)
    return out


def product(params: dict[Any, Any], operands: list[Value], part: Part) -> Value:
    """The product of all steps."""
    contract, batch = params["dimension_numbers"]
    later = [1 if stacked else 0 for stacked in part.stacked]
    contract = [tuple([d + n for d in dims]) for dims, n in zip(contract, later, strict=True)]
    batch = [tuple([d + n for d in dims]) for dims, n in zip(batch, later, strict=True)]
    if part.summed:
        contract = [(0, *dims) for dims in contract]
    numbers = tuple(contract), tuple(batch)
    out = dot_general(*operands, **{**params, "dimension_numbers": numbers})
    if part.summed:
        return out
    # Time is the first of its operand's free dimensions.
    at = len(batch[0])
    if part.stacked[1]:
        at += typeof(operands[0]).ndim - len(contract[0]) - len(batch[0])
    order = (at, *[d for d in range(typeof(out).ndim) if d != at])
    return out if at == 0 else transpose(out, permutation=order)


def moved(eqn: Equation, x: Value, summed: bool) -> Value:
    """A reshape or transpose of each step, for all.

    A compiler would make one product of a product and its transpose, for which XLA:CPU has no fast kernel:
    the gradient by ``w`` in ``x @ w.T`` took 1.5 times as long.
    """
    if summed:
        return eqn.op(optimization_barrier(x)[0] if eqn.op.primitive is transpose else x)
    if eqn.op.primitive is transpose:
        return transpose(x, permutation=(0, *[d + 1 for d in eqn.op.params["permutation"]]))
    return reshape(x, new_sizes=(typeof(x).shape[0], *eqn.outputs[0].aval.shape))
