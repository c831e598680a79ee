"""Results of a program: an array for each, with its placement, in the form that is asked for."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.execution import results


def arrays(count):
    return [rb.device_put(np.full(i + 1, i, "float32")) for i in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, results.MOST, results.MOST + 1])
@pytest.mark.parametrize("form", [tuple, list, lambda leaves: {"first": leaves[0], "all": leaves}])
def test_each_result_is_an_array_with_its_own_placement(count, form):
    given = arrays(count)
    out = results.builder([x.spec for x in given], form)([x.raw for x in given])
    assert type(out) is (form if isinstance(form, type) else dict)
    for x, want in zip(out["all"] if type(out) is dict else out, given, strict=True):
        assert type(x) is Array and x.raw is want.raw and x.spec is want.spec and x.aval is want.aval
    if type(out) is dict:
        assert out["first"] is out["all"][0] and type(out["all"]) is list


@pytest.mark.parametrize("form", [tuple, list])
def test_a_program_without_results_gives_an_empty_structure(form):
    assert results.builder([], form)([]) == form()


def test_results_of_two_functions_with_as_many_results_are_not_mixed_up():
    few, many = arrays(2), arrays(4)[2:]
    first = results.builder([x.spec for x in few], tuple)
    second = results.builder([x.spec for x in many], tuple)
    assert [x.shape for x in first([x.raw for x in few])] == [(1,), (2,)]
    assert [x.shape for x in second([x.raw for x in many])] == [(3,), (4,)]


def test_another_number_of_raw_arrays_is_an_error():
    (x,) = arrays(1)
    with pytest.raises(ValueError, match="not enough values"):
        results.builder([x.spec, x.spec], tuple)([x.raw])
