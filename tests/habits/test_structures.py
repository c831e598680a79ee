"""Structure that does not fit what was asked for: refused by name, and not flattened away."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = pytest.mark.needs("numpy", "grad", "vmap", "cpu", "scipy")
X = np.array([1.0, 2.0, 4.0], "float32")


def by_rules(*rules):
    function = rb.custom_jvp(lambda x: x * 2)
    function.defjvps(*rules)
    return rb.jvp(function, (X,), (X,))


def by_gradient(run, function, **options):
    return run(rb.custom_gradient(function, **options))(rnp.asarray(X))


def preconditioned(solver):
    return getattr(rb.scipy.sparse.linalg, solver)(lambda x: 2 * x, X, M=lambda x: (x,))


once = lambda f, x: x - f(x)
straight = lambda g, y: y / 2
doubled = lambda x: x * 2
REFUSED = {
    "custom_linear_solve: matvec": lambda: lax.custom_linear_solve(lambda x: (x,), X, once),
    "custom_root: f": lambda: lax.custom_root(lambda x: [x], X, once, straight),
    "custom_root: f in a list": lambda: lax.custom_root(lambda x: (x[0],), [X], lambda f, x: f(x), straight),
    "custom_gradient": lambda: by_gradient(lambda f: f, doubled),
    "custom_gradient: pulled": lambda: by_gradient(rb.grad, lambda x: x.sum()),
    "custom_gradient: pair of three": lambda: by_gradient(lambda f: f, lambda x: (x, x, x)),
    "defjvps: shape": lambda: by_rules(lambda t, out, x: t.sum()),
    "defjvps: structure": lambda: by_rules(lambda t, out, x: (t,)),
    "defjvps: 2 rules for 1": lambda: by_rules(lambda t, out, x: t, None),
    "defjvps: 0 rules for 1": lambda: by_rules(),
    "cg: M": lambda: preconditioned("cg"),
    "gmres: M": lambda: preconditioned("gmres"),
    "bicgstab: M": lambda: preconditioned("bicgstab"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    with pytest.raises(TypeError) as told:
        REFUSED[name]()
    assert name.split(":")[0] in str(told.value)
    assert any(words in str(told.value) for words in ("return", "rules for"))


def test_what_fits_gives_its_value():
    assert rnp.allclose(lax.custom_linear_solve(doubled, X, lambda f, b: b - f(b) / 4), X / 2)
    assert lax.custom_root(lambda x: x - 1, X, once, lambda g, y: y).tolist() == [1, 1, 1]
    assert by_rules(lambda t, out, x: 3 * t)[1].tolist() == (3 * X).tolist()
    assert by_rules(None)[1].tolist() == [0, 0, 0]
    assert by_gradient(lambda f: f, lambda x: (x * 2, lambda ct: ct)).tolist() == (2 * X).tolist()
    solved = rb.scipy.sparse.linalg.cg(lambda x: 2 * x, X, M=lambda x: x / 2)[0]
    assert rnp.allclose(solved, X / 2)
