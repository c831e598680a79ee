"""Which programs have their convolutions in Eigen's kernels, read off the text that they have."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet_pjrt_cpu import BACKEND, LIBRARY, convolution_kernels

pytest.importorskip("rabbet_convolution")
pytest.importorskip("rabbet_jit")
pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")
LAYOUT = "NHWC", "HWIO", "NHWC"


def text(n, side, features, made, kernel, stride=1, by=None, dtype="float32"):
    """The text of one convolution, or of its gradients: ``by`` the operand (0) or the kernel (1)."""

    def conv(x, w):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=LAYOUT)

    x, w = np.zeros((n, side, side, features), dtype), np.zeros((kernel, kernel, features, made), dtype)
    fn = conv if by is None else rb.grad(lambda x, w: (conv(x, w) ** 2).sum(), by)
    return rb.jit(fn).trace(x, w).lower().as_text()


SMALL = 64, 14, 16, 32, 3
CASES = {  # with jaxlib 0.10, with jaxlib 0.12, the program
    "a few features": (True, True, (SMALL, {})),
    "a few features, both gradients": (True, True, (SMALL, {"by": (0, 1)})),
    "many features": (True, False, ((8, 56, 64, 64, 3), {"by": (0, 1)})),
    "more features": (False, False, ((4, 14, 256, 256, 3), {})),
    "one example": (False, False, ((1, 56, 64, 64, 3), {"by": 1})),
    "three features": (False, False, ((32, 32, 3, 64, 3), {})),
    "a large kernel": (False, False, ((64, 12, 32, 64, 5), {})),
    "a stride": (False, False, ((32, 16, 16, 32, 3, 2), {})),
    "float64": (False, False, (SMALL, {"dtype": "float64"})),
}


@pytest.mark.parametrize("case", CASES)
def test_which_programs_gain_by_eigen(case):
    early, late, (sizes, options) = CASES[case]
    with rb.enable_x64():
        program = text(*sizes, **options)
    assert "stablehlo.convolution" in program
    assert convolution_kernels.are_faster_in_eigen(program, "0.10.2") is early
    assert convolution_kernels.are_faster_in_eigen(program, "0.12.0.1") is late


def test_one_convolution_that_loses_is_enough():
    both = text(*SMALL) + text(1, 56, 64, 64, 3, by=1)
    assert not convolution_kernels.are_faster_in_eigen(both, "0.10.2")
    assert not convolution_kernels.are_faster_in_eigen("", "0.10.2"), "there is none"


def test_the_option_is_given_and_results_stay():
    random = np.random.default_rng(0)
    x, w = random.standard_normal((8, 6, 6, 16), "f4"), random.standard_normal((3, 3, 16, 16), "f4")
    conv = rb.jit(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUT))
    option = BACKEND.program_options(conv.trace(x, w).lower().as_text())[LIBRARY]
    assert "CONV" not in option
    found = conv(x, w)
    rb.config.update("cpu_kernels", "quick")
    try:
        np.testing.assert_allclose(found, conv(x, w), rtol=1e-4, atol=1e-4)
    finally:
        rb.config.update("cpu_kernels", "default")
