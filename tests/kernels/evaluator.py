"""Compute what a written kernel says, with NumPy: the text is parsed by jaxlib's own dialects, and each
program of the grid is run, operation by operation.

What compiles may still be wrong: a stride, a mask, the order of dimensions. This finds it. It does not see
races, pipelines, or how hardware rounds.
"""

import functools
import math
import re

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext, _tpu_ext, _triton_ext

DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip
RETURNS = frozenset(
    ["tt.return", "scf.yield", "tt.reduce.return", "tt.scan.return", "func.return", "tpu.yield"]
)


@functools.cache
def context():
    """A context with all dialects that kernels are written in."""
    made, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    _triton_ext.register_dialect(made)
    _tpu_ext.register_dialect(made)
    return made


def parsed(text, made):
    """The module of a text, and the lines beside a message where it is wrong."""
    with made, ir.Location.unknown():
        try:
            return ir.Module.parse(text)
        except ir.MLIRError as error:
            said = str(error)
            at = re.search(r'"-":(\d+)', said)
            line = text.splitlines()[int(at[1]) - 1] if at else ""
            raise AssertionError(f"{said}\n{line}") from None


def shape_and_dtype(written):
    """What a type says: sizes, and the dtype of elements (None of pointers)."""
    text = str(written)
    found = re.match(r"(?:tensor|vector|memref)<((?:\d+x)*)(!?[\w.]+)", text)
    if found is None:
        return (), DTYPES.get(text)
    sizes = tuple([int(n) for n in found[1].split("x")[:-1]])
    return sizes, DTYPES.get(found[2])


def attribute(op, name):
    return op.attributes[name]


def integer(op, name):
    return int(ir.IntegerAttr(op.attributes[name]).value)


def integers(op, name):
    text = str(op.attributes[name])
    text = text.split(":", 1)[1] if text.startswith("array<") and ":" in text else re.sub(r" : i64", "", text)
    return [int(n) for n in re.findall(r"-?\d+", text.replace("array<i32>", "").replace("array<i64>", ""))]


def number(text, dtype):
    """A number as MLIR prints it."""
    text = text.strip()
    if text in ("true", "false"):
        return dtype(text == "true")
    if text.startswith("0x"):
        width = np.dtype(dtype).itemsize
        return np.frombuffer(int(text, 16).to_bytes(width, "little"), dtype)[0]
    if np.issubdtype(dtype, np.integer):
        return dtype(int(text))
    return dtype(float(text))


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(np.asarray(x, np.float64))


def in_wider(function):
    """A function computed in float64, in the operands' dtype."""

    def rounded(*xs):
        with np.errstate(all="ignore"):
            return np.asarray(function(*[np.asarray(x, np.float64) for x in xs])).astype(
                np.asarray(xs[0]).dtype
            )[()]

    return rounded


def truncated(a, b):
    found = np.abs(a.astype(np.int64)) // np.maximum(np.abs(b.astype(np.int64)), 1)
    return np.where((a < 0) != (b < 0), -found, found).astype(a.dtype)


def unsigned(function):
    def apart(a, b):
        a, b = np.asarray(a), np.asarray(b)
        wide = np.dtype(f"u{a.dtype.name}")
        return function(a.view(wide), b.view(wide)).astype(a.dtype) if a.dtype != bool else function(a, b)

    return apart


UNARY = {
    "math.exp": np.exp, "math.exp2": np.exp2, "math.log": np.log, "math.log2": np.log2, "math.sqrt": np.sqrt,
    "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.tanh": np.tanh, "math.sin": np.sin, "math.cos": np.cos,
    "math.floor": np.floor, "math.ceil": np.ceil, "math.erf": erf, "math.absf": np.abs,
    "arith.negf": np.negative,
    "math.log1p": np.log1p, "math.expm1": np.expm1, "math.roundeven": np.rint, "math.tan": np.tan,
    "tpu.reciprocal": lambda x: 1 / x,
}  # fmt: skip
FLOATS = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.remf": np.fmod, "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin, "math.powf": np.power, "math.atan2": np.arctan2,
}  # fmt: skip
INTEGERS = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.divsi": truncated,
    "arith.remsi": lambda a, b: (a - truncated(a, b) * b).astype(a.dtype), "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum, "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift, "arith.shrsi": np.right_shift, "arith.shrui": unsigned(np.right_shift),
    "arith.divui": unsigned(np.floor_divide), "arith.remui": unsigned(np.remainder),
    "arith.maxui": unsigned(np.maximum), "arith.minui": unsigned(np.minimum), "math.absi": None,
}  # fmt: skip
LIBRARY = {
    "tanh": np.tanh, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt, "log1p": np.log1p,
    "expm1": np.expm1, "pow": np.power, "atan2": np.arctan2, "tan": np.tan, "erfinv": None, "nextafter": None,
}  # fmt: skip
INTEGER_TESTS = ["eq", "ne", "lt", "le", "gt", "ge", "ult", "ule", "ugt", "uge"]
FLOAT_TESTS = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 6: "one", 7: "ord", 13: "ne", 14: "uno"}
TESTS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "ult": unsigned(np.less), "ule": unsigned(np.less_equal),
    "ugt": unsigned(np.greater),
    "uge": unsigned(np.greater_equal), "one": lambda a, b: (a < b) | (a > b),
    "ord": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "uno": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip
CASTS = (
    "arith.extsi arith.trunci arith.sitofp arith.extf arith.truncf arith.index_cast arith.fptosi "
    "arith.fptoui arith.index_castui tpu.truncf tpu.extf tpu.sitofp tpu.fptosi"
).split()


class Evaluator:
    """Runs one program: ``block(block, env)`` with the values of a block's arguments in ``env``."""

    def __init__(self, ids=()):
        self.ids = ids

    def block(self, block, env):
        """Run a block's operations; the values that it ends with."""
        for operation in block.operations:
            op = operation.operation
            args = [env[x] for x in op.operands]
            if op.name in RETURNS:
                return args
            if op.name == "scf.condition":
                return args
            result = self.operation(op, args, env)
            if len(op.results) == 1:
                env[op.results[0]] = result
            else:
                env.update(zip(op.results, result or [], strict=True))
        return []

    def operation(self, op, args, env):
        """The result of an operation, or a list of several."""
        name = op.name
        shape, dtype = shape_and_dtype(op.results[0].type) if len(op.results) else ((), None)
        if name in FLOATS:
            return in_wider(FLOATS[name])(*args)
        if name in UNARY:
            return in_wider(UNARY[name])(args[0])
        if name == "math.absi":
            return np.abs(args[0])
        if name in INTEGERS:
            with np.errstate(over="ignore"):
                return np.asarray(INTEGERS[name](args[0], args[1])).astype(np.asarray(args[0]).dtype)[()]
        if name == "arith.constant":
            return self.constant(op, shape, dtype)
        if name == "arith.cmpi":
            return TESTS[INTEGER_TESTS[integer(op, "predicate")]](*args)
        if name == "arith.cmpf":
            return TESTS[FLOAT_TESTS[integer(op, "predicate")]](*args)
        if name == "arith.select":
            return np.where(args[0], args[1], args[2])[()].astype(np.asarray(args[1]).dtype)
        if name in CASTS:
            with np.errstate(invalid="ignore"):
                return np.asarray(args[0]).astype(dtype)[()]
        if name in ("arith.extui", "arith.uitofp"):
            given = np.asarray(args[0])
            given = given if given.dtype == bool else given.view(np.dtype(f"u{given.dtype.name}"))
            return given.astype(dtype)[()]
        if name == "arith.bitcast":
            return np.asarray(args[0]).view(dtype)[()]
        if name.startswith("scf."):
            return self.control(op, args, env)
        return self.more(op, args, env, shape, dtype)

    def constant(self, op, shape, dtype):
        value = str(attribute(op, "value"))
        if not value.startswith("dense<"):
            return number(value.split(" :")[0], dtype)
        inner = value[len("dense<") : value.rindex(">", 0, value.rindex(" :"))]
        if "[" in inner or '"' in inner:
            return np.array(ir.DenseElementsAttr(attribute(op, "value"))).astype(dtype).reshape(shape)
        return np.broadcast_to(number(inner, dtype), shape)

    def control(self, op, args, env):
        one = lambda values: values[0] if len(op.results) == 1 else values
        if op.name == "scf.if":
            region = op.regions[0 if args[0] else 1]
            return one(self.block(region.blocks[0], env)) if len(region.blocks) else []
        body = op.regions[0].blocks[0]
        if op.name == "scf.while":
            carried, after = args, op.regions[1].blocks[0]
            while True:
                env.update(zip(body.arguments, carried, strict=True))
                test, *given = self.block(body, env)
                if not test:
                    return one(given)
                env.update(zip(after.arguments, given, strict=True))
                carried = self.block(after, env)
        assert op.name == "scf.for", op.name
        start, stop, step, *carried = args
        for i in range(int(start), int(stop), int(step)):
            env.update(zip(body.arguments, [np.int32(i), *carried], strict=True))
            carried = self.block(body, env)
        return one(carried)

    def more(self, op, args, env, shape, dtype):
        """The operations of one dialect."""
        raise NotImplementedError(op.name)


def undefined(shape, dtype):
    """What memory holds before anything is written: NaN, the least integer."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.zeros(shape, bool)
    return np.full(shape, np.iinfo(dtype).min if dtype.kind in "iu" else np.nan, dtype)
