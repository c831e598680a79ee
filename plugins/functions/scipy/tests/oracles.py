"""What the tests of these modules share: arrays as they are, comparison with SciPy, derivatives."""

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp


def ours(x):
    """A NumPy array in its own dtype, without narrowing; anything else as it is."""
    with rb.config.override(explicit_x64_dtypes="allow"):
        return rnp.asarray(x, x.dtype) if isinstance(x, np.ndarray) else x


def close(found, wanted, rtol=1e-9, atol=1e-10):
    """Compare trees leaf by leaf: shapes, kinds of dtypes and values."""
    found = rb.tree.leaves(found)
    wanted = rb.tree.leaves(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        assert a.dtype.kind == b.dtype.kind
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def check_gradient(function, *args, rtol=1e-6, second=False):
    """Reverse mode and forward mode against central differences in double precision, along one direction of
    all arguments; with ``second`` the derivative of the gradient too.

    ``function`` returns an array or a tree of arrays; some sum of their elements is differentiated.
    """
    args = [ours(np.asarray(a, "complex128" if np.iscomplexobj(a) else "float64")) for a in args]
    generator = np.random.default_rng(3)

    def drawn(shape, dtype):
        x = generator.normal(size=shape)
        x = x + 1j * generator.normal(size=shape) if dtype == "complex128" else x
        return ours(np.asarray(x, dtype))

    direction = [drawn(a.shape, str(a.dtype)) for a in args]
    weights = [drawn(leaf.shape, str(leaf.dtype)) for leaf in rb.tree.leaves(rb.eval_shape(function, *args))]

    def along(t):
        out = rb.tree.leaves(function(*[a + t * d for a, d in zip(args, direction, strict=True)]))
        return sum(rnp.sum(rnp.real(o * w)) for o, w in zip(out, weights, strict=True))

    zero, one, h = ours(np.array(0.0)), ours(np.array(1.0)), 1e-5
    forward, slope = rb.jit(lambda t: rb.jvp(along, (t,), (one,))), rb.jit(rb.grad(along))
    wanted = (float(forward(zero + h)[0]) - float(forward(zero - h)[0])) / (2 * h)
    bound = rtol * max(abs(wanted), 1e-3)
    assert abs(float(slope(zero)) - wanted) <= bound, (float(slope(zero)), wanted)
    assert abs(float(forward(zero)[1]) - wanted) <= bound, (float(forward(zero)[1]), wanted)
    if second:
        wanted = (float(slope(zero + h)) - float(slope(zero - h))) / (2 * h)
        curvature = float(rb.jit(rb.grad(rb.grad(along)))(zero))
        assert abs(curvature - wanted) <= 10 * rtol * max(abs(wanted), 1e-3), (curvature, wanted)


def check_batches(function, *args):
    """``vmap`` and ``jit`` against a loop over the first axis."""
    args = [ours(a) for a in args]
    single = rb.jit(function)
    wanted = [rb.tree.leaves(single(*[a[i] for a in args])) for i in range(args[0].shape[0])]
    found = rb.tree.leaves(rb.jit(rb.vmap(function))(*args))
    for i, leaf in enumerate(found):
        np.testing.assert_allclose(np.asarray(leaf), np.stack([w[i] for w in wanted]), rtol=1e-9, atol=1e-10)
