"""What was compiled is given back as soon as nobody can call it, not when Python looks for cycles."""

import gc
import weakref

import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def loop(x):
    return lax.scan(lambda carry, t: (carry * 2.5 + t, carry), 0.0, x)


def branches(x):
    return lax.cond(x[0] > 0, lambda x: x * 1.5, lambda x: x - 1.5, x)


def programs_of(call):
    """Weak references to the programs in memory after ``call``, which were not there before."""
    before = {id(o) for o in gc.get_objects() if type(o).__name__ == "Loaded"}
    call()
    return [weakref.ref(o) for o in gc.get_objects() if type(o).__name__ == "Loaded" and id(o) not in before]


@pytest.mark.parametrize(
    "make",
    [
        lambda f: rb.jit(f),
        lambda f: rb.jit(rb.grad(lambda x: rnp.sum(rnp.sin(x)) + rb.tree.leaves(f(x))[0].sum())),
        lambda f: rb.jit(rb.vmap(lambda k: f(rnp.ones(3) * k))),
        lambda f: f,
    ],
    ids=["jit", "jit of grad", "jit of vmap", "at once"],
)
@pytest.mark.parametrize("function", [loop, branches], ids=["scan", "cond"])
def test_programs_go_with_their_function(make, function):
    x = rnp.ones(3)

    def call():
        # A body of its own: nothing is shared with what other tests made.
        number = len(seen) + 1.0
        f = make(lambda x: function(x * number))
        f(x)
        f(x)

    seen = [None]
    call()  # what is made once for the process
    seen.append(None)
    gc.collect()
    gc.disable()
    try:
        left = [r() for r in programs_of(call)]
        assert not [r for r in left if r is not None]
    finally:
        gc.enable()


def test_stages_outlive_the_function():
    lowered = rb.jit(lambda x: x + 1.0).lower(1.0)
    assert float(lowered.compile()(2.0)) == 3.0
    rb.precompile([lowered])


def test_what_is_precompiled_is_remembered_by_the_function():
    f = rb.jit(lambda x: x * 7.0)
    rb.precompile([f.lower(rnp.ones(3))])
    with rb.no_tracing():
        assert f(rnp.ones(3)).tolist() == [7.0, 7.0, 7.0]


@pytest.mark.needs("cpu")
def test_programs_are_forgotten_at_a_bound_in_bytes_and_those_in_use_stay(child):
    assert "done" in child(
        """
        import logging
        from rabbet.runtime.caching.shared_programs import kept_programs
        said, compiled = [], []
        logging.getLogger("rabbet").addFilter(lambda record: said.append(record.getMessage()))
        logging.getLogger("rabbet").setLevel("INFO")
        x = rnp.ones(3)
        hot = rb.jit(lambda x: x * 0.25)
        functions = [rb.jit(lambda x, n=n: x * (n + 0.5)) for n in range(120)]
        for n, f in enumerate(functions):
            assert f(x).tolist() == [n + 0.5] * 3
            assert hot(x).tolist() == [0.25] * 3
            assert kept_programs.nbytes() < 12_000_000
        forgotten = [each for each in said if "were forgotten" in each]
        assert 2 <= len(forgotten) <= 10, said
        said.clear()
        rb.config.update("log_compiles", True)
        hot(x), functions[-1](x), functions[0](x)
        assert len([each for each in said if each.startswith(("compiled", "loaded"))]) == 1, said
        print("done")
        """,
        RABBET_COMPILED_MAX_BYTES="10M",
        RABBET_CACHE="0",
    )
