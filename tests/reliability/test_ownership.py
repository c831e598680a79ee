"""What a user deletes or donates is the user's: nothing else in the process is touched by it."""

import copy
import os

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import DeletedArrayError

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "grad", "vmap")

NUMBERS = (4.5, 0.25, 1, 0, True, 2.0, 0.0, 1 + 2j)


def works_as_ever():
    """Fresh programs on fresh values, by every way that a number goes into a program."""
    x = rnp.arange(5.0)
    np.testing.assert_array_equal(x * 2.0 + 0.25, [0.25, 2.25, 4.25, 6.25, 8.25])
    assert [float(x[1]), float(x[-1]), int(x.astype(int)[2])] == [1, 4, 2]
    assert float(lax.fori_loop(0, 3, lambda i, v: v * 2.0, 1.0)) == 8
    assert [complex(rb.device_put(v)) for v in NUMBERS] == [*map(complex, NUMBERS)]
    assert [complex(rnp.asarray(v)) for v in NUMBERS] == [*map(complex, NUMBERS)]
    assert float(rb.jit(lambda v: v * 2.0)(4.5)) == 9 and float(rb.grad(lambda v: v * v)(4.5)) == 9
    assert rb.vmap(lambda v: v + 4.5)(x).tolist() == [4.5, 5.5, 6.5, 7.5, 8.5]
    assert float(rnp.where(x > 2, x, 0.25).sum()) == 7.75 and x.at[1].set(4.5).tolist()[1] == 4.5


def held():
    """What users come to hold that was made of numbers, by every door."""
    for v in NUMBERS:
        yield rb.device_put(v)
        yield rb.device_put({"a": [v]})["a"][0]
        yield rnp.asarray(v)
        yield rnp.array(v)
        yield lax.full((), v)
        yield rb.jit(lambda x: x)(v)
        yield rb.vmap(lambda x: x, axis_size=1, in_axes=None, out_axes=None)(v)
        yield from rb.linearize(lambda x: x, float(np.real(v)))[:1]
        yield rb.value_and_grad(lambda x: x)(float(np.real(v)))[0]
        yield rb.lax.cond(True, lambda x: x, lambda x: x, v)
        yield rb.lax.while_loop(lambda x: False, lambda x: x, v)
        yield rb.lax.scan(lambda c, _: (c, c), v, None, length=1)[0]
        yield rb.lax.stop_gradient(v)
        with rb.disable_jit():
            yield rb.jit(lambda x: rnp.asarray(x))(v)
            yield rb.lax.cond(True, lambda x: x, lambda x: x, v)


def test_whatever_a_user_deletes_fresh_programs_work():
    works_as_ever()
    for x in held():
        if isinstance(x, rb.Array):
            x.delete()
    works_as_ever()


@pytest.mark.filterwarnings("ignore:.*donated arrays of the types:UserWarning")
def test_whatever_a_user_donates_fresh_programs_work():
    give = rb.jit(lambda t: rb.tree.map(lambda x: x * 2, t), donate_argnums=0)
    for _ in range(2):
        assert give({"a": 0.25, "b": [4.5, 1]}) == {"a": 0.5, "b": [9, 2]}
    compiled = give.lower({"a": 0.25}).compile()
    for _ in range(2):
        assert compiled({"a": 0.25}) == {"a": 0.5}
    for x in held():
        if isinstance(x, rb.Array) and not x.is_deleted():
            give(x)
    works_as_ever()


def test_live_arrays_are_the_users_own_and_may_all_be_deleted(child):
    """In a process of its own: other tests' arrays are alive in this one."""
    path = f"import sys\nsys.path.insert(0, {os.path.dirname(__file__)!r})\n"
    child(path + "import test_ownership as tests\ntests.all_are_deleted()")


def all_are_deleted():
    mine = rnp.arange(7.0)
    captured = rnp.arange(5.0)
    add = rb.jit(lambda x: x + captured)
    expected = add(1.0).tolist()
    table = rb.jit(lambda i: rnp.asarray(np.float32([1, 2, 3]))[i])
    assert float(table(1)) == 2
    works_as_ever()
    live = rb.live_arrays()
    assert any(x.raw is mine.raw for x in live)
    for x in live:
        x.delete()
    assert mine.is_deleted() and captured.is_deleted()
    works_as_ever()
    assert add(1.0).tolist() == expected and float(table(1)) == 2


def test_an_array_that_is_donated_and_captured():
    x = rnp.arange(5.0)
    f = rb.jit(lambda y: x + y, donate_argnums=0)
    assert f(x).tolist() == [0, 2, 4, 6, 8] and x.is_deleted()
    assert f(rnp.ones(5)).tolist() == [1, 2, 3, 4, 5]


def test_copies_do_not_share_deletion():
    for make in (lambda: rnp.arange(5.0), lambda: rnp.arange(5).astype("bfloat16"), lambda: rnp.asarray(1.0)):
        for copied in (copy.copy, copy.deepcopy, lambda x: rnp.array(x, copy=True)):
            x = make()
            y, aval = copied(x), x.aval
            x.delete()
            assert y.aval is aval and y.tolist() == make().tolist()
            y, z = make(), copied(y := make())
            z.delete()
            assert y.tolist() == make().tolist()


def test_what_was_deleted_cannot_be_put_anywhere():
    x = rnp.arange(3.0)
    x.delete()
    here = rb.devices()[0]
    for door in (
        rb.device_put,
        copy.copy,
        lambda y: rb.device_put({"a": y}),
        lambda y: rb.device_put(y, here),
        lambda y: rb.make_array_from_single_device_arrays((3,), y.sharding, [y]),
    ):
        with pytest.raises(DeletedArrayError):
            door(x)


def test_a_deleted_array_for_a_loop_of_unknown_length():
    """It ended the process with jaxlib 0.10, where such arrays were asked whether they are ready."""
    grows = lambda x: lax.while_loop(lambda x: x.sum() < 100, lambda x: 2 * x + 1, x)
    for f in (grows, rb.jit(grows)):
        x = rnp.arange(3.0)
        assert f(x).tolist() == [31, 63, 95]
        x.delete()
        with pytest.raises(DeletedArrayError):
            f(x)


def test_zeros_of_both_signs_are_two_numbers():
    def sign(x):
        return float(np.copysign(1.0, np.asarray(x).imag))

    one = rnp.ones((), "complex64")
    assert [sign(lax.mul(one, complex(0.0, s))) for s in (1.0, -1.0, 1.0)] == [
        sign(np.complex64(1) * np.complex64(complex(0.0, s))) for s in (1.0, -1.0, 1.0)
    ]


def test_a_copy_under_a_transformation_is_a_copy():
    """What a transformation of arrays returns may be deleted without the array that was copied."""
    x = rnp.arange(3.0)
    for copied in (
        rb.vmap(lambda v: rnp.array(v))(x),
        rb.vmap(lambda v: rnp.copy(v))(x),
        rb.vjp(lambda v: rnp.array(v), x)[0],
        rb.jvp(lambda v: rnp.array(v), (x,), (x,))[0],
        rb.grad(lambda v: (v.sum(), rnp.array(v)), has_aux=True)(x)[1],
        rb.vmap(rb.grad(lambda v: (v * 1, rnp.array(v)), has_aux=True))(x)[1],
        rb.jit(lambda v: rnp.array(v))(x),
    ):
        assert copied.tolist() == [0, 1, 2]
        copied.delete()
    assert x.tolist() == [0, 1, 2]
    doubled = lambda v: rnp.array(v) * 2
    slope = rb.grad(lambda v: doubled(v).sum())
    pushed = lambda v: rb.jvp(doubled, (v,), (v,))
    for program in (doubled, rb.vmap(doubled), slope, rb.jit(slope), pushed, rb.vmap(rb.grad(doubled))):
        assert "keep_apart" not in str(rb.make_jaxpr(program)(x))
    assert rb.grad(lambda v: (rnp.array(v) ** 2).sum())(x).tolist() == [0, 2, 4]


def test_an_array_that_its_own_program_deletes_from_a_callback(child):
    """Before jaxlib deletes an array it waits for the program that reads it, which waits for the callback."""
    assert child(
        """
        x = rnp.arange(4.0)

        def double(y):
            x.delete()
            return np.asarray(y) * 2

        print(rb.jit(lambda y: rb.pure_callback(double, rb.ShapeDtypeStruct((4,), "float32"), y) * y)(x))
        try:
            x + 1
        except rb.errors.DeletedArrayError:
            print("deleted")
        """
    ).split() == ["[", "0.", "2.", "8.", "18.]", "deleted"]
