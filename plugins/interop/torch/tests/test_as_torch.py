"""Functions of Rabbet in PyTorch's graphs."""

import math

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

torch = pytest.importorskip("torch")


def f(x, y):
    return lax.sin(x) * y + lax.exp(-x) / (1 + y * y)


def tensor_f(x, y):
    return torch.sin(x) * y + torch.exp(-x) / (1 + y * y)


def doubles(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype).requires_grad_()


@pytest.mark.parametrize("jit", [True, False])
def test_first_and_second_derivatives_by_finite_differences(jit):
    fun = rb.torch.as_torch(f, jit=jit)
    x, y = doubles(3), doubles(3, seed=1)
    torch.testing.assert_close(fun(x, y), tensor_f(x, y))
    assert torch.autograd.gradcheck(fun, (x, y))
    assert torch.autograd.gradgradcheck(fun, (x, y))


def test_derivatives_by_complex_numbers_follow_the_convention_of_pytorch():
    z = doubles(3, dtype=torch.complex128)
    fun = rb.torch.as_torch(lambda z: (z * z * lax.conj(z), lax.abs(z), lax.imag(z * (2 + 1j))))
    assert torch.autograd.gradcheck(fun, (z,))
    assert torch.autograd.gradgradcheck(rb.torch.as_torch(lambda z: z * z * lax.conj(z)), (z,))


def test_third_derivative():
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    y = rb.torch.as_torch(lax.sin)(x)
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
    assert y.item() == pytest.approx(-math.cos(0.7))


def test_structures_constants_and_what_has_no_gradient():
    calls = []

    @rb.torch.as_torch
    def fun(data, power, *, names, shift=None):
        calls.append(power)
        total = data["x"] ** power + shift
        return {
            "total": total,
            "order": lax.convert_element_type(data["i"], "int32") + 1,
            "names": names,
            "none": None,
        }

    x, i = doubles(3), torch.tensor([3, 1, 2])
    for _ in range(2):
        out = fun({"x": x, "i": i}, 3, names="abc", shift=np.ones(3))
    assert out["names"] == "abc" and out["none"] is None and out["order"].tolist() == [4, 2, 3]
    assert not out["order"].requires_grad and out["total"].requires_grad
    out["total"].sum().backward()
    torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)
    assert calls == [3]  # the second call found the program
    fun({"x": x, "i": i}, 2, names="abc", shift=np.ones(3))
    assert calls == [3, 2]


def test_only_what_needs_a_gradient_is_differentiated():
    x, y = doubles(3), doubles(3, seed=1).detach()
    fun = rb.torch.as_torch(f)
    out = fun(x, y)
    out.sum().backward()
    assert y.grad is None and x.grad is not None
    with torch.no_grad():
        assert not fun(x, y).requires_grad
    assert not fun(x.detach(), y).requires_grad


def test_results_that_nobody_differentiates():
    x = doubles(3)
    a, _ = rb.torch.as_torch(lambda x: (x * 2, lax.sin(x)))(x)
    a.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_result_is_apart_from_its_argument():
    x = torch.ones(64)
    out = rb.torch.as_torch(lambda x: x)(x)
    out += 1
    assert x.sum() == 64


def test_the_function_has_finished_when_it_returns():
    """So its arguments may be written to, as an optimizer does."""
    fun = rb.torch.as_torch(lambda x: lax.fori_loop(0, 50, lambda i, v: v @ x * 0.5, x))
    x = torch.eye(200)
    for _ in range(5):
        expected = fun(x.clone())
        given = x.clone()
        out = fun(given)
        given.zero_()
        assert torch.equal(out, expected)


def test_writing_between_forward_and_backward_is_noticed():
    x = doubles(3)
    given = x * 1
    out = rb.torch.as_torch(lax.sin)(given).sum()
    given.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_the_structure_of_the_result_may_depend_on_shapes():
    fun = rb.torch.as_torch(lambda x: list(x))
    assert [len(fun(torch.ones(n))) for n in (2, 3, 2)] == [2, 3, 2]


def test_branching_on_values_without_jit():
    fun = rb.torch.as_torch(lambda x: x * 2 if x > 0 else -x, jit=False)
    x = torch.tensor(-3.0, requires_grad=True)
    fun(x).backward()
    assert x.grad == -1


def test_messages():
    with pytest.raises(TypeError, match="as_torch takes a function of Rabbet, got int"):
        rb.torch.as_torch(3)
    with pytest.raises(TypeError, match=r"neither array nor hashable(.|\n)*partial"):
        rb.torch.as_torch(lambda x, s: x)(torch.ones(2), {1, 2})
    with pytest.raises(TypeError, match=r"returned\[0\] object|returned at \[0\] object"):
        rb.torch.as_torch(lambda x: (object(), x))(torch.ones(2))
    with pytest.raises(TypeError, match=r"f32\[2\].*f32\[3\]|shapes? .*2.*3"):
        rb.torch.as_torch(lambda x, y: x + y)(torch.ones(2), torch.ones(3))
