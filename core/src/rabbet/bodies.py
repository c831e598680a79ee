"""How any interpreter goes through primitives that carry programs: calls, branches, loops.

An interpreter gives ``lift`` and ``type_of`` (and ``join``, where static parts differ); from that alone the functions here stage a body *under* the
interpreter: its payloads, flattened to their leaves, become the inputs of a new program, and what comes out is flattened again. The static
parts, which say how leaves make payloads, stay outside the program.

A value the interpreter never touched is *plain*: it is its own single leaf, and ``PLAIN`` is its static part.
"""

from rabbet import tree
from rabbet.interpreter import Tracer, run_traced
from rabbet.jaxpr import evaluate, open_consts
from rabbet.staging import stage


class Plain:
    """The static part of a value that the interpreter has not touched; the bottom of every join."""

    def __repr__(self):
        return "PLAIN"


PLAIN = Plain()


def take_apart(interpreter, values):
    """Flatten operands: a tracer of ``interpreter`` to its payload's leaves, any other value to itself.

    Returns:
      (leaves, structures): one structure per value, ``PLAIN`` or the payload's treedef.
    """
    leaves, structures = [], []
    for x in values:
        if type(x) is Tracer and x.interpreter is interpreter:
            parts, treedef = tree.flatten(x.payload)
            leaves += parts
            structures.append(treedef)
        else:
            leaves.append(x)
            structures.append(PLAIN)
    return leaves, tuple(structures)


def put_together(interpreter, structures, leaves):
    """The inverse of ``take_apart``: tracers (by the interpreter's ``wrap``) and plain values."""
    values, at = [], 0
    for structure in structures:
        if structure is PLAIN:
            values.append(leaves[at])
            at += 1
        else:
            n = structure.num_leaves
            values.append(interpreter.wrap(tree.unflatten(structure, leaves[at : at + n])))
            at += n
    return values


def interpret(interpreter, jaxpr, structures, leaf_avals):
    """Stage ``jaxpr`` under a fresh copy of ``interpreter``.

    Args:
      jaxpr: the body.
      structures: the static part of each of its inputs.
      leaf_avals: the types of the flattened inputs.

    Returns:
      (body, out_structures, consts): ``body`` takes ``consts`` and then the leaves of the inputs, and returns the leaves of the
      outputs. ``consts`` are empty where nothing outside was captured, and then the result is kept with ``jaxpr``.
    """
    key = interpreter.key()
    memo = None if key is None else (key, structures, tuple(leaf_avals))
    if memo is not None and memo in jaxpr.memo:
        return jaxpr.memo[memo]
    out_structures = None

    def flat(*leaves):
        nonlocal out_structures
        inner = interpreter.fresh()

        def on_values(*_):
            values = put_together(inner, structures, leaves)
            return evaluate(jaxpr, values)

        outs, out_structures = take_apart(inner, run_traced(inner, on_values, []))
        return outs

    closed = stage(flat, leaf_avals, jaxpr.name)
    result = open_consts(closed), out_structures, list(closed.consts)
    if memo is not None and not closed.consts:
        jaxpr.memo[memo] = result
    return result
