"""Does anything keep an array alive that only a finished call used, or that only a dropped function captured?

    python tools/check/held_arrays.py [a word of the functions to try]

Each function is wrapped, transformed and called once with an array of its own, and captures another one. The
argument must be gone when the call has ended, and what was captured when the function is dropped. What cannot
be composed, such as forward mode of a ``custom_vjp``, is counted as refused.
"""

import gc
import sys
import warnings

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.custom_derivatives import linear_call
from rabbet.experimental import checkify

ARGUMENT, CAPTURED = (1000,), (77,)


@rb.custom_vjp
def by_reverse_rule(x):
    return rnp.sin(x)


by_reverse_rule.defvjp(lambda x: (rnp.sin(x), x), lambda x, ct: (ct * rnp.cos(x),))


@rb.custom_jvp
def by_forward_rule(x):
    return rnp.sin(x)


by_forward_rule.defjvp(lambda primals, tangents: (rnp.sin(primals[0]), tangents[0]))


@rb.custom_batching.custom_vmap
def by_batch_rule(x):
    return rnp.sin(x)


@by_batch_rule.def_vmap
def by_batch_rule_vmap(axis_size, in_batched, x):
    return rnp.sin(x), in_batched[0]


def called_back(x):
    shape = rb.ShapeDtypeStruct(x.shape, x.dtype)
    return rb.pure_callback(np.asarray, shape, x, vmap_method="sequential")


def solved(c, x):
    return lax.custom_linear_solve(lambda y: y * 2, x, lambda _, b: b / 2 + 0 * c.sum(), symmetric=True)


def cube_root(c, x):
    equation = lambda y: y * y * y - x - 0 * c.sum()
    return lax.custom_root(equation, x, lambda f, z: x ** (1 / 3), lambda g, y: y / g(rnp.ones_like(y)))


def scaled(f):
    return lambda c, x: f(x) * c.sum()


def of_one(f):
    """What a mapped function makes of one example."""
    return lambda x: f(x.reshape(1, -1))[0]


def without_error(checked):
    return lambda x: checked(x)[1]


def grad_of_sum(f):
    return rb.grad(lambda x: f(x).sum())


FUNCTIONS = {
    "sin": scaled(rnp.sin),
    "custom_vjp": scaled(by_reverse_rule),
    "custom_jvp": scaled(by_forward_rule),
    "custom_vmap": scaled(by_batch_rule),
    "linear_call": scaled(lambda x: linear_call(lambda _, x: x, lambda _, ct: ct, (), x)),
    "callback": scaled(called_back),
    "cond": lambda c, x: lax.cond(x.sum() > 0, lambda y: rnp.sin(y) * c.sum(), lambda y: y, x),
    "switch": lambda c, x: lax.switch(1, [lambda y: by_forward_rule(y) * c.sum(), lambda y: y], x),
    "scan": lambda c, x: lax.scan(lambda s, _: (rnp.sin(s) * c.sum(), None), x, None, length=3)[0],
    "fori_loop": lambda c, x: lax.fori_loop(0, 3, lambda i, s: rnp.sin(s) * c.sum(), x),
    "while_loop": lambda c, x: lax.while_loop(
        lambda s: s.sum() < -1e9, lambda s: by_forward_rule(s) * c.sum(), x
    ),
    "map": lambda c, x: lax.map(lambda y: by_reverse_rule(y) * c.sum(), x),
    "checkpoint": lambda c, x: rb.checkpoint(lambda x: rnp.sin(x) * c.sum())(x),
    "associative_scan": lambda c, x: lax.associative_scan(lambda a, b: a * b, x) + c.sum(),
    "linear_solve": solved,
    "root": cube_root,
}  # fmt: skip
WRAPPERS = {
    "as it is": lambda f: f,
    "jit": rb.jit,
    "vmap": lambda f: of_one(rb.vmap(f)),
    "jit of vmap": lambda f: of_one(rb.jit(rb.vmap(f))),
    "vmap of jit": lambda f: of_one(rb.vmap(rb.jit(f))),
    "checkpoint": rb.checkpoint,
    "checkpoint of vmap": lambda f: of_one(rb.checkpoint(rb.vmap(f))),
    "checkify": lambda f: without_error(checkify.checkify(f)),
    "jit of checkify": lambda f: without_error(rb.jit(checkify.checkify(f))),
}
TRANSFORMATIONS = {
    "call": lambda g: g,
    "grad": grad_of_sum,
    "jit of grad": lambda g: rb.jit(grad_of_sum(g)),
    "grad of jit": lambda g: grad_of_sum(rb.jit(g)),
    "grad of checkpoint": lambda g: rb.grad(rb.checkpoint(lambda x: g(x).sum())),
    "vmap of grad": lambda g: lambda x: rb.vmap(grad_of_sum(g))(x[None]),
    "second derivative": lambda g: rb.jit(grad_of_sum(grad_of_sum(g))),
    "jvp": lambda g: lambda x: rb.jvp(g, (x,), (x,)),
    "linearize": lambda g: lambda x: rb.linearize(g, x)[0],
}  # fmt: skip


def alive(shape):
    gc.collect()
    return sum(x.shape == shape for x in rb.live_arrays())


def composed(function, wrapper, transformation):
    """A function that has captured an array of its own."""
    c = rnp.full(CAPTURED, 1.5)
    return TRANSFORMATIONS[transformation](WRAPPERS[wrapper](lambda x: FUNCTIONS[function](c, x)))


def held(*composition):
    """What stays of one call: a list of "argument" and "captured"; None where it is refused."""
    before = alive(ARGUMENT), alive(CAPTURED)
    f, x = composed(*composition), rnp.full(ARGUMENT, 3.0)
    try:
        f(x)
    except (TypeError, ValueError, NotImplementedError):
        return None
    del x
    found = ["argument"] if alive(ARGUMENT) > before[0] else []
    del f
    return [*found, "captured"] if alive(CAPTURED) > before[1] else found


def main(words):
    warnings.simplefilter("ignore")
    tried, refused, bad = 0, 0, 0
    for function in FUNCTIONS:
        if not all(word in function for word in words):
            continue
        for wrapper in WRAPPERS:
            for transformation in TRANSFORMATIONS:
                found = held(function, wrapper, transformation)
                tried, refused = tried + 1, refused + (found is None)
                if found:
                    bad += 1
                    what = f"{transformation} of {wrapper} of {function}"
                    print(f"{what} keeps: {', '.join(found)}", flush=True)
    print(f"{tried} compositions, {refused} refused, {bad} keep an array")
    return bad > 0 or not tried


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
