"""What a shared library needs is read from its header."""

import sys

import numpy as np
import pytest
from rabbet.extend.native import missing_libraries
from rabbet.runtime.platforms import shared_libraries


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
def test_what_numpy_needs_is_there_and_what_nobody_has_is_named(monkeypatch):
    library = np._core._multiarray_umath.__file__
    names, _ = shared_libraries.needs(library)
    assert any(name.startswith("libc.so") for name in names)
    assert missing_libraries(library) == []
    monkeypatch.setattr(shared_libraries, "needs", lambda path: (["libnobody_has_this.so.7", *names], []))
    assert missing_libraries(library) == ["libnobody_has_this.so.7"]


def test_what_is_no_library_needs_nothing():
    assert missing_libraries(__file__) == []
