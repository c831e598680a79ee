"""Random numbers over devices: the same for a key under every sharding, and each device makes its own."""

import re

import numpy as np
import pytest
import rabbet as rb
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

random = pytest.importorskip("rabbet.random")
KEY = random.key(7)
ROW, GRID = rb.make_mesh((8,), ("x",)), rb.make_mesh((4, 2), ("x", "y"))
CUBE = rb.make_mesh((2, 2, 2), ("x", "y", "z"))
LAYOUTS = [
    NamedSharding(ROW, P()),
    NamedSharding(ROW, P(None, "x")),
    NamedSharding(GRID, P("y", "x")),
    NamedSharding(GRID, P(("x", "y"))),
    NamedSharding(CUBE, P("z", ("x", "y"))),
]
MAKERS = {
    "bits": lambda key: random.bits(key, (16, 24)),
    "uniform": lambda key: random.uniform(key, (16, 24)),
    "normal": lambda key: random.normal(key, (16, 24)),
    "randint": lambda key: random.randint(key, (16, 24), 0, 100),
    "dropout": lambda key: random.bernoulli(key, 0.3, (16, 24)),
}
COMMUNICATION = re.compile(r"\b(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)")


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_under_every_sharding_and_nothing_is_sent(name):
    made = MAKERS[name]
    wanted = np.asarray(rb.jit(made)(KEY))
    for layout in LAYOUTS:
        cut = rb.jit(made, out_shardings=layout).lower(KEY).compile()
        assert not COMMUNICATION.search(cut.as_text()), layout
        np.testing.assert_array_equal(cut(KEY), wanted)


def test_keys_that_are_cut():
    keys = random.split(KEY, 8)
    draw = rb.vmap(lambda key: random.normal(key, (3,)))
    cut = rb.device_put(keys, NamedSharding(ROW, P("x")))
    np.testing.assert_array_equal(rb.jit(draw)(cut), rb.jit(draw)(keys))
    drawn = rb.jit(rb.shard_map(draw, mesh=ROW, in_specs=P("x"), out_specs=P("x")))(cut)
    np.testing.assert_array_equal(drawn, rb.jit(draw)(keys))
