"""in_axes by the names of arguments: however an argument is passed, its name says along which axis it is
mapped.
"""

import numpy as np
import pytest
import rabbet as rb

pytestmark = pytest.mark.needs("numpy")  # the methods of arrays

X = np.arange(12.0, dtype="f4").reshape(4, 3)
W = np.array([1.0, 10.0, 100.0], "f4")


def affine(x, *, weights, offset=0.0):
    return (x * weights).sum() + offset


def test_a_keyword_argument_that_is_the_same_for_all():
    got = rb.vmap(affine, in_axes={"weights": None})(X, weights=W)
    np.testing.assert_array_equal(got, X @ W)


def test_what_is_not_named_is_mapped_along_axis_0():
    offsets = np.arange(4.0, dtype="f4")
    got = rb.vmap(affine, in_axes={"weights": None})(X, weights=W, offset=offsets)
    np.testing.assert_array_equal(got, X @ W + offsets)


def test_a_name_finds_its_argument_by_position_and_by_keyword():
    mapped = rb.vmap(lambda x, y: x + y, in_axes={"x": 1, "y": None})
    want = X.T + np.arange(4.0, dtype="f4")
    np.testing.assert_array_equal(mapped(X, np.arange(4.0, dtype="f4")), want)
    np.testing.assert_array_equal(mapped(y=np.arange(4.0, dtype="f4"), x=X), want)


def test_entries_are_prefixes_of_their_arguments():
    params = {"w": X, "b": np.float32(2.0)}
    mapped = rb.vmap(
        lambda *, params: params["w"].sum() + params["b"], in_axes={"params": {"w": 1, "b": None}}
    )
    np.testing.assert_array_equal(mapped(params=params), X.sum(0) + 2)


def test_the_rest_of_the_arguments():
    def total(first, *rest, **named):
        return first + sum(rest) + sum(named.values())

    row = np.arange(4.0, dtype="f4")
    both = rb.vmap(total, in_axes={"rest": None, "c": None})(row, 1.0, 2.0, c=3.0, d=row)
    np.testing.assert_array_equal(both, 2 * row + 6)
    apart = rb.vmap(total, in_axes={"rest": (0, None)})(row, row, 2.0)
    np.testing.assert_array_equal(apart, 2 * row + 2)


@pytest.mark.needs("grad")
@pytest.mark.needs("grad")
def test_with_other_transformations():
    per_row = rb.vmap(rb.grad(lambda x, *, scale: (x * scale).sum()), in_axes={"scale": None})
    np.testing.assert_array_equal(per_row(X, scale=np.float32(3.0)), np.full((4, 3), 3.0))
    nested = rb.vmap(rb.vmap(lambda x, *, y: x * y, in_axes={"y": 0}), in_axes={"y": None})
    np.testing.assert_array_equal(nested(X, y=W), X * W)


def test_an_empty_dict_maps_everything_along_axis_0():
    np.testing.assert_array_equal(rb.vmap(lambda x: x.sum(), in_axes={})(X), X.sum(1))


def message(call, error=ValueError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_a_name_that_the_call_does_not_have():
    text = message(lambda: rb.vmap(affine, in_axes={"weight": None})(X, weights=W))
    assert "in_axes names 'weight'" in text and "'x', 'weights'" in text and "affine" in text
    # An argument that has a default may be left out.
    assert rb.vmap(affine, in_axes={"weights": None, "offset": None})(X, weights=W).shape == (4,)


def test_keys_are_names():
    assert "names of arguments" in message(lambda: rb.vmap(affine, in_axes={0: 0})(X, weights=W), TypeError)


def test_a_tree_that_does_not_fit():
    text = message(lambda: rb.vmap(affine, in_axes={"weights": {"a": 0}})(X, weights=W))
    assert "in_axes" in text and "structure" in text


def test_an_argument_without_the_axis_says_how_to_name_it():
    text = message(lambda: rb.vmap(affine)(X, weights=np.float32(2.0)))
    assert "keyword argument 'weights'" in text and "in_axes={'weights': None}" in text
