"""What types say of axes along which devices compute by themselves."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.extend.sharding import ManualAxisType

KIND = ManualAxisType.kinds


def test_of_an_array():
    aval = rb.typeof(np.ones(3))
    assert aval.mat.empty and aval.vma == frozenset() and aval.mat == ManualAxisType()


def test_of_names():
    mat = ManualAxisType(varying={"x"}, unreduced=["u"], reduced=("r",))
    assert mat.unreduced_kind is KIND.sum and mat.vur == {"x", "u", "r"} and not mat.empty
    assert mat.to_ct_mat() == ManualAxisType(varying={"x"}, unreduced={"r"}, reduced={"u"})
    assert mat.update(unreduced=()) == ManualAxisType(varying={"x"}, reduced={"r"})
    assert hash(mat) == hash(ManualAxisType(varying={"x"}, unreduced={"u"}, reduced={"r"}))
    assert ManualAxisType(unreduced={"u"}, unreduced_kind=KIND.max).unreduced_kind is KIND.max


def test_what_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="axis 'x' is in varying and in unreduced"):
        ManualAxisType(varying={"x"}, unreduced={"x"})
    with pytest.raises(ValueError, match="unreduced_kind says how values along axes in unreduced"):
        ManualAxisType(unreduced_kind=KIND.max)
