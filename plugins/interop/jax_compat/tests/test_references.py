"""What Flax and Orbax ask of references, types and processes, with JAX's answers."""

import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_jax import overlay
from rabbet_jax.overlay._src import distributed
from rabbet_jax.overlay._src.state import types


def test_the_type_of_a_reference():
    ref = rb.new_ref(rnp.zeros(3))
    seen = []
    rb.jit(lambda r: seen.append(overlay.typeof(r)))(ref)
    for found in (overlay.typeof(ref), *seen):
        assert isinstance(found, types.AbstractRef), found
        assert (found.shape, found.dtype, found.inner_aval) == ((3,), "float32", rb.typeof(ref[...]))
    assert overlay.typeof(seen[0]) == seen[0]
    assert overlay.typeof(rnp.zeros(3)) is rb.typeof(rnp.zeros(3))
    with pytest.raises(TypeError, match="is not an array"):
        overlay.typeof("text")


def test_a_process_alone_has_no_client():
    state = distributed.global_state
    assert (state.client, state.process_id, state.num_processes) == (None, 0, 1)
