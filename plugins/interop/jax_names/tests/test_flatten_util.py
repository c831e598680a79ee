"""A tree as a vector and back: a round trip, dtypes, and the messages of unravel."""

import numpy as np
import pytest
from rabbet import tree
from rabbet.errors import TreeError
from rabbet.flatten_util import ravel_pytree

pytestmark = pytest.mark.needs("cpu")

TREES = {
    "mixed": {"b": np.ones((2, 3), "float32"), "a": (np.int32(7), [np.arange(2, dtype="float16")])},
    "scalar": np.float32(3),
    "one array": [np.arange(6, dtype="int32").reshape(2, 3)],
    "complex and real": (np.complex64(1 + 2j), np.float32(3)),
    "empty array": {"x": np.zeros((0, 3), "float32"), "y": np.ones(1, "float32")},
    "nothing": (),
}


@pytest.mark.parametrize("t", TREES.values(), ids=TREES)
def test_unravel_undoes_ravel(t):
    flat, unravel = ravel_pytree(t)
    again = unravel(flat)
    assert flat.shape == (sum([np.size(x) for x in tree.leaves(t)]),)
    assert tree.structure(again) == tree.structure(t)
    for x, y in zip(tree.leaves(t), tree.leaves(again)):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_array_equal(x, np.asarray(y))


@pytest.mark.narrow
def test_the_vector_has_the_promoted_dtype_and_the_order_of_the_leaves():
    flat, _ = ravel_pytree({"b": np.float16(1.5), "a": np.array([[1], [2]], "int32")})
    assert flat.dtype == "float16"
    np.testing.assert_array_equal(np.asarray(flat), np.array([1, 2, 1.5], "float16"))
    assert ravel_pytree(())[0].dtype == "float32"


def test_unravel_refuses_another_shape_or_dtype():
    _, unravel = ravel_pytree([np.ones(2, "float32"), np.int32(1)])
    with pytest.raises(TreeError, match=r"a vector of shape \(3,\), got shape \(4,\)"):
        unravel(np.ones(4, "float32"))
    with pytest.raises(TypeError, match="a vector of float32, got int32; convert it with astype"):
        unravel(np.ones(3, "int32"))


@pytest.mark.narrow
def test_python_numbers_count_with_their_default_dtypes():
    flat, unravel = ravel_pytree((1.0, np.arange(2, dtype="float16")))
    assert flat.dtype == "float32" and not flat.weak_type
    assert [x.dtype for x in unravel(flat)] == ["float32", "float16"]
    assert ravel_pytree((1, np.arange(2, dtype="int8")))[0].dtype == "int32"
    assert ravel_pytree((1, 2))[0].weak_type
    assert not ravel_pytree((1, np.int32(2)))[0].weak_type


def test_a_tree_of_one_dtype_is_made_of_vectors_of_any():
    _, unravel = ravel_pytree({"a": np.ones(2, "float32"), "b": np.float32(1)})
    tree_of = unravel(np.arange(3, dtype="float16"))
    assert [x.dtype for x in tree.leaves(tree_of)] == ["float16", "float16"]


def test_ways_back_to_the_same_trees_are_equal():
    """So that one can be a static argument: a second one is no second trace."""
    (_, one), (_, other) = [ravel_pytree([np.ones(2, "float32"), x]) for x in (np.int32(1), np.int32(2))]
    _, longer = ravel_pytree([np.ones(3, "float32"), np.int32(1)])
    assert one == other and hash(one) == hash(other) and one != longer
