"""Tracers where they cannot be: in another thread, and as bytes."""

import copy
import functools
import pickle
import threading

import numpy as np
import pytest
from rabbet import lax
from rabbet.errors import ConcretizationTypeError, UnexpectedTracerError
from rabbet.messages import python_errors

from . import toys
from .toys import slope

ONES = np.ones(3, np.float32)
USES = {
    "operator": lambda t: t + 1.0,
    "primitive": lax.sin,
    "another array": lambda t: ONES * t,
    "in a trace": lambda t: toys.jit(lambda x: x + t)(1.0),
    "argument of a call": lambda t: toys.jit(lax.sin)(t),
}


def in_another_thread(use, x):
    found = []

    def other():
        try:
            use(x)
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
@pytest.mark.parametrize("transformation", [toys.jit, slope], ids=["jit", "slope"])
def test_a_tracer_in_another_thread_is_refused_by_name(use, transformation):
    found = []

    def traced(x):
        found.append(in_another_thread(use, x))
        return x * 2.0

    transformation(traced)(1.0)
    assert type(found[0]) is UnexpectedTracerError
    assert "used in another thread than the one that runs this transformation" in str(found[0])
    assert "test_tracers_elsewhere.py:" in str(found[0])


@pytest.mark.parametrize("transformation", [toys.jit, slope], ids=["jit", "slope"])
@pytest.mark.narrow
def test_a_tracer_is_not_pickled(transformation):
    def traced(x):
        with pytest.raises(
            ConcretizationTypeError, match=r"an array of type f32\[\] cannot be pickled in .*traced"
        ):
            pickle.dumps({"state": [x * 1.0]})
        assert copy.copy(x) is copy.deepcopy([x])[0] is x
        return x * 2.0

    transformation(traced)(1.0)


def test_a_tracer_that_leaked_is_not_pickled():
    kept = []
    toys.jit(lambda x: kept.append(x) or x * 1.0)(1.0)
    with pytest.raises(UnexpectedTracerError, match="which has finished"):
        pickle.dumps(kept)


def test_a_tracer_has_no_hash():
    """So that a function with a cache of its own does not keep it beyond its trace."""
    cached = functools.lru_cache(lambda x: x)
    for use in (hash, cached, lambda t: {t: 1}, lambda t: t in {1.0}):
        with pytest.raises(TypeError, match="unhashable type"):
            toys.jit(use)(1.0)
        with pytest.raises(TypeError, match="unhashable type") as caught:
            lax.fori_loop(0, 2, lambda i, x, use=use: use(x), 1.0)
        assert "use a name or an index as the key" in caught.value.__notes__[0]


@pytest.mark.parametrize("said", ["{}", "cannot use 'Tracer' as a dict key ({})"])  # Python 3.14 says more
def test_what_python_says_of_a_hash_is_known(said):
    note = python_errors.note_of(TypeError(said.format("unhashable type: 'Tracer'")))
    assert "use a name or an index as the key" in note
    assert python_errors.note_of(TypeError(said.format("unhashable type: 'list'"))) is None
