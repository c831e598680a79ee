"""Tokens: values without content that say what must have been computed."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import stage


def test_tokens_are_values():
    first, second = lax.create_token(), lax.after_all()
    merged = lax.after_all(first, second).block_until_ready()
    assert repr(merged) == "Token()" and rb.tree.leaves(merged)[0].shape == (0,)
    jaxpr, _ = stage(lambda mark: [lax.after_all(type(first)(mark), second).mark], [first.mark.aval])
    assert [e.primitive.name for e in jaxpr.equations] == ["optimization_barrier"]
    with pytest.raises(TypeError, match="after_all takes tokens"):
        lax.after_all(np.ones(3))
