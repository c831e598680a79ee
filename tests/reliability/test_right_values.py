"""The rows of docs/right-values.md, computed."""

import re
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "lax.linalg", "scipy", "grad", "nn")

PAGE = (Path(__file__).parents[2] / "docs" / "right-values.md").read_text()
ROWS = re.findall(r"^\| `(.+?)` \| (\S+) \| \S+ \|$", PAGE, re.M)


def projector(a):
    _, v = rnp.linalg.eigh((a + a.T) / 2)
    return v[0, 2] * v[1, 2]


def test_the_page_has_rows():
    assert len(ROWS) == 47


@pytest.mark.parametrize(("call", "right"), ROWS)
def test_a_row_of_the_page(call, right):
    from rabbet.scipy import linalg, special, stats

    names = {
        "rb": rb, "rnp": rnp, "lax": lax, "special": special, "stats": stats, "linalg": linalg,
        "c": np.complex64, "complex": complex, "projector": projector,
        "equal": np.diag(np.float32([4, 1, 1])),
    }  # fmt: skip
    found, wanted = complex(eval(call, names)), complex(right)
    for x, y in ((found.real, wanted.real), (found.imag, wanted.imag)):
        assert x == pytest.approx(y, rel=1e-6, abs=1e-7 if y == 0 else 0)
