"""The module of an exported program: one public ``main``, constants within it, a variant for each
platform.
"""

import re
from typing import NamedTuple

import numpy as np

from rabbet import dtypes
from rabbet.extend.backend import lower_program
from rabbet.extend.native import foreign_functions
from rabbet.extend.passes import consts_as_inputs
from rabbet.extend.primitive import ShapedArray

CALLED = re.compile(r'custom_call @(?:"([^"]+)"|([^"(\s]+))\(|call_target_name = "([^"]+)"')
PLATFORM = ShapedArray((), "int32")


class ModuleOf(NamedTuple):
    """A module's text, the arguments that its ``main`` takes, the native functions that it calls, and whether
    ``main`` takes a platform's number or dimensions before them.
    """

    text: str
    kept: tuple
    targets: frozenset
    global_constants: bool


def module_of(closed, in_avals, platforms, name):
    """Lower a program for platforms."""
    variants = [lowered(closed, platform) for platform in platforms]
    if any(v.module.callbacks for v in variants):
        raise NotImplementedError(f"export of {name!r}: the program calls Python functions of this process")
    offset = len(closed.consts)
    kept = tuple([k - offset for k in variants[0].kept if k >= offset])
    several = len(platforms) > 1
    texts = list(dict.fromkeys(v.module.key_text for v in variants))
    parts = [foreign_functions(text, f"variant{i}") for i, text in enumerate(texts)]
    which = [texts.index(v.module.key_text) for v in variants]
    arguments = [in_avals[i] for i in kept]
    body = Main(arguments, list(closed.out_avals), several)
    consts = [body.constant(np.asarray(closed.consts[k])) for k in variants[0].kept if k < offset]
    results = body.choose(parts, which, consts)
    main = body.text(results)
    symbol = re.sub(r"\W", "_", name, flags=re.ASCII)
    head = (
        f"module @jit_{symbol} attributes {{jax.uses_shape_polymorphism = {str(several).lower()}, "
        "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {"
    )
    text = "\n".join([head, main, *[p.text for p in parts], "}"])
    found = frozenset("".join(names) for t in texts for names in CALLED.findall(t))
    return ModuleOf(text, kept, found, several)


def lowered(closed, platform):
    """The program lowered for a platform, its captured arrays first. All variants take the same arguments."""
    return lower_program(consts_as_inputs(closed), platform, "main", keep_unused=True)


class Main:
    """The function ``main`` being written."""

    def __init__(self, arguments, results, several):
        self.arguments, self.results, self.several = arguments, results, several
        self.lines = []
        self.count = 0

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
        head += [f"%arg{i + self.several}: {a.mlir}" for i, a in enumerate(self.arguments)]
        types = ", ".join([a.mlir for a in self.results])
        last = f"return {', '.join(results)} : {types}" if results else "return"
        return "\n".join(
            [f"func.func public @main({', '.join(head)}) -> ({types}) {{", *self.lines, last, "}"]
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


__all__ = ["ModuleOf", "module_of"]
