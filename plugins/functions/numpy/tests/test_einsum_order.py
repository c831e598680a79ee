"""The order in which ``einsum`` gives two operands to a product: the one whose result is nearer."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def shapes_of(subscripts, sizes):
    return [tuple([sizes[c] for c in term]) for term in subscripts.partition("->")[0].split(",")]


def equations(subscripts, **sizes):
    arrays = [rnp.ones(shape) for shape in shapes_of(subscripts, sizes)]
    return str(rb.make_jaxpr(lambda *xs: rnp.einsum(subscripts, *xs))(*arrays))


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    ("subscripts", "transposes"),
    [
        ("ij,jk->ki", 0), ("bsh,hd->bsd", 0), ("hed,bshe->bsd", 0), ("bij,bjk->bki", 0),
        ("td,edf->etf", 1), ("ij,kj->ik", 0),
    ],
)  # fmt: skip
def test_results_are_moved_only_where_no_order_fits(subscripts, transposes):
    made = equations(subscripts, b=2, s=3, h=4, e=5, d=6, i=2, j=3, k=4, t=7, f=8)
    assert made.count("transpose[") == transposes


@pytest.mark.parametrize(
    "subscripts",
    [
        "ij,jk->ki", "td,edf->etf", "hed,bshe->bsd", "bhst,bthe,hed->bsd", "bsd,dche->cbshe", "i,j->ji",
    ],
)  # fmt: skip
def test_values(subscripts):
    sizes = dict(zip("bsthedcijkf", range(2, 13)))
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape).astype("float32") for shape in shapes_of(subscripts, sizes)]
    found = rnp.einsum(subscripts, *map(rnp.asarray, arrays))
    np.testing.assert_allclose(found, np.einsum(subscripts, *arrays), rtol=1e-4, atol=1e-4)


@pytest.mark.needs("jit")
def test_each_operand_keeps_its_precision():
    """The first one's goes with it where the operands change places."""
    x, y = rnp.ones((2, 3)), rnp.ones((3, 4))
    pair = (lax.Precision.HIGHEST, lax.Precision.DEFAULT)
    made = [
        rb.make_jaxpr(lambda x, y: rnp.einsum(how, x, y, precision=pair))(x, y)  # noqa: B023
        for how in ("ij,jk->ik", "ij,jk->ki")
    ]
    straight, swapped = [
        next(e.op.params["precision"] for e in flat(m.jaxpr) if e.op.primitive.name == "dot_general")
        for m in made
    ]
    assert tuple(straight) == pair
    assert tuple(swapped) == pair[::-1]


def flat(jaxpr):
    """All equations, those of programs within programs too."""
    for eqn in jaxpr.eqns:
        yield eqn
        for value in eqn.op.params.values():
            inner = getattr(value, "jaxpr", None)
            if inner is not None:
                yield from flat(inner)
