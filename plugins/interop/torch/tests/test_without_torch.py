"""Where PyTorch is not installed, and what is imported when."""

import subprocess
import sys

import pytest
import rabbet as rb


def test_the_module_is_there_and_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (
        lambda: rb.torch.from_torch(1),
        lambda: rb.torch.to_torch(1),
        lambda: rb.torch.as_torch(abs),
        lambda: rb.torch.as_rabbet(abs),
        lambda: rb.torch.from_module(abs),
    ):
        with pytest.raises(ImportError, match=r"rabbet.torch needs PyTorch.*pip install torch"):
            call()


def test_torch_is_imported_by_the_first_call_only():
    code = "import sys, rabbet as rb, rabbet.torch; rb.torch.as_torch; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
