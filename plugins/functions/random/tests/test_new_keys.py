"""New keys are made once, not again for each of their uses: programs with chains of keys stay compilable."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, random

pytestmark = pytest.mark.needs("jit")
BARRIER = "stablehlo.optimization_barrier"


def chain(key, links):
    total = 0.0
    for _ in range(links):
        key, own = random.split(key)
        total = total + random.normal(own, (16,)).sum()
    return total


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
def test_a_chain_of_keys_compiles(make):
    # With jaxlib 0.12 the compiler took minutes for two links without the barriers.
    key = make(0)
    np.testing.assert_allclose(rb.jit(chain, static_argnums=1)(key, 4), chain(key, 4), rtol=1e-5)


@pytest.mark.forbidden("disable_jit")
def test_where_barriers_stand():
    key = random.key(0)
    assert rb.jit(lambda key: chain(key, 3)).lower(key).as_text().count(BARRIER) == 3
    assert rb.jit(lambda key: random.fold_in(key, 1)).lower(key).as_text().count(BARRIER) == 1

    def walk(key):
        return lax.fori_loop(0, 3, lambda i, key: random.split(key)[0], key)

    # None in loops: the compiler cannot make one kernel of these then.
    assert BARRIER not in rb.jit(walk).lower(key).as_text()

    def both(key):
        split = rb.jit(lambda key: random.split(key)[0])
        return split(lax.fori_loop(0, 3, lambda i, key: split(key), split(key)))

    text = rb.jit(both).lower(key).as_text()
    assert 1 <= text.count(BARRIER) <= 2
    assert (random.key_data(rb.jit(both)(key)) == random.key_data(both(key))).all()


@pytest.mark.needs("vmap", "grad")
def test_under_transformations():
    keys = random.split(random.key(0), 3)
    mapped = rb.vmap(lambda key: random.key_data(random.split(key)))(keys)
    one_by_one = [np.asarray(random.key_data(random.split(key))) for key in keys]
    assert (np.asarray(mapped) == np.stack(one_by_one)).all()
    own = random.split(random.key(0))[1]
    slope = rb.grad(lambda x: random.normal(random.split(random.key(0))[1], ()) * x)(2.0)
    np.testing.assert_allclose(slope, random.normal(own, ()))
