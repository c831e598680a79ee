"""The primitive ``optimization_barrier``: a value that the compiler may not look through.

Reverse mode puts one on a cotangent that was added up from several uses. Without it XLA on CPU fuses the
whole chain of residual gradients into every consumer and computes it again in each, so that compile time
and running time grow with the square of a network's depth. On other platforms it is nothing.
"""

from rabbet.payloads import Dual
from rabbet.primitive import Primitive

# Below this many elements computing again costs less than keeping.
WORTH_KEEPING = 1024

optimization_barrier = Primitive(
    "optimization_barrier",
    lambda x: x,
    kinds=("increasing", "linear", "elementwise"),
    doc="x, kept apart by the compiler from what made it",
)


@optimization_barrier.rule("lower")
def lower_barrier(op, x):
    return x


@optimization_barrier.rule("lower:cpu")
def lower_barrier_on_cpu(op, x):
    return op.emit(f"stablehlo.optimization_barrier {x} : {op.out.mlir}")


@optimization_barrier.rule("jvp")
def jvp_barrier(op, x):
    return Dual(op(x.primal), op(x.tangent))


@optimization_barrier.rule("transpose")
def transpose_barrier(op, ct, x):
    return (op(ct),)
