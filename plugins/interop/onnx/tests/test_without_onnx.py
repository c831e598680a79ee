"""Where the library onnx is not installed."""

import subprocess
import sys

import pytest
import rabbet as rb


def test_the_module_is_there_and_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"rabbet.onnx needs the library onnx.*pip install onnx"):
        rb.onnx.export(lambda x: x, 1.0)


def test_onnx_is_imported_by_the_first_call_only():
    code = "import sys, rabbet as rb; rb.onnx.export; print('onnx' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
