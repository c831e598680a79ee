"""Classes in pytrees that can be made of arrays alone: no transformation makes one of anything else."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet import numpy as rnp


class Loose:
    """A node that may hold anything."""

    def __init__(self, xy):
        self.xy = xy


class Strict(Loose):
    """A node that holds an array of points."""

    def __init__(self, xy):
        if getattr(xy, "shape", ())[-1:] != (2,):
            raise ValueError(f"points are an array of pairs, not {xy!r}")
        super().__init__(xy)


for kind in (Loose, Strict):
    rb.tree_util.register_pytree_node(
        kind, lambda point: ((point.xy,), None), lambda _, children, kind=kind: kind(*children)
    )


def custom_vjp(P):
    @rb.custom_vjp
    def twice(p):
        return P(p.xy * 2)

    twice.defvjp(lambda p: (twice(p), p), lambda p, cotangent: (P(cotangent.xy * p.xy),))
    return rb.grad(lambda p: twice(p).xy.sum())


def custom_jvp(P):
    @rb.custom_jvp
    def twice(p):
        return P(p.xy * 2)

    twice.defjvp(lambda primals, tangents: (twice(*primals), tangents[0]))
    return rb.grad(lambda p: twice(p).xy.sum())


def root(P):
    unit = lambda: P(rnp.ones(2))
    return lambda p: lax.custom_root(
        lambda q: P(q.xy**2 - p.xy),
        p,
        lambda f, start: P(rnp.sqrt(p.xy)),
        lambda g, y: P(y.xy / g(unit()).xy),
    )


def jitted_twice(P):
    scaled = rb.jit(lambda p: P(p.xy * 2))
    return lambda p: (scaled(p), scaled(P(rnp.ones((4, 2)))))


PROGRAMS = {
    "jit of two shapes": jitted_twice,
    "jit, donating": lambda P: lambda p: rb.jit(lambda q: P(q.xy * 2), donate_argnums=0)(P(p.xy + 0)),
    "scan": lambda P: lambda p: lax.scan(lambda c, x: (P(c.xy + x.xy), P(x.xy)), p, P(rnp.ones((3, 2)))),
    "fori_loop": lambda P: lambda p: lax.fori_loop(0, 3, lambda i, c: P(c.xy * 2), p),
    "while_loop": lambda P: lambda p: lax.while_loop(lambda c: c.xy.sum() < 9, lambda c: P(c.xy * 2), p),
    "cond": lambda P: lambda p: rb.jit(lambda b: lax.cond(b, lambda c: P(c.xy * 2), lambda c: c, p))(True),
    "map": lambda P: lambda p: lax.map(lambda q: P(q.xy * p.xy), P(rnp.ones((3, 2)))),
    "associative_scan": lambda P: (
        lambda p: lax.associative_scan(lambda a, b: P(a.xy + b.xy), P(rnp.ones((3, 2))))
    ),
    "grad": lambda P: rb.grad(lambda p: rnp.sin(p.xy).sum()),
    "jvp": lambda P: lambda p: rb.jvp(lambda q: P(q.xy * 2), (p,), (p,)),
    "vjp": lambda P: lambda p: rb.vjp(lambda q: P(q.xy * 2), p)[1](p),
    "linear_transpose": lambda P: lambda p: rb.linear_transpose(lambda q: P(q.xy * 2), p)(p),
    "vmap": lambda P: lambda p: rb.vmap(lambda q, x: P(q.xy * x), in_axes=(None, 0))(p, rnp.ones(4)),
    "checkpoint": lambda P: rb.grad(rb.checkpoint(lambda p: rnp.sin(p.xy).sum())),
    "custom_vjp": custom_vjp,
    "custom_jvp": custom_jvp,
    "custom_root": root,
    "compiled ahead": lambda P: lambda p: rb.jit(lambda q: P(q.xy * 2)).lower(p).compile()(p),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_object_is_made_of_anything_but_arrays(name):
    values = rnp.asarray(np.array([0.5, 1.5], "float32"))
    of_loose, of_strict = [rb.tree.leaves(PROGRAMS[name](P)(P(values))) for P in (Loose, Strict)]
    assert len(of_strict) == len(of_loose) > 0
    for ours, wanted in zip(of_strict, of_loose, strict=True):
        np.testing.assert_array_equal(ours, wanted)
