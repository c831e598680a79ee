"""From a function and types of arguments to a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rabbet as rb
from rabbet import dtypes, tree
from rabbet.errors import MissingRule
from rabbet.extend.functions import describe_function, folded, source_position
from rabbet.extend.passes import Literal, bodies_of, consts_as_inputs, stage, without_calls
from rabbet.extend.primitive import ShapedArray, effect_names
from rabbet.extend.transform import typeof
from rabbet.onnx import layout, numbers, windows  # noqa: F401  (they fill the table of rules)
from rabbet.onnx.graph import Graph, Value, element_type, library
from rabbet.onnx.rules import Unsupported, find
from rabbet.tree import keystr

# What only says how a program is differentiated: it is written as the program.
TRANSPARENT = ("custom_call", "checkpoint")
OPSET, IR = 18, 9  # of ONNX 1.14: old enough for runtimes of 2023


@folded
def export(
    fun: Callable,
    *args: Any,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    **kwargs: Any,
) -> Any:
    """A function as an ONNX model, in the operations of its version 18.

    Arguments become the model's inputs, in the order of their leaves; arrays that the function captured,
    such as trained weights, lie within the model. What depends on neither is computed now.

    Args:
      fun: a function of pytrees of arrays, jitted or not.
      *args, **kwargs: arrays, or ``rb.ShapeDtypeStruct`` in their place; shapes are fixed.
      input_names, output_names: a name for each leaf; by default those of the arguments, and ``out``.

    Returns:
      an ``onnx.ModelProto``: ``onnx.save(model, path)`` writes it.

    Raises:
      MissingRule: the program has an operation that has no form in ONNX here; it is named with its line.
      TypeError: ONNX has no such dtype. NotImplementedError: the function has effects. ValueError: names that
        are not as many as leaves, or not different.

    Example:
      >>> weights = rnp.ones((3, 2))
      >>> model = rb.onnx.export(lambda x: rnp.tanh(x @ weights), rb.ShapeDtypeStruct((4, 3), "float32"))
      >>> [node.op_type for node in model.graph.node], [i.name for i in model.graph.input]
      (['MatMul', 'Tanh'], ['x'])
    """
    onnx = library()
    leaves, structure = tree.flatten((args, kwargs))
    avals = [plain(typeof(x)) for x in leaves]
    found: dict[str, Any] = {}

    def flat(*values):
        args, kwargs = tree.unflatten(structure, values)
        pairs, _ = tree.flatten_with_path(fun(*args, **kwargs))
        found["paths"] = [path for path, _ in pairs]
        return [x for _, x in pairs]

    closed = stage(flat, avals, name=getattr(fun, "__name__", "function"))
    if closed.jaxpr.effects:
        raise NotImplementedError(
            f"onnx.export of {describe_function(fun)}: the program has effects "
            f"({effect_names(closed.jaxpr.effects)}), and only results can be exported"
        )
    ins = chosen("input_names", input_names, names_of_arguments(fun, structure, len(leaves)))
    outs = chosen("output_names", output_names, [result_name(path) for path in found["paths"]], ins)
    graph = Graph((*ins, *outs))
    inputs = [Value(name, aval) for name, aval in zip(ins, avals, strict=True)]
    results = write(graph, closed, inputs)
    name_results(graph, outs, results)

    def described(name, aval):
        return onnx.helper.make_tensor_value_info(name, element_type(aval.dtype), list(aval.shape))

    body = onnx.helper.make_graph(
        used(graph, outs),
        getattr(fun, "__name__", "function"),
        [described(v.name, v.aval) for v in inputs],
        [described(name, v.aval) for name, v in zip(outs, results, strict=True)],
    )
    needed = {name for node in body.node for name in node.input}
    body.initializer.extend([t for name, (t, _) in graph.initializers.items() if name in needed])
    model = onnx.helper.make_model(
        body, opset_imports=[onnx.helper.make_opsetid("", OPSET)], producer_name="rabbet", ir_version=IR
    )
    onnx.checker.check_model(model)
    return model


def write(graph, closed, inputs):
    """Write the nodes of a program; return its results as values."""
    consts = [Value("", plain(typeof(x)), known(x)) for x in closed.consts]
    return write_program(graph, consts_as_inputs(closed), [*consts, *inputs])


def write_program(graph, program, inputs):
    """Write the nodes of a program without constants of its own."""
    program = without_calls(program)
    env: dict[Any, Value] = dict(zip(program.invars, inputs, strict=True))

    def value(x):
        return Value("", x.aval, np.asarray(x.value, x.aval.dtype)) if isinstance(x, Literal) else env[x]

    for eqn in program.equations:
        given = [value(x) for x in eqn.inputs]
        if all(v.known is not None for v in given):
            computed = eqn.op(*[given_again(v) for v in given])
            computed = computed if isinstance(computed, (list, tuple)) else [computed]
            for var, x in zip(eqn.outputs, computed, strict=True):
                env[var] = Value("", var.aval, known(x))
            continue
        rule = find(eqn.primitive)
        transparent = rule is None and eqn.primitive.name in TRANSPARENT
        if not transparent and any(is_key(v.aval) for v in given):
            raise missing(eqn, "it takes a random key, and ONNX has none; draw before, and give the numbers")
        if transparent:
            (body,) = [part for _, part in bodies_of(eqn.op)]
            env.update(zip(eqn.outputs, write_program(graph, body, given), strict=True))
            continue
        named = [v if v.known is None else v._replace(name=graph.constant(v.known)) for v in given]
        if rule is None:
            raise missing(eqn, "it has no form in ONNX here")
        try:
            names = rule(graph, eqn, *named)
        except Unsupported as reason:
            raise missing(eqn, str(reason)) from None
        names = [names] if isinstance(names, str) else names
        env.update({v: Value(name, v.aval) for v, name in zip(eqn.outputs, names, strict=True)})
    return [value(x) for x in program.outvars]


def is_key(aval):
    """Whether values of a type are random keys."""
    return dtypes.issubdtype(aval.dtype, dtypes.prng_key)


def known(x):
    """A value that is known when the graph is written: a NumPy array, or keys as they are."""
    return x if is_key(typeof(x)) else np.asarray(x)


def given_again(value):
    """A known value as an operand."""
    return value.known if is_key(value.aval) else rb.lax.convert_element_type(value.known, value.dtype)


def name_results(graph, outs, results):
    """Give results their names: to the node that makes one, or through a node of its own."""
    made, renamed = {name for node in graph.nodes for name in node.output}, {}
    for name, value in zip(outs, results, strict=True):
        source = graph.constant(value.known) if value.known is not None else value.name
        if source in made and source not in renamed:
            renamed[source] = name
        else:
            source = renamed.get(source, source)
            graph.nodes.append(library().helper.make_node("Identity", [source], [name]))
    for node in graph.nodes:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                if name in renamed:
                    names[i] = renamed[name]


def missing(eqn, reason):
    place = source_position(eqn.where)
    return MissingRule(
        f"onnx.export: {eqn.primitive.name!r}: {reason}\n  called at {place}\n"
        "  to fix: say it by other operations, or give the primitive a rule with rabbet.onnx.rule"
    )


def used(graph, outs):
    """The nodes that results depend on, in their order."""
    needed, kept = set(outs), []
    for node in reversed(graph.nodes):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    return kept[::-1]


def plain(aval):
    return ShapedArray(aval.shape, aval.dtype)


def names_of_arguments(fun, structure, count):
    """Names for the leaves of the arguments: those of the parameters, and the paths within them."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = []
    for path, _ in tree.leaves_with_path(tree.unflatten(structure, range(count))):
        which, first, *rest = path
        name = keystr([first], simple=True)
        if which.idx == 0:
            name = positional[int(name)] if int(name) < len(positional) else f"arg{name}"
        names.append(".".join([name, *[keystr([key], simple=True) for key in rest]]))
    return names


def result_name(path):
    return ".".join(["out", *[keystr([key], simple=True) for key in path]])


def chosen(what, given, names, taken=()):
    """The names that were given, or the default ones; as many as there are, and different."""
    if given is not None and len(given) != len(names):
        raise ValueError(f"onnx.export: {what} has {len(given)} names for {len(names)} leaves: {names}")
    wanted = list(names if given is None else given)
    if len({*wanted, *taken}) < len(wanted) + len(taken):
        raise ValueError(f"onnx.export: names of inputs and outputs are different, got {[*taken, *wanted]}")
    return wanted

__all__ = ["export"]
