"""What a program no longer uses is given back: no cache keeps users' arrays or functions alive."""

import ctypes
import gc

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet_pjrt_cpu.memory import is_glibc

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "grad", "vmap")


def idle_memory_is_watched():
    return is_glibc() and hasattr(ctypes.CDLL(None), "mallinfo2")


N = 1000
X = np.ones(N, np.float32)


def with_custom_vjp(c, x):
    scaled = rb.custom_vjp(lambda x: x * c)
    scaled.defvjp(lambda x: (x * c, None), lambda saved, g: (g * c,))
    return scaled(x).sum()


def with_custom_jvp(c, x):
    scaled = rb.custom_jvp(lambda x: x * c)
    scaled.defjvp(lambda primals, tangents: (primals[0] * c, tangents[0] * c))
    return scaled(x).sum()


def with_callback(c, x):
    shape = rb.ShapeDtypeStruct((1,), np.float32)
    x = lax.stop_gradient(x) + 0 * x
    read = rb.pure_callback(
        lambda v: np.asarray(c)[:1], shape, lax.stop_gradient(x), vmap_method="sequential"
    )
    return read.sum() + x.sum()


def in_scan(c, x):
    return lax.scan(lambda carry, _: (carry * c, None), x, None, length=2)[0].sum()


def in_branch(c, x):
    return lax.cond(x[0] > 0, lambda x: x * c, lambda x: x, x).sum()


def in_checkpoint(c, x):
    return rb.checkpoint(lambda x: rnp.sin(x * c).sum())(x)


FUNCTIONS = [with_custom_vjp, with_custom_jvp, with_callback, in_scan, in_branch, in_checkpoint]
WAYS = {
    "eager": lambda f: f(X),
    "jit": lambda f: rb.jit(f)(X),
    "grad": lambda f: rb.grad(f)(X),
    "jit of grad": lambda f: rb.jit(rb.grad(f))(X),
    "vmap": lambda f: rb.vmap(f)(X[None]),
    "lower": lambda f: rb.jit(f).lower(X),
}


def held(make, rounds):
    """How many more arrays of ``N`` elements there are after some rounds."""

    def count():
        found = []
        for _ in range(3):
            gc.collect()
            rnp.ones(2).block_until_ready()  # jaxlib 0.10 lets go of memory when it is called next
            found.append(sum(x.size == N for x in rb.live_arrays()))
        return min(found)

    make(0)
    before = count()
    for i in range(rounds):
        make(i + 1)
    return count() - before


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_captured_arrays_die_with_the_function(function, way):
    def make(i):
        c = rnp.full(N, i, "float32")
        WAYS[way](lambda x: function(c, x))

    # What the last calls of a Python function used may be let go by later ones.
    assert held(make, 12) <= (4 if function is with_callback else 1)


def linear_call(x):
    return rb.custom_derivatives.linear_call(lambda _, x: x, lambda _, ct: ct, (), x)


def custom_vjp(x):
    f = rb.custom_vjp(rnp.sin)
    f.defvjp(lambda x: (rnp.sin(x), x), lambda x, ct: (ct * rnp.cos(x),))
    return f(x)


KEPT = {
    "jit of vmap": lambda f: rb.jit(rb.vmap(f)),
    "checkpoint of vmap": lambda f: rb.checkpoint(rb.vmap(f)),
    "jit of the gradient of vmap": lambda f: rb.jit(rb.grad(lambda x: rb.vmap(f)(x).sum())),
}


@pytest.mark.parametrize("way", KEPT)
@pytest.mark.parametrize("function", [linear_call, custom_vjp], ids=lambda f: f.__name__)
def test_the_arguments_of_a_call_die_before_its_function(function, way):
    """A program keeps the derivative rules of ``vmap`` of a function, and these nothing of their trace."""
    functions = []

    def make(i):
        functions.append(KEPT[way](lambda x: function(x)))
        rb.grad(lambda x: functions[-1](x).sum())(rnp.full(N, i, "float32"))

    assert held(make, 4) <= 1


def test_what_an_exception_in_a_traced_function_saw_dies_with_it():
    def make(i):
        c = rnp.full(N, i, "float32")
        with pytest.raises(ZeroDivisionError):
            rb.jit(lambda x: rb.grad(lambda x: (x * c).sum() * (1 // 0))(x))(X)

    assert held(make, 12) <= 1


@pytest.mark.skipif(not idle_memory_is_watched(), reason="glibc 2.33 tells what is free")
def test_what_was_deleted_goes_back_to_the_system(child):
    """Not at once, since the next step may want it: when it was idle for a second."""
    out = child(
        """
        import time
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
        before = resident()
        x = rnp.ones(1 << 26) + 1
        assert resident() - before > 200
        del x
        for _ in range(200):
            if resident() - before < 150:
                print("given back")
                break
            time.sleep(0.1)
        """
    )
    assert "given back" in out


STEPS = 200


def scanned(step, **how):
    return lambda w, h: lax.scan(lambda h, _: (step(w, h), None), h, None, length=STEPS, **how)[0].sum()


def scan_step(w, h):
    return rnp.tanh(h @ w) * rnp.sin(h)


@pytest.mark.needs("cpu", "jit", "grad")
@pytest.mark.parametrize(
    ("states", "function"),
    [
        (5, scanned(scan_step)),
        (5, scanned(scan_step, reverse=True)),
        (5, lambda w, h: lax.fori_loop(0, STEPS, lambda _, h: scan_step(w, h), h).sum()),
        (5, rb.checkpoint(scanned(scan_step))),
        (5, scanned(scan_step, unroll=4)),
        (1, scanned(rb.checkpoint(scan_step))),
        (1, scanned(rb.checkpoint(scan_step, policy=rb.checkpoint_policies.nothing_saveable))),
        (2, scanned(rb.checkpoint(scan_step, policy=rb.checkpoint_policies.dots_saveable))),
    ],
    ids=["plain", "reverse", "fori_loop", "checkpointed scan", "unrolled", "checkpoint", "nothing", "dots"],
)
def test_gradients_of_long_scans_keep_so_many_states_of_each_step(states, function):
    w, h = np.ones((64, 64), "f4"), np.ones((64, 64), "f4")
    compiled = rb.jit(rb.grad(function)).lower(w, h).compile()
    of_each = compiled.memory_analysis().temp_size_in_bytes / h.nbytes / STEPS
    assert of_each < states + 0.1, f"{of_each:.2f} states of each step"
