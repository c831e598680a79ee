"""Other libraries with Rabbet's arrays and functions, each by what its users do with it."""

import functools
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_einops():
    """Its functions for any library of the array API; its own list of libraries is fixed."""
    einops = pytest.importorskip("einops.array_api")
    x = rnp.asarray(X)
    moved = einops.rearrange(x, "b (h w) c -> b c h w", w=3)
    assert isinstance(moved, rb.Array) and moved.shape == (2, 4, 1, 3)
    np.testing.assert_array_equal(np.asarray(moved)[:, :, 0], X.transpose(0, 2, 1))
    np.testing.assert_allclose(einops.reduce(x, "b h c -> c", "mean"), X.mean((0, 1)))
    assert einops.repeat(x, "b h c -> b h c r", r=2).shape == (2, 3, 4, 2)
    packed, shapes = einops.pack([x, x[:, 0]], "b * c")
    assert packed.shape == (2, 4, 4) and [p.shape for p in einops.unpack(packed, shapes, "b * c")][1] == (
        2,
        4,
    )
    flat = rb.jit(lambda x: rnp.sum(einops.rearrange(x, "b h c -> (b h c)") ** 2))
    np.testing.assert_allclose(flat(x), np.sum(X**2), rtol=1e-6)
    assert rb.grad(flat)(x).shape == x.shape == rb.vmap(rb.grad(flat))(x[:, None])[:, 0].shape


def test_opt_einsum():
    """Its backend is named, since it finds libraries by a list of its own."""
    opt_einsum = pytest.importorskip("opt_einsum")
    a, b, c = [np.random.RandomState(i).randn(4, 4).astype("f4") for i in range(3)]
    contract = functools.partial(opt_einsum.contract, backend="rabbet.numpy")
    found = contract("ij,jk,kl->il", *map(rnp.asarray, (a, b, c)))
    assert isinstance(found, rb.Array)
    np.testing.assert_allclose(found, a @ b @ c, rtol=1e-4)
    path = opt_einsum.contract_path("ij,jk,kl->il", a, b, c)[0]
    np.testing.assert_allclose(rnp.einsum("ij,jk,kl->il", a, b, c, optimize=path), found, rtol=1e-4)
    through = rb.jit(lambda a: contract("ij,jk,kl->il", a, b, c))
    np.testing.assert_allclose(through(a), found, rtol=1e-4)
    np.testing.assert_allclose(
        rb.jacfwd(lambda a: contract("ij,jk->", a, b))(a), np.ones((4, 4)) * b.sum(1), rtol=1e-4
    )


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")
    x = rnp.asarray(X)
    assert compat.is_array_api_obj(x) and compat.size(x) == 24
    xp = compat.array_namespace(x, x)
    assert xp is rnp and "float32" in xp.__array_namespace_info__().dtypes()

    def whiten(x):
        """As SciPy's and scikit-learn's own code for any array library is written."""
        xp = compat.array_namespace(x)
        centred = x - xp.mean(x, axis=0, keepdims=True)
        return centred / xp.std(centred, axis=0, keepdims=True)

    rows = rnp.asarray(np.random.RandomState(0).randn(9, 3).astype("f4"))
    np.testing.assert_allclose(rnp.std(whiten(rows), axis=0), 1.0, rtol=1e-5)
    np.testing.assert_allclose(rb.jit(whiten)(rows), whiten(rows), rtol=1e-5)


def test_jaxtyping_and_beartype():
    jaxtyping, beartype = pytest.importorskip("jaxtyping"), pytest.importorskip("beartype")
    Float, Int = jaxtyping.Float, jaxtyping.Int

    @rb.jit
    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    def gather(table: Float[rb.Array, "n d"], index: Int[rb.Array, "k"]) -> Float[rb.Array, "k d"]:  # noqa: F722, F821
        return table[index]

    assert gather(rnp.ones((3, 2)), rnp.array([0, 2])).shape == (2, 2)
    with pytest.raises(jaxtyping.TypeCheckError):
        gather(rnp.ones(3), rnp.array([0, 2]))
    assert isinstance(rnp.ones((2, 3)), Float[rb.Array, "2 3"])
    assert not isinstance(rnp.ones((2, 3)), Int[rb.Array, "2 3"])
    assert isinstance(np.ones(2), jaxtyping.Float[np.ndarray, "2"])

    @beartype.beartype
    def scaled(x: rb.Array, by: float) -> rb.Array:
        return x * by

    assert rb.jit(scaled, static_argnums=1)(rnp.ones(2), 2.0).tolist() == [2, 2]
    with pytest.raises(beartype.roar.BeartypeCallHintParamViolation):
        scaled(np.ones(2), 2.0)


def rosenbrock(x):
    return rnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Newton-CG", "trust-ncg"])
def test_scipy_minimizes_with_our_derivatives(method):
    optimize = pytest.importorskip("scipy.optimize")
    with rb.enable_x64(True):
        value, hessian = rb.jit(rb.value_and_grad(rosenbrock)), rb.jit(rb.hessian(rosenbrock))
        more = {"hess": hessian} if "ewton" in method or "ncg" in method else {}
        found = optimize.minimize(value, np.array([-1.2, 1.0, 0.5]), jac=True, method=method, **more)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_scipy_solves_and_fits():
    optimize, integrate = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.integrate")
    residual = rb.jit(lambda x: rnp.stack([x[0] ** 2 + x[1] - 3, x[0] - x[1] + 1]))
    with rb.enable_x64(True):
        root = optimize.root(residual, np.array([1.0, 1.0]), jac=rb.jit(rb.jacfwd(residual)))
        fit = optimize.least_squares(residual, np.ones(2), jac=lambda x: np.asarray(rb.jacrev(residual)(x)))
        spring = rb.jit(lambda t, y: rnp.stack([y[1], -y[0]]))
        path = integrate.solve_ivp(spring, (0, np.pi), [1.0, 0.0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(root.x, fit.x, rtol=1e-5)
    np.testing.assert_allclose(path.y[:, -1], [-1, 0], atol=1e-5)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(4.0), "b": [1, 2, 3, 4]})
    x = rnp.asarray(frame[["a", "b"]].to_numpy())
    assert rnp.asarray(frame["a"]).tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(rb.jit(rnp.mean)(frame["a"].to_numpy()), 1.5)
    frame["c"] = rnp.sin(x[:, 0])
    back = pandas.DataFrame(np.asarray(x), columns=["a", "b"])
    assert back["a"].sum() == 6 and frame["c"].dtype == np.float32
    assert pandas.Series(rnp.ones(3)).sum() == 3
    grouped = rb.ops.segment_sum(rnp.asarray(frame["a"]), rnp.asarray(pandas.factorize(frame["b"] % 2)[0]), 2)
    assert sorted(grouped.tolist()) == sorted(frame.groupby(frame["b"] % 2)["a"].sum())


def test_matplotlib(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    x = rnp.linspace(0, 6, 50)
    figure, (left, right) = plt.subplots(1, 2)
    (line,) = left.plot(x, rnp.sin(x), "o-")
    left.fill_between(x, rnp.sin(x) - 0.1, rnp.sin(x) + 0.1)
    left.hist(rnp.sin(x), bins=5)
    left.axhline(rnp.mean(x))
    right.imshow(rnp.outer(x, x))
    right.scatter(x, x, c=x, s=10 * x)
    right.set_title(f"{rnp.max(x):.1f}")
    figure.savefig(tmp_path / "picture.png")
    np.testing.assert_allclose(line.get_ydata(), np.sin(np.linspace(0, 6, 50)), atol=1e-5)
    assert (tmp_path / "picture.png").stat().st_size > 1000
    plt.close(figure)


def test_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    x = np.random.RandomState(0).randn(40, 3).astype("f4")
    y = rnp.asarray(x) @ rnp.array([1.0, -2.0, 0.5]) + 3
    model = make_pipeline(FunctionTransformer(rb.jit(lambda x: x * 2)), LinearRegression())
    model.fit(rnp.asarray(x), y)
    np.testing.assert_allclose(model[-1].coef_, [0.5, -1, 0.25], rtol=1e-4)
    parts = PCA(2).fit_transform(rnp.asarray(x))
    u, s, _ = rnp.linalg.svd(rnp.asarray(x - x.mean(0)), full_matrices=False)
    np.testing.assert_allclose(np.abs(parts), np.abs(u[:, :2] * s[:2]), atol=1e-3)


@rb.jit
def squared(x):
    return x * x


@rb.grad
def slope(x):
    return x * x


def test_joblib(tmp_path):
    joblib = pytest.importorskip("joblib")
    works = joblib.Parallel(n_jobs=1)(joblib.delayed(squared)(i) for i in range(3))
    assert [int(x) for x in works] == [0, 1, 4]
    memory = joblib.Memory(tmp_path, verbose=0)
    calls = []

    def slow(x):
        calls.append(1)
        return rnp.sum(x)

    kept = memory.cache(slow)
    assert float(kept(rnp.ones(3))) == float(kept(rnp.ones(3))) == 3 and len(calls) == 1
    assert joblib.hash(rnp.ones(3)) == joblib.hash(rnp.ones(3)) != joblib.hash(rnp.zeros(3))
    joblib.dump({"w": rnp.ones(3), "f": squared}, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert float(again["f"](again["w"])[0]) == 1


PROCESSES = """
import joblib, multiprocessing
import rabbet as rb
from test_interop import slope, squared

if __name__ == "__main__":
    scaled = rb.jit(lambda x, by=3: x * by)
    print([int(x) for x in joblib.Parallel(n_jobs=2)(joblib.delayed(scaled)(i) for i in range(3))])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print([float(x) for x in pool.map(squared, [2.0, 3.0])], [float(x) for x in pool.map(slope, [2.0])])
"""


def test_other_processes(tmp_path):
    """Functions go to worker processes: by value with joblib, by name with multiprocessing."""
    pytest.importorskip("joblib")
    (tmp_path / "main.py").write_text(PROCESSES)
    here = str(pathlib.Path(__file__).parent)
    shown = subprocess.run(
        [sys.executable, tmp_path / "main.py"], capture_output=True, text=True, timeout=240,
        env={**os.environ, "PYTHONPATH": here}, check=False,
    )  # fmt: skip
    assert shown.stdout.splitlines() == ["[0, 3, 6]", "[4.0, 9.0] [4.0]"], shown.stderr
