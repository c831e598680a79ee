"""The kernels' calls within a function's program."""

import numpy as np
import rabbet as rb
from rabbet.extend.passes import bodies_of, evaluate


def calls_of(function, arguments):
    """Each ``pallas_call`` equation's ``Call``, of the only program of a function."""
    return list(within(rb.make_jaxpr(function)(*arguments).jaxpr))


def within(jaxpr):
    for equation in jaxpr.equations:
        if equation.op.primitive.name == "pallas_call":
            yield equation.op.params["call"]
        else:
            for body in bodies_of(equation):
                yield from within(body)


def computed(function, arguments, run):
    """What a function gives if its kernels are computed by ``run(call, operands)``, and all else as usual."""
    closed = rb.make_jaxpr(function)(*arguments)
    jaxpr = closed.jaxpr
    env = dict(zip(jaxpr.constvars, [np.asarray(c) for c in closed.consts], strict=True))
    env.update(zip(jaxpr.invars, [np.asarray(a) for a in rb.tree.leaves(arguments)], strict=True))
    value = lambda v: env[v] if v in env else np.asarray(v.value, v.aval.dtype)
    for equation in jaxpr.equations:
        given = [
            value(v) if hasattr(v, "value") is False else np.asarray(v.value, v.aval.dtype)
            for v in equation.inputs
        ]
        if equation.op.primitive.name == "pallas_call":
            outs = run(equation.op.params["call"], given)
        elif "jaxpr" in equation.op.params and equation.op.primitive.name != "scan":
            outs = through(equation.op.params["jaxpr"], given, run)
        else:
            outs = equation.op(*given)
            outs = outs if isinstance(outs, (list, tuple)) else [outs]
        env.update(zip(equation.outputs, [np.asarray(x) for x in outs], strict=True))
    return [value(v) for v in jaxpr.outvars]


def through(jaxpr, given, run):
    """The results of a program that a call names."""
    return computed(lambda *xs: evaluate(jaxpr, xs), tuple(given), run)
