"""Options that another library has and Rabbet has no meaning for: refused, never ignored."""

import io

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = pytest.mark.needs("numpy", "grad", "lax.linalg", "cpu")
ROW = np.arange(6, dtype="float32")
REFUSED = {
    "gradient, edge_order": lambda: rnp.gradient(ROW, edge_order=2),
    "grad, reduce_axes": lambda: rb.grad(rnp.sum, reduce_axes=("i",)),
    "value_and_grad, reduce_axes": lambda: rb.value_and_grad(rnp.sum, reduce_axes=("i",)),
    "vjp, reduce_axes": lambda: rb.vjp(rnp.sum, ROW, reduce_axes=("i",)),
    "linear_transpose, reduce_axes": lambda: rb.linear_transpose(rnp.sum, ROW, reduce_axes=("i",)),
    "schur, sort_eig_vals": lambda: lax.linalg.schur(np.eye(2, dtype="float32"), sort_eig_vals=True),
    "schur, select": lambda: lax.linalg.schur(np.eye(2, dtype="float32"), select_callable=bool),
    "to_device, stream": lambda: rnp.ones(2).to_device(rb.devices()[0], stream=1),
    "sort, kind": lambda: rnp.sort(ROW, kind="bubble"),
    "argsort, kind": lambda: rnp.argsort(ROW, kind=3),
    "digitize, method": lambda: rnp.digitize(ROW, ROW, method="guess"),
    "savez, allow_pickle": lambda: rnp.savez(io.BytesIO(), np.array([object()]), allow_pickle=False),
    "convolve, precision": lambda: rnp.convolve(ROW, ROW, precision="rough"),
    "correlate, precision": lambda: rnp.correlate(ROW, ROW, precision="rough"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused(name):
    function, option = name.split(", ")
    with pytest.raises((NotImplementedError, ValueError, TypeError), match=f"{option}|rough") as told:
        REFUSED[name]()
    assert function in str(told.value) or "rough" in str(told.value)


def test_what_changes_nothing_is_accepted():
    assert rnp.gradient(ROW, edge_order=1).tolist() == [1] * 6
    for kind in ("quicksort", "mergesort", "heapsort", "stable"):
        assert rnp.sort(ROW[::-1], kind=kind).tolist() == ROW.tolist()
    assert rb.grad(rnp.sum, reduce_axes=())(ROW).tolist() == [1] * 6
    assert rnp.digitize(ROW[:2], ROW, method="sort").tolist() == [1, 2]
    rnp.savez(io.BytesIO(), ROW, allow_pickle=False)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_the_precision_of_a_convolution_is_that_of_its_products(name):
    program = rb.make_jaxpr(lambda x: getattr(rnp, name)(x, x, precision="highest"))(ROW)
    assert "highest" in str(program).lower()


class Given:
    """An array whose capsule is that of a copy."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options, copy=True)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_a_capsule_for_another_device_is_refused():
    x = rnp.asarray(ROW)
    assert x.__dlpack__(dl_device=x.__dlpack_device__())
    with pytest.raises(BufferError, match="not on"):
        x.__dlpack__(dl_device=(x.__dlpack_device__()[0] + 1, 0))


def test_copy_is_a_copy():
    x = rnp.asarray(ROW)
    place = x.unsafe_buffer_pointer()
    copied = [
        rnp.astype(x, "float32", copy=True),
        x.astype("float32", copy=True),
        rnp.array(x, copy=True),
        rnp.asarray(x, copy=True),
        rnp.copy(x),
        rnp.reshape(x, 6, copy=True),
        rnp.from_dlpack(Given(x)),
    ]
    for one in copied:
        assert one.unsafe_buffer_pointer() != place and one.tolist() == x.tolist()
    assert rnp.astype(x, "float32").unsafe_buffer_pointer() == place
    assert rb.grad(lambda x: rnp.astype(x, "float32", copy=True).sum())(x).tolist() == [1] * 6


# What is no value of an option is refused where the option is given.


def attention(**options):
    q = np.ones((1, 2, 1, 4), "f4")
    return rb.nn.dot_product_attention(q, q, q, **options)


def kernel_cost(**options):
    from rabbet.experimental import pallas

    return pallas.CostEstimate(**{"flops": 1, "transcendentals": 0, "bytes_accessed": 4, **options})


def sparse_slope(**options):
    from rabbet.experimental import sparse

    return sparse.grad(lambda x: x.sum(), **options)


NO_VALUES = {
    "jit": (lambda **o: rb.jit(lambda x: x, **o), {"inline": "always"}),
    "checkpoint": (lambda **o: rb.checkpoint(lambda x: x, **o), {"prevent_cse": "no"}),
    "ShapeDtypeStruct": (lambda **o: rb.ShapeDtypeStruct((3,), "float32", **o), {"sharding": "x"}),
    "dot_product_attention": (attention, {"mask": np.ones((1, 1, 2, 2), "f4")}),
    "CostEstimate": (kernel_cost, {"flops": 1.5}),
    "sparse.grad": (sparse_slope, {"no_such_option": 1}),
    "StepTraceAnnotation": (lambda **o: rb.profiler.StepTraceAnnotation(**o), {"name": -5}),
}


@pytest.mark.parametrize("name", NO_VALUES)
@pytest.mark.needs("jit", "nn", "experimental.sparse", "experimental.pallas", "profiler")
def test_what_is_no_value_of_an_option_is_refused(name):
    function, given = NO_VALUES[name]
    with pytest.raises((TypeError, ValueError), match=next(iter(given))):
        function(**given)
