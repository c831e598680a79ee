"""Updates of parts of an array that read what earlier updates made are kept out of one another's loops.

What: in a chain of at least `LEAST` updates in place (``dynamic_update_slice``, which is what
``x.at[2:].set(...)`` and its relatives become) each of which reads results of the one before, the new values
go through an ``optimization_barrier``.

Why: XLA:CPU fuses an update with the computation of its values. With jaxlib 0.12 it takes in the update
before as well, which holds the one before it: the last loop of an elimination written out row by row computes
all of it again, and an array that is read beside is copied. With the barrier new values are computed from the
array as it is, then written in place.

Measured on a Zen 5, float32, alternately in one process; the processor time to compile and of a run as a
share of that without this pass. An elimination is, for each row, ``a.at[k+1:, k].divide(a[k, k])`` and
``a.at[k+1:, k+1:].add(-outer(...))``; a stencil sets the inner places, then three edges, in each of its
steps.

| program | updates in turn | compile, 0.12 | run, 0.12 | compile, 0.10 | run, 0.10 |
|---|---|---|---|---|---|
| elimination of 5 rows | 8 | 0.88 | 1.02 | 0.77 | 1.03 |
| of 10 rows | 18 | 0.80 | 0.97 | 0.74 | 1.03 |
| of 20 rows | 38 | 0.66 | 0.66 | 0.71 | 0.95 |
| of 40 rows | 78 | 0.38 | 0.19 | 0.67 | 0.79 |
| 8 rows of 256 | 8 | 0.75 | 0.41 | 0.82 | 0.78 |
| stencil of 64 x 64, one step | 4 | 1.00 | 0.99 | 0.90 | 0.99 |
| two, eight steps | 8, 32 | 0.83, 0.92 | 0.90, 0.68 | 0.85, 1.17 | 0.90, 0.70 |
| stencil of 512 x 512, four steps | 16 | 0.87 | 0.62 | 0.97 | 0.64 |
| forward substitution of 16 rows | 16 | 0.56 | 1.00 | 0.61 | 1.00 |
| the stencil's step in a loop, 64 and 512 | 4 | 2.1, 2.8 | 0.96, 1.08 | 1.08, 0.92 | 1.01, 1.01 |
| two of its steps in each round of a loop | 8 | 1.6, 1.7 | 0.73, 0.70 | 0.79, 0.93 | 0.78, 0.73 |

(With 0.12 a small loop without a barrier is compiled as one piece, in 0.07 to 0.15 s.)
"""

from rabbet.extend.passes import Equation, Jaxpr, Pass, Var
from rabbet.extend.primitive import dynamic_update_slice, optimization_barrier

LEAST = 8


def keep_apart(jaxpr, context=None):
    """``jaxpr`` with barriers on the values of chained updates; itself where there is no chain."""
    if sum([eqn.op.primitive is dynamic_update_slice for eqn in jaxpr.equations]) < LEAST:
        return jaxpr
    chained, longest = updates_of_updates(jaxpr)
    if longest < LEAST:
        return jaxpr
    equations = []
    for eqn in jaxpr.equations:
        if eqn in chained:
            array, values, *starts = eqn.inputs
            held = Var(values.aval)
            equations.append(Equation(optimization_barrier.op(), [values], [held], eqn.where))
            eqn = Equation(eqn.op, [array, held, *starts], eqn.outputs, eqn.where)
        equations.append(eqn)
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def updates_of_updates(jaxpr):
    """The updates whose values are made of what other updates made, and how many follow on one another."""
    level, chained = {}, set()  # for each variable how many updates in turn it comes from
    for eqn in jaxpr.equations:
        most = max([level.get(v, 0) for v in eqn.inputs if type(v) is Var], default=0)
        if eqn.op.primitive is dynamic_update_slice:
            values = eqn.inputs[1]
            if type(values) is Var and level.get(values):
                chained.add(eqn)
            most += 1
        if most:
            level.update(dict.fromkeys(eqn.outputs, most))
    return chained, max(level.values(), default=0) if chained else 0


PASS = Pass(
    "updates-apart", keep_apart, platforms=("cpu",),
    after=("dead-code", "cse", "fold", "weight-dots-2d", "outline"), before=("long-programs",),
    doc="compute the values of an update in place before it, where updates follow on one another",
)  # fmt: skip
