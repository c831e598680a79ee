"""A compiler, a device, a transfer or an allocation that fails at its n-th use, for the n of a training step.

After each failure: an exception that says what happened, no array more than before, and the same step on
fresh functions with the right numbers.
"""

import gc
import sys
import weakref

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.runtime.execution import interruptible
from rabbet.runtime.jaxlib import adapter

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "grad", "vmap")

WORDS = "INTERNAL: injected failure"


class Failing:
    """Counts the uses of one part of the runtime, and lets the ``at``-th one fail, or all from there on."""

    def __init__(self, words=WORDS, for_good=False):
        self.at, self.uses = None, 0
        self.words, self.for_good = words, for_good

    def __call__(self):
        self.uses += 1
        if self.at is not None and (self.uses >= self.at if self.for_good else self.uses == self.at):
            raise adapter.XlaRuntimeError(self.words)

    def __enter__(self):
        self.uses = 0
        return self

    def __exit__(self, *exception):
        self.at = None


@pytest.fixture
def broken(monkeypatch):
    """A dict of ``Failing``, by the part of the runtime."""
    parts = {name: Failing() for name in ("compile", "execute", "transfer")}
    # Memory that is out stays so: Rabbet collects garbage and tries once more.
    parts["allocation"] = Failing("RESOURCE_EXHAUSTED: injected failure", for_good=True)
    compile_text, execute, put = adapter.compile_text, interruptible.execute, adapter.batched_device_put

    def compiling(*args, **kwargs):
        parts["compile"]()
        return compile_text(*args, **kwargs)

    def executing(exe, lowering):
        run = execute(exe, lowering)

        def executed(arguments, *args, **kwargs):
            parts["execute"]()
            parts["allocation"]()
            return run(arguments, *args, **kwargs)

        return executed

    def putting(*args, **kwargs):
        parts["transfer"]()
        parts["allocation"]()
        return put(*args, **kwargs)

    monkeypatch.setattr(adapter, "compile_text", compiling)
    monkeypatch.setattr(interruptible, "execute", executing)
    monkeypatch.setattr(adapter, "batched_device_put", putting)
    rb.clear_caches()
    with rb.config.override(cache=False, disable_most_optimizations=True):
        yield parts
    rb.clear_caches()


X = np.linspace(-1, 1, 12, dtype="f4").reshape(4, 3)
Y = np.float32([0.5, -0.5, 1.0, 0.0])


def step():
    """One step of training, eagerly and compiled, with a donated argument; numbers of the result."""
    x, y = rb.device_put(X), rb.device_put(Y)
    params = {"w": rb.device_put(np.float32([0.1, 0.2, 0.3])), "b": rb.device_put(np.float32(0.5))}

    def loss(params, x, y):
        guess, _ = lax.scan(lambda carry, w: (carry + w, None), x @ params["w"], rnp.ones(2) * params["b"])
        return rnp.mean((rnp.tanh(guess) - y) ** 2)

    gradients = rb.jit(rb.grad(loss))(params, x, y)
    update = rb.jit(lambda p, g: rb.tree.map(lambda a, b: a - 0.5 * b, p, g), donate_argnums=0)
    params = update(params, gradients)
    return float(loss(params, x, y)), np.array(params["w"])


def alive():
    gc.collect()
    return len(rb.live_arrays())


PARTS = ["compile", "execute", "transfer", "allocation"]


@pytest.mark.parametrize("part", PARTS)
def test_a_failure_is_clear_and_leaves_nothing_behind(broken, part):
    # Of many like failures of eager operations some are enough: each n costs a program or two.
    check_failures(broken[part], part, lambda uses: {*range(1, min(uses, 5) + 1), *range(5, uses, 3), uses})


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", PARTS)
def test_a_failure_at_any_use_is_clear_and_leaves_nothing_behind(broken, part):
    check_failures(broken[part], part, lambda uses: range(1, uses + 1))


def check_failures(failing, part, numbers):
    rb.clear_caches()
    with failing:
        expected = step()
        uses = failing.uses
    assert uses >= 3
    before = alive()
    for n in sorted(numbers(uses)):
        if part in ("compile", "execute"):
            rb.clear_caches()
        failing.at = n
        with failing, pytest.raises(Exception, match="injected failure") as caught:
            step()
        kinds = rb.errors.OutOfMemoryError if part == "allocation" else (rb.errors.RabbetError, RuntimeError)
        assert isinstance(caught.value, kinds), type(caught.value)
        del caught
        assert alive() <= before, f"{part} number {n} leaves arrays"
        got = step()
        assert got[0] == pytest.approx(expected[0], rel=1e-6)
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-6)


def test_a_failure_between_donation_and_result_is_told(broken):
    """Whoever donates an array to a program that fails has it still, or is told that it is gone."""
    double = rb.jit(lambda x: x * 2, donate_argnums=0)
    double(rnp.ones(3))
    x = rnp.ones(3)
    rb.clear_caches()
    failing = broken["execute"]
    failing.at = 1
    with failing, pytest.raises(Exception, match="injected failure"):
        double(x)
    assert x.is_deleted() or x.tolist() == [1, 1, 1]
    assert double(rnp.ones(3)).tolist() == [2, 2, 2]


class Odd(Exception):
    """An exception that nobody expects."""


def test_no_exception_of_a_users_function_is_lost(broken):
    """Callbacks, rules and hooks raise what they raise, and the next call works."""

    def raising(*args):
        raise Odd("mine")

    shape = rb.ShapeDtypeStruct((), np.float32)
    ruled = rb.custom_vjp(lambda x: x)
    ruled.defvjp(lambda x: (x, None), raising)
    pushed = rb.custom_jvp(lambda x: x)
    pushed.defjvp(raising)
    for function in (
        lambda x: rb.pure_callback(raising, shape, x),
        rb.jit(lambda x: rb.pure_callback(raising, shape, x)),
        rb.jit(lambda x: lax.fori_loop(0, 2, lambda i, c: rb.pure_callback(raising, shape, c), x)),
        rb.grad(ruled),
        rb.jit(rb.grad(ruled)),
        rb.grad(pushed),
        rb.jit(raising),
        lambda x: rb.vmap(lambda x: raising())(np.ones(2, "f4")),
        lambda x: rb.vmap(lambda x: rb.pure_callback(raising, shape, x, vmap_method="sequential"))(X[0]),
    ):
        with pytest.raises(Odd, match="mine"):
            rb.block_until_ready(function(np.float32(1)))
        assert float(rb.jit(lambda x: x + 1)(np.float32(1))) == 2.0


def test_an_exception_in_a_finaliser_does_no_harm_and_is_told():
    seen = []
    before, sys.unraisablehook = sys.unraisablehook, lambda args: seen.append(args.exc_value)
    try:
        x = rnp.ones(3)

        def fails():
            raise Odd("finaliser")

        kept = weakref.finalize(x, fails)
        kept.atexit = False
        del x
        gc.collect()
    finally:
        sys.unraisablehook = before
    assert [str(error) for error in seen] == ["finaliser"]
    assert rnp.ones(3).sum() == 3
