"""What vmap does with operations that a batched value decides."""

import pytest
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
