"""Lines as authors of plugins write them, for pyright in strict mode."""

from typing import Any, NamedTuple

import rabbet as rb
from rabbet import lax
from rabbet.extend.backend import Setting
from rabbet.extend.bodies import count_leaves
from rabbet.extend.dtype import DTypeSpec
from rabbet.extend.functions import folded, promote_operands, public_module
from rabbet.extend.hooks import hookimpl
from rabbet.extend.passes import ClosedJaxpr, Jaxpr, Pass, PassContext, evaluate, stage
from rabbet.extend.primitive import Batched, Dual, Op, Primitive, ShapedArray, dot_general, elementwise_aval
from rabbet.extend.transform import Interpreter, RuleSet, RuleTable, jvp, run, typeof
from rabbet.extend.wrapping import wraps
from rabbet.typing import ArrayLike


def hypot_type(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    return elementwise_aval("hypot", x, y)


hypot = Primitive("hypot", hypot_type, kinds=("elementwise",), operands=("x", "y"))


@hypot.decompose
def hypot_parts(op: Op, x: rb.Array, y: rb.Array) -> rb.Array:
    return lax.sqrt(lax.add(lax.mul(x, x), lax.mul(y, y)))


@hypot.rule("jvp")
def hypot_slope(op: Op, x: Dual, y: Dual) -> Dual:
    out = op(x.primal, y.primal)
    return Dual(out, lax.div(lax.mul(x.primal, x.tangent), out))


class Counted(NamedTuple):
    value: ArrayLike
    times: int


counts = RuleTable("count", doc="(op, *counted) -> Counted")
bridge = RuleSet("batch")


@counts.primitive(lax.add, dot_general)
def count_add(op: Op, x: Counted, y: Counted) -> Counted:
    return Counted(op(x.value, y.value), x.times + y.times + 1)


@bridge.primitive(hypot)
def batched(op: Op, x: Batched, y: Batched) -> Batched:
    return Batched(op(x.value, y.value), x.axis)


class Count(Interpreter):
    table = counts

    def lift(self, value: rb.Array) -> Counted:
        return Counted(value, 0)

    def type_of(self, payload: Counted) -> Any:
        return typeof(payload.value)


def unchanged(program: Jaxpr, context: PassContext) -> Jaxpr:
    print(program.equations[0].op.primitive.name, len(program.in_avals))
    return program


@hookimpl
def compiled(name: str) -> None:
    print(name)


@folded
def norm(x: ArrayLike, y: ArrayLike) -> rb.Array:
    """The length of the hypotenuse."""
    return hypot(*promote_operands("norm", x, y))


def sines(x: rb.Array) -> list[rb.Array]:
    return [lax.sin(x)]


program: ClosedJaxpr = stage(sines, [typeof(1.0)], "one")
PASS = Pass("unchanged", unchanged, doc="nothing")
SETTING = Setting("stars", 1, int, doc="how many")
print(run(Count(), norm, [Counted(1.0, 0), Counted(2.0, 0)]), evaluate(program.jaxpr, [1.0]))
print(jvp.lookup(hypot), count_leaves, DTypeSpec, public_module, wraps(norm), lax.rsqrt.op())
print(rb.tree.leaves([1, 2]))
