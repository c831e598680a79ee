"""``config.debug_key_reuse``: a key that is used twice is told where it was used first."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, random
from rabbet.errors import KeyReuseError
from rabbet.extend.functions import is_evaluating
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import context

pytestmark = pytest.mark.needs("jit", "grad", "vmap")

ARGUMENTS = {
    "ball": (2,), "bernoulli": (), "beta": (1.0, 1.0), "binomial": (4, 0.5), "bits": (),
    "categorical": ([0.0, 0.0],), "cauchy": (), "chisquare": (2.0,), "choice": (4,),
    "dirichlet": ([1.0, 1.0],),
    "double_sided_maxwell": (0.0, 1.0), "exponential": (), "f": (1.0, 2.0), "gamma": (1.0,),
    "generalized_normal": (1.0,), "geometric": (0.5,), "gumbel": (), "laplace": (), "loggamma": (1.0,),
    "logistic": (), "lognormal": (), "maxwell": (), "multinomial": (4, [0.5, 0.5]),
    "multivariate_normal": ([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]), "normal": (), "orthogonal": (2,),
    "pareto": (1.0,), "permutation": (4,), "poisson": (2.0,), "rademacher": (),
    "randint": ((2,), 0, 3),
    "rayleigh": (1.0,), "split": (), "t": (2.0,),
    "triangular": (0.0, 0.5, 1.0), "truncated_normal": (0.0, 1.0),
    "uniform": (), "wald": (1.0,), "weibull_min": (1.0, 1.0),
}  # fmt: skip
NO_DRAWS = {
    "Generator", "Key", "PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl",
    "wrap_key_data",
}  # fmt: skip


@pytest.fixture
def checked():
    with rb.debug_key_reuse(True):
        yield


def drawn_twice(name):
    draw, key = getattr(random, name), random.key(0)
    arguments = [np.array(a, "float32") if isinstance(a, list) else a for a in ARGUMENTS[name]]
    draw(key, *arguments)
    with pytest.raises(KeyReuseError, match=r"used up before|a second time|is used up"):
        draw(key, *arguments)
    draw(random.key(0), *arguments)


def test_every_function_that_draws_is_tried():
    assert set(random.__all__) - NO_DRAWS == set(ARGUMENTS)


@pytest.mark.parametrize("name", ["normal", "split", "choice"])
def test_a_second_draw_is_refused(checked, name):
    drawn_twice(name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_second_draw_is_refused(checked, name):
    drawn_twice(name)


def first_use(key):
    return random.normal(key)


@pytest.mark.forbidden("disable_jit")
def test_the_message_names_both_uses_and_the_way_out(checked):
    key = random.key(0)
    rb.jit(first_use)(key)
    with pytest.raises(KeyReuseError) as caught:
        random.split(key)
    message = str(caught.value)
    first = first_use.__code__.co_firstlineno + 1
    assert "random.split" in message and "random.normal" in message, message
    assert f"test_key_reuse.py:{first}, called at" in message, message
    assert "operand 0 of 'split'" in message and "rabbet.random.clone(key)" in message, message


def test_a_key_that_a_function_captured(checked):
    key = random.key(0)
    rb.jit(lambda: random.normal(key))()
    with pytest.raises(KeyReuseError):
        random.normal(key)


def test_the_key_of_a_broadcast_is_one(checked):
    keys = lax.broadcast_in_dim(random.key(0), (3,), ())
    with pytest.raises(KeyReuseError, match=r"the key \[1\] of an array \(3,\)"):
        rb.vmap(random.normal)(keys)


def test_places_that_a_program_computes(checked):
    keys, places = random.split(random.key(0), 4), lax.iota("int32", 2)
    rb.jit(lambda keys: rb.vmap(random.normal)(keys[places + 1]))(keys)
    random.normal(keys[0])
    random.normal(keys[3])
    with pytest.raises(KeyReuseError):
        random.normal(keys[2])


@pytest.mark.parametrize("compiled", [False, True])
def test_keys_that_are_put_into_others(checked, compiled):
    pytest.importorskip("rabbet.numpy")
    keys, others, places = random.split(random.key(0), 4), random.split(random.key(1)), np.array([1, 3])
    put = lambda keys, others: keys.at[places].set(others)
    mixed = (rb.jit(put) if compiled else put)(keys, others)
    random.normal(others[1])
    random.normal(mixed[0])
    for used in (mixed[3], keys[0]):
        with pytest.raises(KeyReuseError):
            random.normal(used)
    random.normal(keys[3])


def test_numbers_are_those_without_it():
    def draws():
        first, second = random.split(random.key(3))
        return [float(random.normal(first)), float(rb.jit(random.uniform)(second))]

    without = draws()
    with rb.debug_key_reuse(True):
        assert draws() == without


def test_gradients_use_a_key_once(checked):
    key = random.key(0)
    rb.grad(rb.checkpoint(lambda x: lax.sin(x * random.normal(key))))(1.0)
    with pytest.raises(KeyReuseError):
        random.normal(key)


def test_another_package_says_what_its_primitive_does(checked):
    shuffled = Primitive("shuffled_keys_of_a_test", lambda keys: keys, kinds=("structural",))
    stored = Primitive("stamp_of_a_test", lambda keys: keys)
    shuffled.decompose(lambda op, keys: lax.rev(keys, (0,)))
    stored.decompose(lambda op, keys: keys)

    @stored.rule("key_reuse")
    def used(op, following, keys):
        following.use(keys, "stamp")

    keys = random.split(random.key(0), 2)
    random.normal(shuffled(keys)[0])
    with pytest.raises(KeyReuseError):
        random.normal(keys[1])
    stored(keys[:1])
    with pytest.raises(KeyReuseError, match="stamp"):
        random.normal(keys[0])


def test_nothing_is_observed_without_it():
    bottom = context.interpreter
    with rb.debug_key_reuse(True):
        assert context.interpreter is not bottom and is_evaluating() and not is_evaluating(alone=True)
        with rb.debug_key_reuse(False):
            assert context.interpreter is bottom
        assert context.interpreter is not bottom
    assert context.interpreter is bottom
    key = random.key(0)
    assert float(random.normal(key)) == float(random.normal(key))


def test_for_the_process_and_for_threads_that_begin_later():
    said = []

    def twice():
        key = random.key(0)
        random.normal(key)
        try:
            random.normal(key)
        except KeyReuseError as error:
            said.append(error)

    rb.config.update("jax_debug_key_reuse", True)
    try:
        thread = threading.Thread(target=twice)
        thread.start()
        thread.join()
        twice()
    finally:
        rb.config.update("debug_key_reuse", False)
    twice()
    assert len(said) == 2


@pytest.mark.parametrize("prefix", ["RABBET", "JAX"])
def test_from_the_environment(prefix):
    program = "from rabbet import random as r; k = r.key(0); r.normal(k); r.normal(k)"
    environment = {**os.environ, f"{prefix}_DEBUG_KEY_REUSE": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "KeyReuseError" in run.stderr, run.stderr


def test_what_dies_is_forgotten(checked):
    from rabbet.random.key_reuse import KNOWN

    random.normal(random.key(0))
    gc.collect()  # errors of other tests hold arrays, in cycles
    before = len(KNOWN.arrays), len(KNOWN.uses), len(KNOWN.holders)
    for _ in range(20):
        random.normal(random.key(0))
    assert (len(KNOWN.arrays), len(KNOWN.uses), len(KNOWN.holders)) == before


def test_cells_and_generators_go_on():
    ref = pytest.importorskip("rabbet.ref")
    cell = ref.new_ref(lax.full((), 1.0))
    with rb.debug_key_reuse(True):
        cell[...] = cell[...] + 1.0
        inner = ref.new_ref(lax.full((), 1.0))
        rb.jit(lambda x: cell.__setitem__(..., cell[...] * x))(3.0)
        rng = rb.experimental.random.stateful_rng(0)
        assert float(rng.normal()) != float(rng.normal())
    assert float(cell[...]) == 6.0
    inner[...] = cell[...]
    assert float(inner[...]) == 6.0
