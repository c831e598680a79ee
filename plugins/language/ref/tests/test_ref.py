"""References: in plain Python first, then what each transformation makes of them, then the refusals.

The law: a function with references computes what the same function with values handed through computes.
"""

import copy
import pickle
import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.ref import AbstractRef, Ref, addupdate, empty_ref, free_ref, freeze, get, new_ref, swap
from rabbet.ref import set as set_ref

THREE = np.float32([1, 2, 3])


def jit(function, **how):
    """``rb.jit``; without its package the test ends here."""
    pytest.importorskip("rabbet_jit")
    return rb.jit(function, **how)


def values(ref):
    return np.asarray(ref[...]).tolist()


def test_reading_and_writing_parts():
    ref = new_ref(THREE)
    ref[0] = 5.0
    ref[1:] = ref[1:] * 2
    assert values(ref) == [5, 4, 6]
    assert float(ref[-1]) == 6 and get(ref).shape == (3,) and [float(x) for x in ref] == [5, 4, 6]
    assert float(swap(ref, 1, 7.0)) == 4
    set_ref(ref, None, THREE)
    addupdate(ref, np.array([0, 0, 2]), np.ones(3, np.float32))
    ref.addupdate(1.0, 1)
    assert values(ref) == [3, 3, 4]
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((3,), np.float32, 1, 3, 3)
    assert repr(ref) == "Ref([3., 3., 4.], dtype=float32)" and isinstance(ref, rb.Ref)
    assert freeze(ref).tolist() == [3, 3, 4]


def test_parts_of_parts():
    ref = new_ref(np.zeros((2, 3), np.float32))
    row = ref.at[1]
    row[0] = 4.0
    row.at[1:].set(THREE[:2])
    row[...] = row.get() + 1
    assert values(ref) == [[0, 0, 0], [5, 2, 3]] and row.shape == (3,) and row.dtype == np.float32
    row.at[1:][1] = 0.0
    assert values(ref) == [[0, 0, 0], [5, 2, 0]]


def test_what_was_read_and_what_was_given_are_values():
    x = rb.device_put(THREE)
    ref = new_ref(x)
    before = ref[...]
    x.delete()
    ref[0] = 9.0
    assert before.tolist() == [1, 2, 3]
    before.delete()
    assert values(ref) == [9, 2, 3]
    other = copy.copy(ref)
    other[0] = 0.0
    assert values(ref) == [9, 2, 3] and values(pickle.loads(pickle.dumps(ref))) == [9, 2, 3]


@pytest.mark.narrow
def test_numbers_take_the_dtype_of_the_reference():
    ref = new_ref(3)
    assert ref.dtype == np.int32 and not ref[...].weak_type
    ref[...] = 4
    with pytest.raises(ValueError, match="float32 value cannot be written to a Ref of int32"):
        ref[...] = 1.5
    assert empty_ref(rb.ShapeDtypeStruct((2,), "float32"))[...].tolist() == [0, 0]


@pytest.mark.forbidden("disable_jit")
def test_jit_reads_and_writes_what_is_outside_and_arguments():
    outside = new_ref(THREE)

    @jit
    def step(inside, x):
        inside[...] = inside[...] * x
        outside[0] += x
        return inside[1] + outside[0]

    inside = new_ref(THREE)
    assert float(step(inside, 2.0)) == 4 + 3
    assert float(step(inside, 2.0)) == 8 + 5 and step._cache_size() == 0
    assert values(inside) == [4, 8, 12] and values(outside) == [5, 2, 3]
    assert len(step.jitted.programs) == 1  # traced once
    other = new_ref(THREE)
    step(other, x=1.0)
    assert values(other) == [1, 2, 3] and values(inside) == [4, 8, 12] and values(outside) == [6, 2, 3]


def test_stages_take_references_and_their_types():
    outside = new_ref(1.0)

    def step(ref, x):
        ref[...] += x
        outside[...] *= 2.0
        return ref[0]

    traced = jit(step).trace(AbstractRef(rb.typeof(THREE)), 1.0)
    assert traced.out_info.shape == () and len(traced.jaxpr.in_avals) == 3
    compiled = traced.lower().compile()
    ref = new_ref(THREE)
    assert float(compiled(ref, 1.0)) == 2 and values(ref) == [2, 3, 4] and float(outside[...]) == 2
    assert rb.eval_shape(step, ref, 1.0).dtype == np.float32 and values(ref) == [2, 3, 4]
    with pytest.raises(TypeError, match="has no value"):
        compiled(AbstractRef(rb.typeof(THREE)), 1.0)


def test_nested_calls_and_references_made_inside():
    @jit
    def inner(ref, x):
        ref[0] += x

    @jit
    def outer(x):
        ref = new_ref(np.zeros(2, np.float32))
        inner(ref, x)
        inner(ref, 2 * x)
        jit(lambda: ref.at[1].set(ref[0] + 1))()
        return freeze(ref)

    assert outer(2.0).tolist() == [6, 7]


def loop_scan(ref, n):
    lax.scan(lambda c, x: (swap(ref, 0, ref[0] + x), None), 0.0, np.arange(n, dtype=np.float32))


def loop_fori(ref, n):
    lax.fori_loop(0, n, lambda i, _: set_ref(ref, 0, ref[0] + i), None)


def loop_while(ref, n):
    def body(i):
        ref[0] += i
        return i + 1

    lax.while_loop(lambda i: (i < n) & (ref[0] < 100), body, np.float32(0))


@pytest.mark.parametrize("loop", [loop_scan, loop_fori, loop_while])
@pytest.mark.parametrize("compiled", [False, True])
def test_loops_carry_references(loop, compiled):
    ref = new_ref(THREE)
    run = jit(loop, static_argnums=1) if compiled else loop
    run(ref, 5)
    assert values(ref) == [11, 2, 3]


def test_a_loop_within_a_branch_within_a_loop():
    def program(x):
        ref, seen = new_ref(x), new_ref(0)

        def even():
            lax.fori_loop(0, 2, lambda i, _: set_ref(ref, ..., ref[...] * 2), None)

        def odd():
            seen[...] += 1

        lax.fori_loop(0, 3, lambda i, _: lax.cond(i % 2 == 0, even, odd), None)
        return ref[...], seen[...]

    assert [float(x) for x in program(3.0)] == [48, 1]
    assert [float(x) for x in jit(program)(3.0)] == [48, 1]
    pytest.importorskip("rabbet_autodiff")
    assert float(rb.grad(lambda x: program(x)[0])(3.0)) == 16


def test_branches_take_references_as_operands():
    ref = new_ref(THREE)
    for which, first in ((True, 8.0), (False, 0.0)):
        lax.cond(which, lambda r: set_ref(r, 0, 8.0), lambda r: set_ref(r, 0, 0.0), ref)
        assert float(ref[0]) == first
    out = lax.switch(1, [lambda r, x: x, lambda r, x: r[1] + x], ref, 1.0)
    assert float(out) == 3


def test_scan_goes_over_the_slices_of_a_reference():
    ref = new_ref(THREE)

    def step(total, part):
        part[...] = part[...] * 2
        return total + part[...], part[...]

    total, ys = lax.scan(step, 0.0, ref)
    assert float(total) == 12 and ys.tolist() == [2, 4, 6] == values(ref)
    total, _ = lax.scan(lambda c, px: (c + px[0][...] * px[1], None), 0.0, (ref, THREE), reverse=True)
    assert float(total) == 2 + 8 + 18


@pytest.mark.narrow
def test_vmap_maps_arguments_and_reads_what_is_outside():
    pytest.importorskip("rabbet_vmap")
    rows, outside = new_ref(np.zeros((3, 2), np.float32)), new_ref(2.0)

    def write(row, x):
        row[0] = x * outside[...]
        return row[0]

    assert rb.vmap(write)(rows, THREE).tolist() == [2, 4, 6] and values(rows) == [[2, 0], [4, 0], [6, 0]]
    columns = new_ref(np.zeros((2, 3), np.float32))
    rb.vmap(write, in_axes=(1, 0))(columns, THREE)
    assert values(columns) == [[2, 4, 6], [0, 0, 0]]

    def private(x):
        ref = new_ref(0.0)
        lax.fori_loop(0, 3, lambda i, _: addupdate(ref, ..., x), None)
        return ref[...]

    assert rb.vmap(private)(THREE).tolist() == [3, 6, 9]
    assert jit(rb.vmap(private))(THREE).tolist() == [3, 6, 9]
    with pytest.raises(TypeError, match=r"vmap of .*cannot be written to a Ref of type f32.. from outside"):
        rb.vmap(lambda x: set_ref(outside, ..., x))(THREE)
    assert float(outside[...]) == 2


def test_derivatives_go_through_references_made_inside():
    pytest.importorskip("rabbet_autodiff")

    def cubed(x):
        ref = new_ref(1.0)
        lax.scan(lambda _, __: (set_ref(ref, ..., ref[...] * x), None), None, length=3)
        return ref[...]

    assert float(rb.grad(cubed)(2.0)) == 12 and float(rb.grad(rb.grad(cubed))(2.0)) == 12
    assert float(rb.jvp(jit(cubed), (2.0,), (1.0,))[1]) == 12
    assert float(rb.grad(rb.checkpoint(cubed))(2.0)) == 12


def test_references_from_outside_hold_what_is_constant_to_differentiation():
    pytest.importorskip("rabbet_autodiff")
    last = new_ref(0.0)

    def noting(x):
        last[...] = lax.stop_gradient(x)
        return x * x

    for f in (noting, jit(noting), rb.checkpoint(noting)):
        last[...] = 0.0
        assert float(rb.grad(f)(3.0)) == 6 and float(last[...]) == 3
    assert float(rb.grad(lambda x: x * last[...])(1.0)) == 3
    assert float(rb.grad(lambda x, ref: x * ref[...])(1.0, last)) == 3
    with pytest.raises(TypeError, match=r"differentiation of .*cannot be written to a Ref"):
        rb.grad(lambda x: [set_ref(last, ..., x), x][1])(1.0)
    with pytest.raises(TypeError, match="argument 'ref' cannot be differentiated"):
        rb.grad(lambda ref: ref[...])(last)


REFUSALS = {
    "out of bounds": (lambda r: r[3], ValueError, "the index 3 is out of bounds for a dimension of 3"),
    "too many indices": (lambda r: r[0, 0], ValueError, "does not fit a Ref of shape"),
    "shape": (lambda r: set_ref(r, slice(2), 7.0), ValueError, r"shape \(\) cannot be written to a part of"),
    "an array was meant": (lambda r: lax.sin(r), TypeError, "Read its value with ref"),
    "returned": (lambda r: jit(lambda: r)(), TypeError, "returned a leaf of type Ref"),
    "twice": (lambda r: jit(lambda a, b: a[0])(r, r), ValueError, "as argument 'a' and as argument 'b'"),
    "both": (lambda r: jit(lambda a: a[0] + r[0])(r), ValueError, "is used inside by another name"),
    "carried": (lambda r: lax.scan(lambda c, _: (c, None), r, length=2), TypeError, "is not an array"),
    "no array": (lambda r: new_ref({"a": 1.0}), TypeError, "dict is not an array"),
    "a reference of one": (lambda r: new_ref(r), TypeError, "new_ref takes an array"),
    "in a combiner": (
        lambda r: lax.reduce(THREE, np.float32(0), lambda a, b: a + b * r[0], (0,)),
        TypeError,
        "traced by itself",
    ),
    "written by a test": (
        lambda r: lax.while_loop(lambda i: swap(r, 0, i) < 2, lambda i: i + 1, 0.0),
        TypeError,
        "only the body may",
    ),
    "freed": (lambda r: [free_ref(r), r[0]], TypeError, "has no value"),
}


@pytest.mark.parametrize("which", REFUSALS)
def test_refusals(which):
    if which == "in a combiner":
        pytest.importorskip("rabbet_convolution", reason="lax.reduce is in the package rabbet-convolution")
    call, error, message = REFUSALS[which]
    with pytest.raises(error, match=message):
        call(new_ref(THREE))


@pytest.mark.narrow
@pytest.mark.forbidden("check_tracer_leaks")
def test_a_reference_that_outlives_its_function():
    kept = []
    jit(lambda x: [kept.append(new_ref(x)), x][1])(1.0)
    with pytest.raises(rb.errors.UnexpectedTracerError, match="outside the transformation within which"):
        kept[0][...]
    assert isinstance(kept[0], Ref) and repr(kept[0]) == "Ref{float32[]}"


def in_threads(function, count=4):
    failures = []

    def guarded():
        try:
            for _ in range(50):
                function()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("way", ["compiled", "argument", "addupdate"])
def test_no_update_of_another_thread_is_lost(way):
    ref = new_ref(np.zeros(4, np.float32))
    closed = jit(lambda: ref.__setitem__(0, ref[0] + 1))
    given = jit(lambda r: r.__setitem__(0, r[0] + 1))
    ways = {
        "compiled": closed, "argument": lambda: given(ref), "addupdate": lambda: addupdate(ref, 0, 1.0),
    }  # fmt: skip
    assert not in_threads(ways[way])
    assert float(ref[0]) == 200


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("cpu", "jit", "io_callback")
def test_a_callback_that_writes_what_its_program_writes_is_an_error():
    ref = new_ref(np.float32(0))

    def f():
        rb.experimental.io_callback(lambda: ref.__setitem__(..., np.float32(5)), None)
        ref[...] = ref[...] + 1

    f = jit(f)
    with pytest.raises(RuntimeError, match="written by another thread or by a callback"):
        f()
        rb.effects_barrier()
