"""A tour of Rabbet: a second, tiny one, from nothing.

Read this file from top to bottom, and run it: `python docs/tour.py`. It builds, in one file, what
the real one has in more than fifty packages: a primitive, a table of rules, an interpreter, a tracer, a
program, its text in StableHLO, its execution by PJRT, and on these `jvp`, `vmap` and `jit`. A second
file, `docs/tour_of_gradients.py`, adds `grad` and a transformation from another package without a change
here. Both use NumPy and jaxlib and nothing of Rabbet. Each part ends with a few lines that try it, and
says where the real one stands. What the real one has besides is told at the end of the second.

The idea in one sentence: **calling a primitive speaks to the current interpreter**, and everything
else (to compute, to differentiate, to batch, to write a program down) is one more interpreter with
a table of rules.
"""

import collections
import contextlib
import functools
import os
import threading
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # jaxlib, loaded below, would say which devices it found

# 1. Types. What can be said of an array before there is one. ======================================
# The real one: program/avals.py. Equal types are one object there, so that caches key on identity.

class ShapedArray(NamedTuple):
    """A shape and a dtype."""
    shape: tuple
    dtype: Any

    @property
    def mlir(self):
        """How StableHLO writes the type: ``tensor<2x3xf32>``."""
        letters = {"float32": "f32", "int32": "i32", "bool": "i1"}[np.dtype(self.dtype).name]
        return "tensor<" + "".join([f"{size}x" for size in self.shape]) + letters + ">"

def typeof(x):
    """The type of whatever stands for an array: itself, a Python number, a tracer, a variable."""
    if hasattr(x, "aval"):
        return x.aval
    if isinstance(x, float):  # Python's floats are 32 bits here, as they are in JAX
        return ShapedArray((), np.dtype("float32"))
    x = np.asarray(x)
    return ShapedArray(x.shape, x.dtype)

# 2. Primitives and operators. =====================================================================
# A primitive is a name, the laws that it obeys (its kinds), and a rule for the type of its result.
# With its parameters it is an operator. Calling either one asks the current interpreter. That is all
# that it does.
# The real one: rules/primitive.py, rules/operator.py.

class Primitive:
    def __init__(self, name, abstract, kinds=()):
        self.name, self.abstract, self.kinds = name, abstract, kinds

    def __call__(self, *args, **params):
        return Op(self, params)(*args)

    __repr__ = lambda self: self.name

class Op(NamedTuple):
    """A primitive with its parameters."""
    primitive: Primitive
    params: dict

    def __call__(self, *args):
        return current.interpreter.process(self, args)

    def out_aval(self, args):
        return self.primitive.abstract(*map(typeof, args), **self.params)

    def __repr__(self):
        shown = ", ".join([f"{k}={v}" for k, v in self.params.items()])
        return f"{self.primitive}[{shown}]" if shown else str(self.primitive)

same_type = lambda x, *others: x
summed_type = lambda x, axes: x._replace(shape=tuple([n for i, n in enumerate(x.shape) if i not in axes]))
broadcast_type = lambda x, shape, dimensions: x._replace(shape=shape)

add = Primitive("add", same_type, kinds=("elementwise", "linear"))
neg = Primitive("neg", same_type, kinds=("elementwise", "linear"))
mul = Primitive("mul", same_type, kinds=("elementwise", "bilinear"))
sin = Primitive("sin", same_type, kinds=("elementwise",))
cos = Primitive("cos", same_type, kinds=("elementwise",))
reduce_sum = Primitive("reduce_sum", summed_type, kinds=("structural",))
broadcast_in_dim = Primitive("broadcast_in_dim", broadcast_type, kinds=("structural",))

# 3. Tables of rules. ==============================================================================
# A rule says what one transformation does with one primitive. Every rule has one form: `(op,
# *payloads) -> payload`. A payload is what stands for an array under that transformation. A rule may
# also serve a kind: then it holds for every primitive that declares the law, those of strangers
# included.
# The real one: rules/tables.py; the rules of each primitive stand beside it, in primitives/.

class RuleTable:
    def __init__(self, name):
        self.name, self.rules = name, {}

    def rule(self, of):
        """Decorator: the rule of a primitive, or of a kind."""
        return lambda function: self.rules.setdefault(of, function)

    def find(self, primitive):
        for of in (primitive, *primitive.kinds):
            if of in self.rules:
                return self.rules[of]
        raise LookupError(
            f"no {self.name!r} rule for primitive {primitive.name!r} (kinds: {', '.join(primitive.kinds)})"
        )

# 4. Interpreters and tracers. =====================================================================
# An interpreter runs a function on tracers. Each knows its parent, the interpreter that was current
# when it began, and a rule runs with the parent current: what a rule computes with speaks to the
# level below. So transformations nest, and there is no stack to search.
#
# At the bottom stands evaluation. Here it asks NumPy; the real one runs a compiled program for each
# operation, made as part 8 makes one.
# The real one: trace/interpreter.py, program/context.py, runtime/evaluation.py.

class Evaluation:
    """The bottom: operations on arrays, executed at once."""
    def process(self, op, args):
        computed = {
            add: np.add, mul: np.multiply, neg: np.negative, sin: np.sin, cos: np.cos,
            reduce_sum: lambda x, axes: np.sum(x, axis=axes),
            broadcast_in_dim: lambda x, shape, dimensions: np.broadcast_to(
                np.reshape(x, [shape[d] if d in dimensions else 1 for d in range(len(shape))]), shape
            ),
        }[op.primitive]  # fmt: skip
        arrays = [np.asarray(x, typeof(x).dtype) for x in args]
        return np.asarray(computed(*arrays, **op.params), arrays[0].dtype)

class Current(threading.local):
    """What is current on this thread."""
    interpreter = Evaluation()

current = Current()

@contextlib.contextmanager
def speaking_to(interpreter):
    outer, current.interpreter = current.interpreter, interpreter
    try:
        yield
    finally:
        current.interpreter = outer

class Tracer:
    """What a function gets instead of an array: a payload of an interpreter."""
    __array_priority__ = 1000  # NumPy's arrays leave arithmetic to us

    def __init__(self, interpreter, payload, aval):
        self.interpreter, self.payload, self.aval = interpreter, payload, aval

    shape = property(lambda self: self.aval.shape)
    ndim = property(lambda self: len(self.aval.shape))
    __add__ = __radd__ = lambda self, other: binary(add, self, other)
    __mul__ = __rmul__ = lambda self, other: binary(mul, self, other)
    __neg__ = lambda self: neg(self)
    __sub__ = lambda self, other: self + (-other)

def binary(primitive, x, y):
    """Programs know no broadcasting: what NumPy does silently is an operation here."""
    shape = np.broadcast_shapes(typeof(x).shape, typeof(y).shape)
    return primitive(spread(x, shape), spread(y, shape))

def spread(x, shape):
    have = typeof(x).shape
    if have == shape:
        return x
    return broadcast_in_dim(x, shape=shape, dimensions=tuple(range(len(shape) - len(have), len(shape))))

class Interpreter:
    """What all transformations share. A subclass gives `table`, `lift` and `type_of`."""
    def __init__(self):
        self.parent = current.interpreter

    def process(self, op, args):
        payloads = [self.payload_of(x) for x in args]
        with speaking_to(self.parent):
            if not any(map(self.is_mine, args)):
                return op(*args)
            payload = self.table.find(op.primitive)(op, *payloads)
        return Tracer(self, payload, self.type_of(payload))

    def is_mine(self, x):
        return isinstance(x, Tracer) and x.interpreter is self

    def payload_of(self, x):
        return x.payload if self.is_mine(x) else self.lift(x)

    def run(self, f, *payloads):
        """Run `f` on tracers that hold the payloads; return the payload of its result."""
        tracers = [Tracer(self, p, self.type_of(p)) for p in payloads]
        with speaking_to(self):
            return self.payload_of(f(*tracers))

# 5. Forward mode: pairs of a value and its tangent. ===============================================
# Three kinds do most of the work. A linear primitive is its own derivative; a bilinear one obeys the
# product rule. A tangent of None is a zero that is never computed.
# The real one: plugins/transformations/autodiff; the rules stand beside the primitives.

class Dual(NamedTuple):
    primal: Any
    tangent: Any  # None: zero

jvp_rules = RuleTable("jvp")

added = lambda x, y: y if x is None else x if y is None else add(x, y)

@jvp_rules.rule("linear")
def jvp_linear(op, *duals):
    tangents = [x.tangent for x in duals]
    return Dual(op(*[x.primal for x in duals]), op(*tangents) if len(tangents) == 1 else added(*tangents))

jvp_rules.rule("structural")(jvp_linear)

@jvp_rules.rule("bilinear")
def jvp_bilinear(op, x, y):
    by_x = None if x.tangent is None else op(x.tangent, y.primal)
    by_y = None if y.tangent is None else op(x.primal, y.tangent)
    return Dual(op(x.primal, y.primal), added(by_x, by_y))

jvp_rules.rule(sin)(lambda op, x: Dual(sin(x.primal), mul(x.tangent, cos(x.primal))))
jvp_rules.rule(cos)(lambda op, x: Dual(cos(x.primal), neg(mul(x.tangent, sin(x.primal)))))

class Forward(Interpreter):
    table = jvp_rules
    lift = lambda self, x: Dual(x, None)
    type_of = lambda self, dual: typeof(dual.primal)

def jvp(f, primals, tangents):
    """The value of `f`, and its derivative in the direction of the tangents."""
    out = Forward().run(f, *map(Dual, primals, tangents))
    return out.primal, zeros_like(out.primal) if out.tangent is None else out.tangent

zeros_like = lambda x: np.zeros(typeof(x).shape, typeof(x).dtype)
f = lambda x: sin(x) * x + 3.0

value, slope = jvp(f, (2.0,), (1.0,))
assert np.allclose(slope, np.cos(2) * 2 + np.sin(2))
second = jvp(lambda x: jvp(f, (x,), (1.0,))[1], (2.0,), (1.0,))[1]  # they nest
assert np.allclose(second, 2 * np.cos(2) - 2 * np.sin(2))

# 6. Batching: pairs of a value and the axis along which it is mapped. =============================
# The real one: plugins/transformations/vmap, in under 1,000 lines.

class Batched(NamedTuple):
    value: Any
    axis: Any  # None: one value for all; else 0, here

batch_rules = RuleTable("batch")

@batch_rules.rule("elementwise")
def batch_elementwise(op, *args):
    """Line the operands up: whoever has no batch axis gets one."""
    size = next(typeof(x.value).shape[0] for x in args if x.axis is not None)
    in_line = [x.value if x.axis is not None else spread_in_front(x.value, size) for x in args]
    return Batched(op(*in_line), 0)

spread_in_front = lambda x, size: spread(x, (size, *typeof(x).shape))

@batch_rules.rule(reduce_sum)
def batch_reduce_sum(op, x):
    return Batched(reduce_sum(x.value, axes=tuple([a + 1 for a in op.params["axes"]])), 0)

@batch_rules.rule(broadcast_in_dim)
def batch_broadcast(op, x):
    shape = (typeof(x.value).shape[0], *op.params["shape"])
    dimensions = (0, *[d + 1 for d in op.params["dimensions"]])
    return Batched(broadcast_in_dim(x.value, shape=shape, dimensions=dimensions), 0)

class Batching(Interpreter):
    table = batch_rules
    lift = lambda self, x: Batched(x, None)

    def type_of(self, batched):
        aval = typeof(batched.value)
        return aval if batched.axis is None else ShapedArray(aval.shape[1:], aval.dtype)

def vmap(f):
    """`f` for each example along the leading axis of its arguments, without a loop."""
    def mapped(*args):
        out = Batching().run(f, *[Batched(x, 0) for x in args])
        size = typeof(args[0]).shape[0]
        return out.value if out.axis is not None else spread_in_front(out.value, size)

    return mapped

xs = np.arange(4, dtype="float32")
assert np.allclose(vmap(f)(xs), [f(x) for x in xs])
assert np.allclose(vmap(lambda x: jvp(f, (x,), (1.0,))[1])(xs), np.cos(xs) * xs + np.sin(xs))

# 7. Programs. An interpreter that computes nothing and writes down what it is asked. ==============
# The real one: program/jaxpr.py, trace/staging.py.

class Var:
    """A value of a program, known by being itself."""
    def __init__(self, aval):
        self.aval = aval

class Equation(NamedTuple):
    op: Op
    inputs: list  # each a Var, or an array or number
    output: Var

class Jaxpr(NamedTuple):
    invars: list
    equations: list
    outvar: Any

    def __str__(self):
        names = {}
        def name(x):
            new = chr(ord("a") + len(names))
            return names.setdefault(x, new) if isinstance(x, Var) else str(np.asarray(x))

        typed = lambda v: f"{name(v)}:{v.aval.dtype.kind}32[{','.join(map(str, v.aval.shape))}]"
        head = "{ lambda ; " + " ".join(map(typed, self.invars)) + ". let"
        lines = [f"    {typed(e.output)} = {e.op} {' '.join(map(name, e.inputs))}" for e in self.equations]
        return "\n".join([head, *lines, f"  in ({name(self.outvar)},) }}"])

class Staging(Interpreter):
    """Its payloads are variables. It overrides `process`: no rules, one equation for each operation."""
    def __init__(self):
        super().__init__()
        self.equations = []

    def process(self, op, args):
        output = Var(op.out_aval(args))
        self.equations.append(Equation(op, [self.payload_of(x) for x in args], output))
        return Tracer(self, output, output.aval)

    lift = lambda self, x: x  # a number or an array that the function holds
    type_of = lambda self, var: var.aval

def make_jaxpr(f, *avals):
    """The program of `f` for arguments of these types."""
    staging = Staging()
    invars = [Var(aval) for aval in avals]
    out = staging.run(f, *invars)
    return Jaxpr(invars, staging.equations, out)

scalar = ShapedArray((), np.dtype("float32"))
assert str(make_jaxpr(f, scalar)).splitlines() == [
    "{ lambda ; a:f32[]. let",
    "    b:f32[] = sin a",
    "    c:f32[] = mul b a",
    "    d:f32[] = add c 3.0",
    "  in (d,) }",
]

# 8. Lowering and running: from a program to text, from the text to an executable. =================
# One more table. Its payloads are names of values in the text, and a rule returns the line that
# computes the result. The text is StableHLO, which the compiler takes as it is: no bindings, and it
# can be read.
# The real one: lowering/module.py; rules are beside the primitives; runtime/ has what differs between
# versions of jaxlib, keeps executables on disk, checks types, sizes and devices, and gives arrays
# their class.

lower_rules = RuleTable("lower")

@lower_rules.rule("elementwise")
def lower_elementwise(op, ins, out, *names):
    word = {"mul": "multiply", "neg": "negate", "sin": "sine", "cos": "cosine"}.get(op.primitive.name, "add")
    return [f"stablehlo.{word} {', '.join(names)} : {out.mlir}"]

@lower_rules.rule(broadcast_in_dim)
def lower_broadcast(op, ins, out, x):
    dims = list(op.params["dimensions"])
    return [f"stablehlo.broadcast_in_dim {x}, dims = {dims} : ({ins[0].mlir}) -> {out.mlir}"]

@lower_rules.rule(reduce_sum)
def lower_reduce_sum(op, ins, out, x):
    zero, axes = ShapedArray((), out.dtype).mlir, list(op.params["axes"])
    adding = f"stablehlo.reduce({x} init: {{}}) applies stablehlo.add across dimensions = {axes}"
    return [f"stablehlo.constant dense<0.0> : {zero}", f"{adding} : ({ins[0].mlir}, {zero}) -> {out.mlir}"]

def lower(jaxpr):
    """The program as a module of StableHLO."""
    names, lines = {v: f"%arg{i}" for i, v in enumerate(jaxpr.invars)}, []

    def define(text, before=""):
        lines.append(f"  %{len(lines)} = {text.format(before)}")
        return f"%{len(lines) - 1}"

    def name(x):
        if isinstance(x, Var):
            return names[x]
        aval = typeof(x)
        dense = np.asarray(x, aval.dtype).tolist()
        return define(f"stablehlo.constant dense<{dense}> : {aval.mlir}")

    for op, inputs, output in jaxpr.equations:
        ins, last = [*map(typeof, inputs)], ""
        for text in lower_rules.find(op.primitive)(op, ins, output.aval, *map(name, inputs)):
            last = define(text, last)
        names[output] = last
    arguments = ", ".join([f"%arg{i}: {v.aval.mlir}" for i, v in enumerate(jaxpr.invars)])
    result, out = name(jaxpr.outvar), typeof(jaxpr.outvar)
    head = f"func.func public @main({arguments}) -> {out.mlir} {{"
    return "\n".join([head, *lines, f"  return {result} : {out.mlir}", "}"])

@functools.cache
def client():
    """The CPU's PJRT client, made when first asked for."""
    from jaxlib import xla_client
    return xla_client.make_cpu_client()

def compiled(text, out):
    """A function of arrays that runs a program. The four calls to jaxlib are all that it takes."""
    from jaxlib import _jax, xla_client

    device = client().devices()[0]

    class OneDevice(_jax.SingleDeviceSharding):
        memory_kind = property(lambda self: self._memory_kind)

        def _to_xla_hlo_sharding(self, ndim):
            return xla_client.HloSharding.replicate()

    # What jaxlib asks of a type.
    Aval = collections.namedtuple("Aval", ["shape", "dtype", "weak_type"], defaults=[False])
    sharding = OneDevice(device)
    executable = client().compile_and_load(text, _jax.DeviceList((device,)), _jax.CompileOptions())
    older = () if hasattr(_jax.ArrayImpl, "_to_np_array_did_copy") else (True,)  # jaxlib 0.10 takes one more
    handler = _jax.array_result_handler(Aval(*out), sharding, True, *older)

    def run(*arrays):
        put = [
            _jax.batched_device_put(Aval(*typeof(x)), sharding, [x], [device], True, enable_x64=True)
            for x in [np.asarray(x, typeof(x).dtype) for x in arrays]
        ]
        (result,) = executable.execute_sharded(put).consume_with_handlers([handler])
        return np.array(memoryview(result)).reshape(out.shape)

    return run

def jit(f):
    """`f` compiled, once for each tuple of types."""
    programs = {}
    def call(*args):
        avals = tuple(map(typeof, args))
        if any(isinstance(x, Tracer) for x in args):
            return f(*args)  # under another transformation its operations speak for themselves
        if avals not in programs:
            jaxpr = make_jaxpr(f, *avals)
            programs[avals] = compiled(lower(jaxpr), typeof(jaxpr.outvar))
        return programs[avals](*args)

    return call

assert lower(make_jaxpr(lambda x: sin(x) * 2.0, scalar)).splitlines() == [
    "func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {",
    "  %0 = stablehlo.sine %arg0 : tensor<f32>",
    "  %1 = stablehlo.constant dense<2.0> : tensor<f32>",
    "  %2 = stablehlo.multiply %0, %1 : tensor<f32>",
    "  return %2 : tensor<f32>",
    "}",
]
assert np.allclose(jit(vmap(f))(xs), vmap(f)(xs))

# The tour goes on in tour_of_gradients.py. ========================================================

if __name__ == "__main__":
    print(make_jaxpr(f, scalar))
    print(lower(make_jaxpr(f, scalar)))
    print("this half of the tour holds")
