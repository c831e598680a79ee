"""Weights that a loop multiplies by with their rows and columns swapped are swapped once, before the loop.

What: where each step of a scan computes ``dot(x, transpose(w))`` of a few rows ``x`` with a matrix ``w`` that
stays the same, ``transpose(w)`` becomes a constant of the loop. That is what the backward pass of a recurrent
network does, and of an integration by a small network.

Why: XLA:CPU multiplies a few rows by a matrix along its rows in a kernel that reads the matrix in order; with
the matrix as it is, it swaps parts of it at every step. Measured over 32 steps, the swap before them counted
in, on a Zen 5 with AVX-512; processor time as a share of that without this pass, alternately in one process:

| w, type | jaxlib | 1 row | 2 | 4 | 8 | 16 | 32 | 48 | 64 | 128 |
|---|---|---|---|---|---|---|---|---|---|---|
| 128 x 512, float32 | 0.10 | 1.15 | 0.36 | 0.39 | 0.57 | 0.70 | 0.82 | 0.86 | 0.97 | 1.02 |
| 256 x 256, float32 | 0.10 | 1.17 | 0.52 | 0.42 | 0.55 | 0.74 | 0.80 | 0.84 | 1.00 | 0.86 |
| 64 x 64, float32 | 0.10 | 1.05 | 0.65 | 0.66 | 0.70 | 0.75 | 0.82 | 0.85 | 0.96 | 0.98 |
| 128 x 32, float32 | 0.10 | 1.00 | 0.66 | 0.67 | 0.74 | 0.77 | 0.85 | 0.87 | 0.85 | 0.98 |
| 512 x 2048, float32 | 0.10 | | 0.34 | | 0.39 | | 0.71 | | 0.92 | 0.96 |
| 256 x 256, float64 | 0.10 | | 0.35 | | 0.44 | | 0.72 | | 0.92 | 0.94 |
| 128 x 512, float32 | 0.12 | 1.32 | 0.47 | 0.62 | 0.55 | 0.73 | 0.87 | 1.26 | 0.79 | 1.03 |
| 256 x 256, float32 | 0.12 | 2.05 | 0.47 | 0.48 | 0.61 | 0.75 | 0.88 | 0.90 | 1.02 | 1.07 |
| 64 x 64, float32 | 0.12 | 1.11 | 0.70 | 0.70 | 0.74 | 0.78 | 0.86 | 0.88 | 0.99 | 1.00 |
| 256 x 256, float64 | 0.12 | | 0.34 | | 0.49 | | 0.79 | | 0.97 | 0.95 |

The swap itself takes as long as is gained in 3 to 12 steps.
"""

from math import prod
from typing import Any, NamedTuple

from rabbet.extend.passes import Equation, Jaxpr, Pass, Var, open_calls
from rabbet.extend.primitive import dot_general, scan, transpose

DTYPES = "float32", "float64"
LEAST_ROWS, MOST_ROWS = 2, 48
LEAST_STEPS = 16
LEAST_SIZE = 32  # of each side of the matrix
SWAP = transpose.op(permutation=(1, 0))


class Product(NamedTuple):
    """A product of a loop's body that gains: its equation, the rows, the weight as it was given."""

    eqn: Any
    rows: Any
    weight: Any
    weight_first: bool = False  # whether the rows are its second operand, and the result's columns
    twice: bool = False  # whether it was transposed already, so that the weight is needed as it is


def turn_weights(jaxpr, context=None):
    """``jaxpr`` with scans that get their weights turned; itself where there are none."""
    if not any(eqn.op.primitive is scan for eqn in jaxpr.equations):
        return jaxpr
    equations, changed = [], False
    for eqn in jaxpr.equations:
        replaced = turned(eqn) if eqn.op.primitive is scan else None
        equations += replaced or [eqn]
        changed = changed or replaced is not None
    if not changed:
        return jaxpr
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def turned(eqn):
    """The equations for one scan: transposes, then the scan that reads them; None where nothing gains."""
    op, consts = eqn.op, eqn.op.params["consts"]
    weights = {v: i for i, v in enumerate(op.params["jaxpr"].invars[:consts]) if is_weight(v.aval)}
    if not weights or op.params["length"] < LEAST_STEPS:
        return None
    body = open_calls(op.params["jaxpr"], multiplies)
    products = {id(found.eqn): found for found in gaining(body, weights)}
    if not products:
        return None
    before, within = [], {}  # the transposes, and for each weight of the body its transpose there
    for weight in dict.fromkeys([found.weight for found in products.values() if not found.twice]):
        (aval,) = SWAP.outs((weight.aval,))
        before.append(Equation(SWAP, [eqn.inputs[weights[weight]]], [Var(aval)], eqn.where))
        within[weight] = Var(aval)
    steps = []
    for e in body.equations:
        found = products.get(id(e))
        if found is None:
            steps.append(e)
        else:
            steps += by_rows(found, found.weight if found.twice else within[found.weight])
    invars = [*within.values(), *body.invars]
    body = Jaxpr(invars, body.outvars, steps, body.constvars, body.effects, body.name)
    inputs = [*[e.outputs[0] for e in before], *eqn.inputs]
    loop = op.replaced(jaxpr=body, consts=consts + len(within))
    return [*before, Equation(loop, inputs, eqn.outputs, eqn.where)]


def is_weight(aval):
    return len(aval.shape) == 2 and min(aval.shape) >= LEAST_SIZE and aval.dtype.name in DTYPES


def multiplies(body):
    return any(eqn.op.primitive is dot_general for eqn in body.equations)


def gaining(body, weights):
    """The products of a few rows with the transpose of one of ``weights``."""
    swapped = {}  # results of transposes of weights
    for eqn in body.equations:
        if eqn.op.primitive is transpose and eqn.inputs[0] in weights:
            swapped[eqn.outputs[0]] = eqn.inputs[0]
        if eqn.op.primitive is not dot_general or eqn.op.params["dimension_numbers"][1] != ((), ()):
            continue
        x, y = eqn.inputs
        contract, _ = eqn.op.params["dimension_numbers"]
        if y in swapped and contract == ((x.aval.ndim - 1,), (0,)):
            found = Product(eqn, x, swapped[y])
        elif y in swapped and contract == ((x.aval.ndim - 1,), (1,)):
            found = Product(eqn, x, swapped[y], twice=True)
        elif y in weights and contract == ((x.aval.ndim - 1,), (1,)):
            found = Product(eqn, x, y)
        elif x in weights and contract == ((1,), (1,)) and y.aval.ndim == 2:
            found = Product(eqn, y, x, weight_first=True)
        else:
            continue
        rows = found.rows
        few = LEAST_ROWS <= prod(rows.aval.shape[:-1]) <= MOST_ROWS
        if few and rows not in weights and rows.aval.dtype == found.weight.aval.dtype:
            yield found


def by_rows(found, weight):
    """The equations of a product, with the transposed weight."""
    eqn = found.eqn
    contract = (found.rows.aval.ndim - 1,), (0,)
    product = eqn.op.replaced(dimension_numbers=(contract, ((), ())))
    if not found.weight_first:
        return [Equation(product, [found.rows, weight], eqn.outputs, eqn.where)]
    (aval,) = product.outs((found.rows.aval, weight.aval))
    made = Var(aval)
    return [
        Equation(product, [found.rows, weight], [made], eqn.where),
        Equation(SWAP, [made], eqn.outputs, eqn.where),
    ]


PASS = Pass(
    "turned-weights", turn_weights, platforms=("cpu",),
    after=("dead-code", "cse", "fold", "weight-dots-2d", "outline"), before=("long-programs",),
    doc="transpose weights before the loops that multiply by their transposes",
)  # fmt: skip
