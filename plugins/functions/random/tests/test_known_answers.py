"""Numbers recorded from another implementation of the scheme (tests/parity/record_random.py writes the
table).
"""

import json
import pathlib

import numpy as np
import pytest
from rabbet import random
from rabbet.extend.dtype import ExtendedDType

ANSWERS = json.loads(pathlib.Path(__file__).with_name("known_answers.json").read_text())

# Where the same compiler draws, floats agree within two units in the last place (tests/parity); the
# versions of jaxlib differ a little more among each other.
UNITS = 8
MADE_OF_SEVERAL = {
    "gamma", "loggamma", "beta", "dirichlet", "chisquare", "f", "t", "generalized_normal", "ball", "wald",
    "double_sided_maxwell", "multivariate_normal", "orthogonal",
}  # fmt: skip


def arguments(kwargs):
    """The keyword arguments as functions take them: shapes are tuples, other lists are arrays."""
    made = dict(kwargs)
    for name, value in kwargs.items():
        if name in ("shape", "num") and isinstance(value, list):
            made[name] = tuple(value)
        elif isinstance(value, list):
            array = np.asarray(value)
            made[name] = array.astype("int32" if array.dtype.kind == "i" else "float32")
    return made


def name_of(answer):
    said = [
        str(v)
        for k, v in answer["arguments"].items()
        if k in ("dtype", "mode", "minval", "maxval", "axis", "replace")
    ]
    return "-".join([answer["function"], *said])


@pytest.mark.parametrize("answer", ANSWERS, ids=name_of)
@pytest.mark.narrow
def test_known_answer(answer):
    function = getattr(random, answer["function"])
    out = function(random.key(answer["seed"]), **arguments(answer["arguments"]))
    if isinstance(out.dtype, ExtendedDType):
        out = random.key_data(out)
    assert list(out.shape) == answer["shape"]
    assert out.dtype.name == answer["dtype"]
    flat = np.asarray(out).ravel()
    if flat.dtype.kind in "biu":
        assert flat.tolist() == answer["values"]
        return
    if flat.dtype.kind == "c":
        flat = flat.view(f"f{flat.dtype.itemsize // 2}")
    wanted = np.array([float.fromhex(v) for v in answer["values"]], flat.dtype)
    if answer["function"] in MADE_OF_SEVERAL:
        # Elements are sums, or powers of numbers near 1: what counts is the distance to the largest.
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(flat, wanted, rtol=1e-5, atol=16 * np.finfo(flat.dtype).eps * scale)
    elif answer["function"] == "logistic":
        # A difference of two logarithms: what counts is its distance to the larger of them.
        np.testing.assert_allclose(flat, wanted, rtol=0, atol=UNITS * np.finfo(flat.dtype).eps)
    else:
        np.testing.assert_array_max_ulp(flat, wanted, UNITS)


def test_the_table_covers_what_draws():
    covered = {answer["function"] for answer in ANSWERS}
    about_keys = {"Generator", "Key", "PRNGKey", "clone", "key", "key_data", "key_dtype", "key_impl"}
    about_keys |= {"wrap_key_data"}
    assert covered == set(random.__all__) - about_keys
