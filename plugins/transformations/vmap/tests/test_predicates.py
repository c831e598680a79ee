"""What vmap does with operations that a batched value decides."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.primitive import Primitive
from rabbet_vmap.interpreter import Vmap
from rabbet_vmap.predicates import decide

choose = Primitive("choose_of_test_predicates", lambda x: x)


class Quiet(Vmap):
    """A transformation of one's own, made of vmap."""


@pytest.mark.parametrize("cls", [Vmap, Quiet])
def test_an_operation_that_vmap_cannot_decide_is_an_error_for_subclasses_too(cls):
    interpreter = cls.__new__(cls)
    with pytest.raises(TypeError, match="choose_of_test_predicates") as caught:
        decide(interpreter, choose.op(), [1.0])
    assert not isinstance(caught.value, RecursionError)


def test_what_every_branch_passes_on_stays_one_for_all_examples():
    def step(kept, x):
        return lax.cond(x > 1, lambda k, x: (k, x + k), lambda k, x: (k, x), kept, x)

    kept, out = rb.vmap(step, in_axes=(None, 0), out_axes=(None, 0))(
        np.float32(5), np.arange(4.0, dtype="f4")
    )
    assert kept.shape == () and float(kept) == 5
    np.testing.assert_array_equal(out, [0, 1, 7, 8])


def test_what_branches_pass_on_from_different_places_is_chosen():
    step = lambda x, a, b: lax.cond(x > 1, lambda a, b: (a, b), lambda a, b: (b, a), a, b)
    a, b = rb.vmap(step, in_axes=(0, None, None))(np.arange(3, dtype="f4"), np.float32(1), np.float32(2))
    np.testing.assert_array_equal(a, [2, 2, 1])
    np.testing.assert_array_equal(b, [1, 1, 2])
