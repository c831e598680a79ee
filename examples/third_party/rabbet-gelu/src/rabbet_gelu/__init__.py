"""gelu in one call: a primitive with a kernel in C++, and a pass that puts it into programs."""

import ctypes
import functools
from pathlib import Path

import numpy as np
from rabbet import lax
from rabbet.extend.cost import Cost
from rabbet.extend.native import NativeCalls, register_ffi_target
from rabbet.extend.passes import Equation, Jaxpr, Literal, Pass, PassContext, Var, stage
from rabbet.extend.primitive import Op, Primitive, ShapedArray
from rabbet.extend.rules import Site
from rabbet.ffi import pycapsule

TARGET = "rabbet_gelu_f32"


def provide(platform: str, targets: frozenset[str]) -> None:
    """Register the function, before a program that calls it is compiled or loaded."""
    if platform == "cpu":
        library = ctypes.CDLL(str(Path(__file__).with_name("libgelu.so")))
        register_ffi_target(TARGET, pycapsule(library.FusedGeluF32), platform="cpu")


# What it computes stays what it is, so programs that are exported may call it.
CALLS = NativeCalls("gelu", (TARGET,), provide, stable=True)


# ------------------------------------------------------------------------------------------ the primitive
def gelu(x):
    """gelu by tanh, as `rabbet.nn.gelu` writes it."""
    inner = lax.mul(lax.add(x, lax.mul(lax.integer_pow(x, 3), 0.044715)), 0.7978845608028654)
    return lax.mul(x, lax.mul(lax.add(lax.tanh(inner), 1.0), 0.5))


fused_gelu = Primitive(
    "fused_gelu", lambda x: x, kinds=("elementwise", "finite_slope"), doc="gelu by tanh, in one call"
)


@fused_gelu.decompose  # what every transformation sees, and other platforms and dtypes compute
def parts(op: Op, x):
    return gelu(x)


@fused_gelu.rule("lower:cpu")
def call(op: Site, x: str) -> str:
    if op.out.dtype != "float32":
        return op.write(lambda x: [gelu(x)], op.in_avals, [x])[0]
    return op.custom_call(TARGET, [x], [op.out])[0]


@fused_gelu.rule("partition")  # each element is its own: all dimensions may be cut
def cut(op: Op, x: ShapedArray) -> str:
    names = " ".join("abcdefghijklmnopqrstuvwxyz"[: len(x.shape)])
    return f"{names} -> {names}"


@fused_gelu.rule("cost")
def costs(op: Op, x: ShapedArray) -> Cost:
    return Cost(flops=8.0 * x.size, bytes=2.0 * x.nbytes, transcendentals=float(x.size))


# ----------------------------------------------------------------------------------------------- the pass
def fuse(jaxpr: Jaxpr, context: PassContext) -> Jaxpr:
    """The program with one call for each gelu whose steps nobody else reads; itself where there is none."""
    made_by = {eqn.outputs[0]: eqn for eqn in jaxpr.equations if len(eqn.outputs) == 1}
    reads = [x for eqn in jaxpr.equations for x in eqn.inputs] + list(jaxpr.outvars)
    readers = {v: reads.count(v) for v in {x for x in reads if type(x) is Var}}
    equations = [fused(eqn, made_by, readers) or eqn for eqn in jaxpr.equations]
    if equations == jaxpr.equations:
        return jaxpr  # the steps stay where they are: `dead-code`, which follows, drops them
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


@functools.lru_cache(64)
def steps_of_gelu(shape: tuple[int, ...]) -> Jaxpr:
    """The program of gelu on float32 numbers, wherever they lie."""
    return stage(lambda x: [gelu(x)], [ShapedArray(shape, np.dtype("float32"))]).jaxpr


def fused(eqn: Equation, made_by: dict[Var, Equation], readers: dict[Var, int]) -> Equation | None:
    """The call that computes what `eqn` is the last step of, or None."""
    if eqn.primitive is not lax.mul or eqn.outputs[0].aval.dtype != "float32":
        return None
    out = eqn.outputs[0]
    pattern = steps_of_gelu(out.aval.shape)
    found: dict[Var, Var] = {}
    written = {e.outputs[0]: e for e in pattern.equations}
    if not matches(pattern.outvars[0], out, written, made_by, found):
        return None
    inner = [v for p, v in found.items() if p in written and v is not out]
    if any(readers[v] > 1 for v in inner):  # as where its derivative is wanted too, which reads them
        return None
    return Equation(fused_gelu.op(), [found[pattern.invars[0]]], eqn.outputs, eqn.where)


def matches(wanted, given, written, made_by, found) -> bool:
    """Whether a value of the program is made as one of the pattern; fills `found`, the program's variable
    for each of the pattern.
    """
    if type(wanted) is Literal:
        return type(given) is Literal and float(given.value) == float(wanted.value)
    if type(given) is not Var or found.setdefault(wanted, given) is not given:
        return False
    if wanted not in written:
        return True
    step, made = written[wanted], made_by.get(given)
    return (
        made is not None
        and (made.primitive, made.params) == (step.primitive, step.params)
        and all(matches(w, g, written, made_by, found) for w, g in zip(step.inputs, made.inputs, strict=True))
    )


PASS = Pass("fused-gelu", fuse, before=("cse", "dead-code"), platforms=("cpu",), doc="gelu is one call")
