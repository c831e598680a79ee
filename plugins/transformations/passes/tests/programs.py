"""Random programs over a few primitives, and what tests ask of programs."""

import numpy as np
from hypothesis import strategies as st
from rabbet import lax
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.primitive import ShapedArray
from rabbet_passes.nested_programs import inlined, replaced
from rabbet_passes.outline import outlined

# One shape of every rank up to 3; everything is float32, so that any two of a shape go together.
SHAPES = ((), (3,), (2, 3), (3, 2), (2, 1, 3))
UNARY = {
    "neg": lambda x: -x,
    "sin": lax.sin,
    "abs": lax.abs,
    "times one": lambda x: x * 1.0,
    "plus minus zero": lambda x: x + -0.0,
    "plus zero": lambda x: x + 0.0,
    "half": lambda x: x / 2.0,
    "less": lambda x: x - 0.5,
    "stop": lax.stop_gradient,
    "there and back": lambda x: lax.convert_element_type(lax.convert_element_type(x, "float64"), "float32"),
    "rounded": lambda x: lax.convert_element_type(lax.convert_element_type(x, "int32"), "float32"),
    "sum": lambda x: lax.reduce_sum(x, (0,)) if x.ndim == 1 else x,
    "reversed": lambda x: lax.transpose(x, tuple(range(x.ndim))[::-1]) if x.ndim == 2 else x,
    "turned": lambda x: lax.reshape(x, {(2, 3): (2, 1, 3), (2, 1, 3): (3, 2)}.get(x.shape, x.shape)),
    "weighted": lambda x: lax.dot_general(x, x_weight(x), (((2,), (0,)), ((), ()))) if x.ndim == 3 else x,
    "constant": lambda x: x * (lax.full((), 3.0) * 0.5),
}
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
}


def x_weight(x):
    """A 3 x 3 matrix."""
    return lax.broadcast_in_dim(lax.full((3,), 0.25), (3, 3), (1,))


@st.composite
def programs(draw, longest=14):
    """A staged program of one to four repeats of the same few operations on three arrays."""
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 30), st.integers(0, 30)),
            min_size=1,
            max_size=longest,
        )
    )
    times = draw(st.integers(1, 4))

    def fn(*xs):
        pool = list(xs)
        for _ in range(times):
            for name, i, j in steps:
                x = pool[-1 - i % len(pool)]
                if name in UNARY:
                    pool.append(UNARY[name](x))
                else:
                    alike = [y for y in pool if y.shape == x.shape]
                    pool.append(BINARY[name](x, alike[-1 - j % len(alike)]))
        return pool[-3:]

    return stage(fn, [ShapedArray(shape, "float32") for shape in ((), (2, 3), (2, 1, 3))]).jaxpr


def results(jaxpr, args):
    """What a program computes, operation by operation, as bits."""
    return [np.asarray(x).view(np.uint32).tolist() for x in evaluate(without_calls(jaxpr), args)]


def without_calls(jaxpr):
    """``jaxpr`` with the bodies of outlined functions where they are called: a compiler may round several
    operations together in another way.
    """
    equations = []
    for eqn in jaxpr.equations:
        if eqn.op.primitive is outlined:
            equations += inlined(without_calls(eqn.op.params["jaxpr"]), eqn)
        else:
            equations.append(eqn)
    return replaced(jaxpr, equations)


def names(jaxpr):
    """The names of a program's primitives in order."""
    return [eqn.op.primitive.name for eqn in jaxpr.equations]
