"""``in_nzs``: arguments of ``vjp`` and ``linearize`` that are constants, and which outputs then move."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

X, Y = np.float32([1.0, 2.0]), np.float32([3.0, 5.0])


def listed(arrays):
    return [np.asarray(x).tolist() for x in rb.tree.leaves(arrays)]


@pytest.mark.parametrize(
    ("in_nzs", "wanted"),
    [
        (None, [[3, 5], [1, 2]]),
        (True, [[3, 5], [1, 2]]),
        ((True, False), [[3, 5], [0, 0]]),
        ([False, True], [[0, 0], [1, 2]]),
        (False, [[0, 0], [0, 0]]),
    ],
)
def test_arguments_without_a_tangent(in_nzs, wanted):
    _, pull = rb.vjp(lax.mul, X, Y, in_nzs=in_nzs)
    assert listed(pull(np.ones(2, np.float32))) == wanted
    _, push = rb.linearize(lax.mul, X, Y, in_nzs=in_nzs)
    directions = np.float32([1, 0]), np.float32([0, 1])
    assert listed(push(*directions)) == [[wanted[0][0], wanted[1][1]]]


def test_which_outputs_move():
    def f(x, y):
        return lax.neg(x), {"y": lax.neg(y), "one": 1.0}

    (_, pull), (_, push) = rb.vjp(f, X, Y), rb.linearize(f, X, Y, in_nzs=(False, True))
    assert pull.out_nzs == (True, {"y": True, "one": False})
    assert push.out_nzs == (False, {"y": True, "one": False})
    _, pull, _ = rb.vjp(lambda x: (lax.neg(x), x), X, has_aux=True, in_nzs=(False,))
    assert pull.out_nzs is False


def test_trees_of_bools():
    def f(both, z):
        return lax.mul(lax.mul(both["a"], both["b"]), z)

    _, pull = rb.vjp(f, {"a": X, "b": Y}, Y, in_nzs=((False, True), True))
    a, b, z = listed(pull(np.ones(2, np.float32)))
    assert (a, b, z) == ([0, 0], [3, 10], [3, 10])


@pytest.mark.parametrize("name", ["in_nzs", "saveable_args"])
def test_what_does_not_fit(name):
    with pytest.raises(ValueError, match=rf"vjp: {name} .* has 2 entries where they have a container of 1"):
        rb.vjp(lax.neg, X, **{name: (True, True)})
    with pytest.raises(ValueError, match=rf"vjp: {name} .* has 1 entries where they have a leaf"):
        rb.vjp(lax.neg, X, **{name: ((True,),)})
    with pytest.raises(ValueError, match=f"vjp: {name} must be a bool or a tree of bools, got 1"):
        rb.vjp(lax.neg, X, **{name: 1})


def test_what_is_not_there_yet():
    assert listed(rb.vjp(lax.neg, X, saveable_args=(True,))[1](X)) == [[-1, -2]]
    with pytest.raises(NotImplementedError, match="saveable_args must be True"):
        rb.vjp(lax.neg, X, saveable_args=(False,))
    for options in ({"with_logs": True}, {"with_accums": object()}):
        with pytest.raises(NotImplementedError, match="custom_gradient: with_"):
            rb.custom_gradient(**options)
