"""Whether ``checkify`` reports an error, under jax and under rabbet."""

import jax
import jax.experimental.checkify
import jax.numpy as jnp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import checkify

X = np.arange(4, dtype=np.float32)


def positive(library, x):
    library.check(x > 0, "{x} is not positive", x=x)
    return x * 2


def in_a_loop(np, lax, library, x):
    return lax.fori_loop(0, 3, lambda i, c: positive(library, c - 1), x.sum())


def in_a_branch(np, lax, library, x):
    return lax.cond(x[0] > 0, lambda x: positive(library, x.min()), lambda x: np.log(x.min() - 1), x)


def in_a_scan(np, lax, library, x):
    return lax.scan(lambda c, v: (positive(library, v + 1), c), x[0], x)


PROGRAMS = {
    "nothing": lambda np, lax, library, x: np.sin(x),
    "log": lambda np, lax, library, x: np.log(x),
    "a division": lambda np, lax, library, x: 1 / x,
    "a division of integers": lambda np, lax, library, x: 7 // x.astype("int32"),
    "reading": lambda np, lax, library, x: np.arange(4.0)[x.astype("int32")],
    "writing": lambda np, lax, library, x: np.zeros(4).at[x.astype("int32")].add(1.0),
    "a box": lambda np, lax, library, x: lax.dynamic_slice(x, (x[1].astype("int32"),), (2,)),
    "moved nans": lambda np, lax, library, x: np.where(x > 1, x, np.nan)[::-1],
    "a loop": in_a_loop,
    "a branch": in_a_branch,
    "a scan": in_a_scan,
}
INPUTS = {"good": X + 1, "zero": X, "negative": X - 2, "large": X + 2}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_error_is_reported_or_not(name):
    program = PROGRAMS[name]
    theirs = jax.experimental.checkify
    mine = rb.jit(checkify.checkify(lambda x: program(rnp, lax, checkify, x), checkify.all_checks))
    other = jax.jit(theirs.checkify(lambda x: program(jnp, jax.lax, theirs, x), theirs.all_checks))
    for x in INPUTS.values():
        got, wanted = mine(x)[0].get(), other(x)[0].get()
        assert (got is None) == (wanted is None), (got, wanted)
        if got is not None:
            assert got.split()[0] == wanted.split()[0]
