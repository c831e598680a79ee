"""Donated arguments are gone after the call, whether or not the program could reuse their memory."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax


def array(*shape, dtype="f4"):
    return rb.device_put(np.ones(shape, dtype))


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize(
    "options", [{"donate_argnums": 0}, {"donate_argnums": (0,)}, {"donate_argnames": "x"}]
)
def test_a_donated_argument_is_deleted(options):
    f = rb.jit(lambda x, y: x + y, **options)
    for _ in range(2):
        x, y = array(3), array(3)
        out = f(x, y)
        assert x.is_deleted() and not y.is_deleted()
        assert out.tolist() == [2, 2, 2]


@pytest.mark.forbidden("disable_jit")
def test_by_name():
    f = rb.jit(lambda x, y: x + y, donate_argnames="y")
    x, y = array(3), array(3)
    assert f(x, y=y).tolist() == [2, 2, 2]
    assert y.is_deleted() and not x.is_deleted()


@pytest.mark.forbidden("disable_jit")
def test_using_it_afterwards_names_it():
    x = array(3)
    rb.jit(lambda x: x + 1, donate_argnums=0)(x)
    for use in (np.asarray, lambda x: x + 1, lambda x: rb.jit(lambda y: y * 2)(x), list, str):
        with pytest.raises(rb.errors.DeletedArrayError, match=r"f32\[3\] has been deleted or donated"):
            use(x)
    assert "deleted" in repr(x)


@pytest.mark.forbidden("disable_jit")
def test_the_call_that_meets_it_says_which_argument():
    x, y = array(3), array(3)
    x.delete()
    f = rb.jit(lambda y, x: x + y)
    with pytest.raises(rb.errors.DeletedArrayError) as caught:
        f(y, x)
    assert any("argument 1" in note for note in caught.value.__notes__)


@pytest.mark.forbidden("disable_jit")
def test_every_leaf_of_a_donated_tree():
    state = {"w": array(2, 2), "b": [array(2), array(3)]}
    f = rb.jit(lambda s, x: rb.tree.map(lambda a: a + x, s), donate_argnums=0)
    out = f(state, 1.0)
    assert all(x.is_deleted() for x in rb.tree.leaves(state))
    assert not any(x.is_deleted() for x in rb.tree.leaves(out))


@pytest.mark.forbidden("disable_jit")
def test_memory_that_cannot_be_reused():
    x = array(3)
    with pytest.warns(UserWarning, match=r"of the types f32\[3\] are given up.* memory: argument 'x'"):
        out = rb.jit(lambda x: lax.reduce_sum(x, axes=(0,)), donate_argnums=0)(x)
    assert out == 3
    assert x.is_deleted()


@pytest.mark.forbidden("numpy_rank_promotion", "disable_jit")
def test_the_warning_names_the_arguments():
    state = {"w": array(2, 2), "b": [array(2), array(3)]}
    step = lambda state, x, *, y: (state["w"] + x[0], x[0] * y)
    f = rb.jit(step, donate_argnums=(0, 1), donate_argnames="y")
    with pytest.warns(UserWarning, match="their memory: ") as warned:
        f(state, [array(2)], y=array(2))
    named = str(warned[0].message).partition("their memory: ")[2]
    assert named == "argument 'state'['b'][1], argument 'x'[0], keyword argument 'y'"


@pytest.mark.forbidden("disable_jit")
def test_an_argument_that_the_program_does_not_read():
    f = rb.jit(lambda x, y: y + 1, donate_argnums=(0, 1))
    x, y = array(4), array(3)
    with pytest.warns(UserWarning, match=r"donated arrays of the types f32\[4\] are given up"):
        assert f(x, y).tolist() == [2, 2, 2]
    assert x.is_deleted() and y.is_deleted()


@pytest.mark.forbidden("disable_jit")
def test_an_argument_returned_as_it_is():
    x = array(3)
    out = rb.jit(lambda x: x, donate_argnums=0)(x)
    assert out.tolist() == [1, 1, 1]
    assert x.is_deleted()


def test_numbers_are_donated_without_harm():
    f = rb.jit(lambda x: x + 1, donate_argnums=0)
    assert f(2.0) == 3.0
    assert f(2.0) == 3.0
    assert lax.add(2.0, array(1)).tolist() == [3.0]


def test_numpy_arrays_are_donated_without_harm():
    host = np.ones(1000, "f4")
    f = rb.jit(lambda x: x + 1, donate_argnums=0)
    assert f(host).tolist()[0] == 2
    assert host.sum() == 1000


@pytest.mark.forbidden("disable_jit")
def test_an_array_given_twice_and_donated():
    x = array(3)
    f = rb.jit(lambda x, y: x + y, donate_argnums=0)
    with pytest.raises(ValueError, match=r"donated.*more than once|twice"):
        f(x, x)
    assert not x.is_deleted()


def test_inside_a_transformation_nothing_is_deleted():
    f = rb.jit(lambda x: x + 1, donate_argnums=0)
    x = array(3)
    assert rb.jit(lambda x: f(x) + x)(x).tolist() == [3, 3, 3]
    assert not x.is_deleted()


def test_the_program_reuses_the_memory():
    compiled = rb.jit(lambda x: x + 1, donate_argnums=0).lower(array(1000)).compile()
    assert compiled.memory_analysis().alias_size_in_bytes == 4000
    x = array(1000)
    compiled(x)
    assert x.is_deleted()


def test_a_failed_call_deletes_nothing():
    x = array(3)
    with pytest.raises(ZeroDivisionError):
        rb.jit(lambda x: 1 // 0, donate_argnums=0)(x)
    assert not x.is_deleted()


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("vmap", "grad")
def test_within_a_transformation_nothing_is_given_up():
    step = rb.jit(lambda x: x * x, donate_argnums=0)
    x = array(3)
    for transformed in (rb.vmap(step), rb.grad(lambda x: step(x).sum()), rb.jit(lambda x: step(x) + x)):
        assert np.isfinite(transformed(x)).all()
        assert not x.is_deleted()
    y = array(3)
    assert rb.jit(rb.vmap(lambda x: x * x), donate_argnums=0)(y).tolist() == [1, 1, 1]
    assert y.is_deleted()
