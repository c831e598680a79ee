"""The examples of the docstrings."""

import doctest

import numpy as np
import pytest
import rabbet as rb

pytest.importorskip("torch")


@pytest.mark.parametrize("name", rb.torch.__all__)
def test_examples(name):
    rnp = pytest.importorskip("rabbet.numpy")
    function = getattr(rb.torch, name)
    example = doctest.DocTestParser().get_doctest(
        function.__doc__, {"rb": rb, "np": np, "rnp": rnp}, name, None, None
    )
    assert example.examples
    report = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert report == []
