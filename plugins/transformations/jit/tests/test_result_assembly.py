"""Results put together without a walk through their structure."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import rabbet as rb
from rabbet import tree
from rabbet_jit.result_assembly import assembler

Pair = namedtuple("Pair", "a b")


STRUCTURES = [
    (),
    (1,),
    (1, 2, 3),
    [1, 2],
    [],
    {},
    {"b": 1, "a": 2},
    {3: 1, 1: 2},
    {"a": None},
    {"a": {"b": 1}, "c": 2},
    (1, (2, 3)),
    (None,),
    None,
    OrderedDict([("b", 1), ("a", 2)]),
    Pair(1, 2),
    [Pair(1, {"x": 2})],
]


@pytest.mark.parametrize("given", STRUCTURES, ids=repr)
def test_it_is_what_unflatten_makes(given):
    leaves, structure = tree.flatten(given)
    leaves = [10 * x for x in leaves]
    expected = tree.unflatten(structure, leaves)
    made = assembler(structure)(leaves)
    assert made == expected and type(made) is type(expected)
    if isinstance(made, dict):
        assert list(made) == list(expected)


def test_a_single_array_needs_none():
    assert assembler(tree.structure(1)) is None


def test_results_are_new_at_each_call():
    x = np.float32(1)
    for make in (list, lambda pair: dict(zip("ab", pair, strict=True))):
        compiled = rb.jit(lambda a, make=make: make((a, a + 1))).lower(x).compile()
        first, second = compiled(x), compiled(x)
        assert first is not second
        first.clear()
        assert len(second) == 2 and len(compiled(x)) == 2


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_compiled_functions_know_arrays_and_numbers_again(count):
    """The second call, which finds the program by what was seen, gives what the first did."""
    compiled = rb.jit(lambda *xs: (*[x + 1 for x in xs],)).lower(*[1.5] * count).compile()
    for value in (2.0, 3.0):
        expected = (value + 1,) * count
        assert compiled(*[value] * count) == expected
        assert compiled(*[rb.device_put(value)] * count) == expected
    with pytest.raises(TypeError, match="was compiled for arguments of the structure"):
        compiled(*[1.5] * (count + 1))


def test_a_wrong_argument_after_right_ones_is_told_without_our_frames():
    compiled = rb.jit(lambda x: x + 1).lower(np.zeros(3, np.float32)).compile()
    compiled(rb.device_put(np.zeros(3, np.float32)))
    folded = rb.config.override(traceback="fold")
    with folded, pytest.raises(TypeError, match="takes f32") as caught:
        compiled(rb.device_put(np.zeros(4, np.float32)))
    frames = [entry.path for entry in caught.traceback]
    assert str(frames[-1]) == __file__
