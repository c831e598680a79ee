"""Arrays and tensors over the same memory."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.extend.backend import jaxlib_version

torch = pytest.importorskip("torch")

ALIKE = """bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu""".split()
# jaxlib 0.10 copies on the way to NumPy what NumPy has no word for.
COPIES = jaxlib_version() < "0.11"


@pytest.mark.parametrize("name", ALIKE)
def test_memory_is_shared_both_ways(name):
    tensor = torch.arange(1, 33).reshape(4, 8).to(getattr(torch, name))
    array = rb.torch.from_torch(tensor)
    assert array.shape == (4, 8) and array.dtype.name == name
    assert array.unsafe_buffer_pointer() == tensor.data_ptr()
    back = rb.torch.to_torch(array)
    assert back.dtype == tensor.dtype and torch.equal(back.view(torch.uint8), tensor.view(torch.uint8))
    if not (COPIES and name.startswith(("bfloat", "float8"))):
        assert back.data_ptr() == tensor.data_ptr()


def test_copies_are_apart():
    tensor = torch.zeros(64)
    array = rb.torch.from_torch(tensor, copy=True)
    written = rb.torch.to_torch(array, copy=True)
    tensor += 1
    written += 2
    assert array.tolist() == [0] * 64


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.T,
        lambda x: x[:, ::2],
        lambda x: x[1:],
        lambda x: x[0, 0],
        lambda x: x[:0],
        lambda x: x.expand(2, 4, 8),
        lambda x: torch.complex(x, x).conj(),
        lambda x: torch.complex(x, x).conj().imag,
    ],
)
def test_tensors_of_any_layout(make):
    tensor = make(torch.arange(32.0).reshape(4, 8))
    np.testing.assert_array_equal(rb.torch.from_torch(tensor), tensor.resolve_conj().resolve_neg().numpy())


def test_trees_keep_what_is_neither():
    tree = {"x": torch.ones(2), "name": "net", "none": None, "number": 3}
    arrays = rb.torch.from_torch(tree)
    assert isinstance(arrays["x"], rb.Array) and arrays["name"] == "net" and arrays["number"] == 3
    back = rb.torch.to_torch(
        {**arrays, "numpy": np.arange(3), "broadcast": np.broadcast_to(np.float32(1), (2, 2))}
    )
    assert (
        torch.equal(back["x"], tree["x"])
        and back["numpy"].tolist() == [0, 1, 2]
        and back["broadcast"].sum() == 4
    )


def test_an_array_outlives_its_tensor_and_the_other_way_round():
    array = rb.torch.from_torch(torch.full((1000,), 3.0))
    again = torch.full((1000,), 4.0)
    tensor = rb.torch.to_torch(rb.device_put(np.full(1000, 5.0, "f4")))
    other = rb.device_put(np.full(1000, 6.0, "f4"))
    assert array.sum() == 3000 and tensor.sum() == 5000 and again.sum() == 4000 and other.sum() == 6000


def test_what_is_refused_says_why():
    with pytest.raises(ValueError, match=r"the tensor at \['w'\] requires gradients(.|\n)*as_torch"):
        rb.torch.from_torch({"w": torch.ones(2, requires_grad=True)})
    with pytest.raises(TypeError, match=r"stored as torch.sparse_coo; convert it with x.to_dense"):
        rb.torch.from_torch(torch.eye(2).to_sparse())
    with pytest.raises(TypeError, match=r"is traced \(f32\[2\]\)(.|\n)*as_rabbet"):
        rb.jit(rb.torch.to_torch)(np.ones(2, "f4"))
    with pytest.raises(BufferError, match=r"the array at \['q'\]: .*int4"):
        rb.torch.to_torch({"q": rb.lax.full((4,), 1, "int4")})
