"""The module of an exported program: one public ``main``, constants within it, a variant for each
platform.
"""

import re
from typing import NamedTuple

import numpy as np

from rabbet import dtypes, tree
from rabbet.export.symbolic.expressions import value_of
from rabbet.export.symbolic.lowering import Emitter, Symbolic
from rabbet.export.symbolic.solving import scope_of, sizes_in, steps_for
from rabbet.extend.backend import lower_program
from rabbet.extend.native import foreign_functions
from rabbet.extend.passes import Jaxpr, Var, consts_as_inputs
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.rules import mlir_string
from rabbet.extend.sharding import EverywhereSharding

CALLED = re.compile(r'custom_call @(?:"([^"]+)"|([^"(\s]+))\(|call_target_name = "([^"]+)"')
SIZE = ShapedArray((), "int32")


class ModuleOf(NamedTuple):
    """A module's text, the arguments that its ``main`` takes, the native functions that it calls, and whether
    ``main`` takes a platform's number or dimensions before them.
    """

    text: str
    kept: tuple
    targets: frozenset
    global_constants: bool


def module_of(closed, in_avals, platforms, name, describe, spread=None):
    """Lower a program for platforms. ``describe(leaf)`` is what to call an argument in messages; ``spread``
    is the ``Spread`` of one for several devices.
    """
    sizes = sizes_in(in_avals)
    steps = steps_for(in_avals, describe)
    variants = [lowered(closed, platform, sizes, spread) for platform in platforms]
    if any(v.module.callbacks or v.module.partitioners for v in variants):
        raise NotImplementedError(f"export of {name!r}: the program calls Python functions of this process")
    kept = tuple(range(len(in_avals)))
    several = len(platforms) > 1
    texts = list(dict.fromkeys(v.module.key_text for v in variants))
    parts = [foreign_functions(text, f"variant{i}") for i, text in enumerate(texts)]
    which = [texts.index(v.module.key_text) for v in variants]
    body = Main(in_avals, list(closed.out_avals), several)
    if spread is not None:
        body.lie(spread.ins[len(closed.consts) :], spread.outs)
    first = body.sizes(steps, sizes, scope_of(in_avals), describe)
    first += [body.constant(np.asarray(c)) for c in closed.consts]
    results = body.choose(parts, which, first)
    main = body.text(results)
    symbol = re.sub(r"\W", "_", name, flags=re.ASCII)
    polymorphic = several or bool(sizes)
    head = (
        f"module @jit_{symbol} attributes {{jax.uses_shape_polymorphism = {str(polymorphic).lower()}, "
        f"mhlo.num_partitions = {1 if spread is None else len(spread.group)} : i32, "
        "mhlo.num_replicas = 1 : i32} {"
    )
    text = "\n".join([head, main, *[p.text for p in parts], "}"])
    found = frozenset("".join(names) for t in texts for names in CALLED.findall(t))
    return ModuleOf(text, kept, found, polymorphic)


def leaf_name(in_tree, index):
    """What to call an argument leaf in messages, ``args[0]['w']``."""
    path = tree.leaf_path(in_tree, index)
    return ("args", "kwargs")[path[0].idx] + tree.keystr(path[1:])


def lowered(closed, platform, sizes, spread):
    """The program lowered for a platform, its sizes first, then its captured arrays. All variants take the
    same arguments.
    """
    program = consts_as_inputs(closed)
    if not sizes and not has_symbols(program):
        return lower_program(program, platform, "main", keep_unused=True, spread=spread)
    ins = [Var(SIZE) for _ in sizes] + list(program.invars)
    whole = Jaxpr(ins, program.outvars, program.equations, program.constvars, program.effects)
    if spread is not None:  # every device knows the sizes
        spread = spread._replace(ins=(*[EverywhereSharding(spread.group) for _ in sizes], *spread.ins))
    return lower_program(
        whole, platform, "main", keep_unused=True, spread=spread, symbolic=Symbolic(sizes)
    )


def has_symbols(program):
    """Whether an array within a program has a symbolic dimension."""
    return any(v.aval.is_symbolic for eqn in program.equations for v in eqn.outputs)


class Main:
    """The function ``main`` being written."""

    def __init__(self, arguments, results, several):
        self.arguments, self.results, self.several = arguments, results, several
        self.of_arguments, self.of_results = [""] * len(arguments), [""] * len(results)
        self.lines = []
        self.count = 0

    def lie(self, ins, outs):
        """Say how arguments and results lie over devices; of those that lie anywhere nothing is said."""
        for notes, shardings, avals in (
            (self.of_arguments, ins, self.arguments),
            (self.of_results, outs or (), self.results),
        ):
            for i, sharding in enumerate(shardings):
                if sharding is not None and type(sharding) is not EverywhereSharding:
                    sharding.check(avals[i].shape)
                    notes[i] = f" {{{sharding.attributes(avals[i].physical.ndim)}}}"

    def emit(self, text):
        """Write an operation; return the name of its result."""
        self.count += 1
        self.lines.append(f"%{self.count} = {text}")
        return f"%{self.count}"

    def constant(self, value):
        """The name and type of an array."""
        if value.dtype == dtypes.float0:
            value = np.zeros(value.shape, bool)  # what stands for it in programs
        aval = ShapedArray(value.shape, value.dtype)
        return self.emit(f"stablehlo.constant {dense(value)} : {aval.mlir}"), aval

    def sizes(self, steps, names, scope, describe):
        """The names and types of the sizes, found from the dimensions of the arguments, with assertions that
        all of them fit.
        """
        emitter = Emitter(self.emit, lambda n: self.emit(f"stablehlo.constant dense<{n}> : tensor<i32>"))
        given, found = {}, {}
        for i, aval in enumerate(self.arguments):
            for axis in range(aval.ndim) if aval.is_symbolic else ():
                given[i, axis] = emitter.value(self.emit(
                    f"stablehlo.get_dimension_size %arg{i + self.several}, dim = {axis} : ({aval.mlir}) -> "
                    "tensor<i32>"
                ))  # fmt: skip
        for step in steps:
            here = given[step.place.leaf, step.place.axis]
            if step.rest != 0:
                here = emitter.binary("subtract", here, value_of(step.rest, found, emitter.operation))
            if step.factor != 1:
                rest = emitter.operation("mod", here, emitter.lifted(step.factor))
                what = f"Division had remainder {{0}} when computing the value of '{step.name}'"
                self.claim(emitter.compare("EQ", rest, 0), [rest], what, describe)
                here = emitter.operation("floordiv", here, emitter.lifted(step.factor))
            what = f"Expected value >= 1 for dimension variable '{step.name}', found {{0}}"
            self.claim(emitter.compare("GE", here, 1), [here], what, describe)
            found[step.name] = here
        alone = {(s.place.leaf, s.place.axis) for s in steps}
        for (i, axis), size in given.items():
            d = self.arguments[i].shape[axis]
            if (i, axis) not in alone and not isinstance(d, int):
                wanted = emitter.lifted(value_of(d, found, emitter.operation))
                what = (
                    f"Found inconsistency between dimension size {describe(i)}.shape[{axis}] (= {{0}}) and "
                    f"the specification '{d}' (= {{1}})"
                )
                self.claim(emitter.compare("EQ", size, wanted), [size, wanted], what, describe)
        for left, sign, right in scope.conditions(set(found)) if scope is not None else ():
            x, y = value_of(left, found, emitter.operation), value_of(right, found, emitter.operation)
            what = f"They do not fulfil the constraint {left} {sign} {right}"
            self.claim(emitter.compare("GE" if sign == ">=" else "EQ", x, y), [], what, describe)
        return [(found[name].name, SIZE) for name in names]

    def claim(self, condition, values, what, describe):
        """What the loader looks at when it knows the shapes: an assertion that stops it with a text."""
        symbolic = [(i, a) for i, a in enumerate(self.arguments) if a.is_symbolic]
        shapes = ",".join(f"{describe(i)}.shape = {a.shape}" for i, a in symbolic)
        text = (
            f"Input shapes do not match the polymorphic shapes specification. {what}. Using the following "
            f"polymorphic shapes specifications: {shapes}."
        )
        names = ", ".join([condition, *[v.name for v in values]])
        types = ", ".join(["tensor<i1>", *["tensor<i32>"] * len(values)])
        self.lines.append(
            f"stablehlo.custom_call @shape_assertion({names}) {{api_version = 2 : i32, "
            f'error_message = {mlir_string(text)}, has_side_effect = true}} : ({types}) -> ()'
        )

    def choose(self, parts, which, consts):
        """Call the variant of the platform; return the names of the results."""
        names = [name for name, _ in consts] + [f"%arg{i + self.several}" for i in range(len(self.arguments))]
        types = [aval.mlir for _, aval in consts] + [a.mlir for a in self.arguments]
        outs = ", ".join([a.mlir for a in self.results])
        number = len(self.results)

        def call(part):
            return f"func.call @{part.symbol}({', '.join(names)}) : ({', '.join(types)}) -> ({outs})"

        self.count += 1
        name = f"%{self.count}"
        shown = f"{name}:{number} = " if number > 1 else f"{name} = " if number else ""
        results = [f"{name}#{i}" for i in range(number)] if number > 1 else [name] * number
        if len(parts) == 1:
            self.lines.append(f"{shown}{call(parts[0])}")
            return results
        regions = []
        for i in which:
            inner = f"%r:{number} = " if number > 1 else "%r = " if number else ""
            given = ", ".join([f"%r#{k}" for k in range(number)] if number > 1 else ["%r"] * number)
            last = f"stablehlo.return {given} : {outs}" if number else "stablehlo.return"
            regions.append(f"{{\n{inner}{call(parts[i])}\n{last}\n}}")
        branches = ", ".join(regions)
        self.lines.append(f'{shown}"stablehlo.case"(%arg0) ({branches}) : (tensor<i32>) -> ({outs})')
        return results

    def text(self, results):
        """The function."""
        head = ['%arg0: tensor<i32> {jax.global_constant = "_platform_index"}'] if self.several else []
        noted = zip(self.arguments, self.of_arguments, strict=True)
        head += [f"%arg{i + self.several}: {a.mlir}{note}" for i, (a, note) in enumerate(noted)]
        types = ", ".join([a.mlir for a in self.results])
        shown = ", ".join([a.mlir + note for a, note in zip(self.results, self.of_results, strict=True)])
        last = f"return {', '.join(results)} : {types}" if results else "return"
        return "\n".join(
            [f"func.func public @main({', '.join(head)}) -> ({shown}) {{", *self.lines, last, "}"]
        )


def dense(value):
    """An array as an attribute: of whole bytes as their digits, exact and short; others one by one."""
    if value.size == 0:
        return "dense<>"
    if value.dtype == bool or value.dtype.itemsize * 8 != dtypes.itemsize_bits(value.dtype):
        return f"dense<{_nested(value)}>"
    little = value.astype(value.dtype.newbyteorder("<"))
    return f'dense<"0x{np.ascontiguousarray(little).tobytes().hex().upper()}">'


def _nested(value):
    if value.ndim:
        return "[" + ", ".join([_nested(row) for row in value]) + "]"
    if value.dtype == bool:
        return "true" if value else "false"
    return str(int(value)) if dtypes.kind(value.dtype) in "iu" else repr(float(value))


__all__ = ["ModuleOf", "leaf_name", "module_of"]
