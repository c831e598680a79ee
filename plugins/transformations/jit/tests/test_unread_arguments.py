"""Arguments that nothing reads may lie on another device; what was compiled says how its results lie."""

import os
import subprocess
import sys

import pytest
import rabbet as rb

PROGRAM = """
import numpy as np
import rabbet as rb

a, b = [rb.device_put(np.arange(3, dtype=np.float32), device) for device in rb.devices()]
f = rb.jit(lambda a, b: b + 1)
for _ in range(2):
    out = f(a, b)
    assert out.tolist() == [1, 2, 3] and out.devices() == {rb.devices()[1]}
assert rb.jit(lambda a, b: a + 1)(a, b).devices() == {rb.devices()[0]}
inner = rb.jit(lambda x, y: (x + 1, y))
deep = lambda x, y: rb.jit(lambda x, y: inner(x, y)[0])(x, y)
unused = lambda x, y: (y + 1, x + 1)[1]
for g in (rb.jit(rb.jit(lambda x, y: x + 1)), deep, rb.jit(deep), rb.jit(unused)):
    for _ in range(2):
        out = g(a, b)
        assert out.tolist() == [1, 2, 3] and out.devices() == {rb.devices()[0]}, g
    assert b.devices() == {rb.devices()[1]}
lax = rb.lax
within = (
    lambda x, y: lax.cond(x[0] < 1, lambda x, y: x + 1, lambda x, y: x + 1, x, y),
    lambda x, y: lax.switch(1, [lambda x, y: x, lambda x, y: x + 1], x, y),
    lambda x, y: lax.fori_loop(0, 1, lambda i, c: (c[0] + 1, c[1]), (x, y))[0],
    lambda x, y: lax.while_loop(lambda c: c[0][0] < 1, lambda c: (c[0] + 1, c[1] * 2), (x, y))[0],
    lambda x, y: lax.scan(lambda c, z: ((c[0] + 1, c[1] + z), None), (x, y), y[:1], length=1)[0][0],
)
for g in map(rb.jit, within):
    for _ in range(2):
        out = g(a, b)
        assert out.tolist() == [1, 2, 3] and out.devices() == {rb.devices()[0]}, g
# What goes round reaches the result in a later round; what a loop's condition reads decides.
late = lambda x, y: lax.fori_loop(0, 3, lambda i, c: (c[1], c[2], c[2]), (x, x, y))[0]
decides = lambda x, y: lax.while_loop(lambda c: c[1][0] < 1, lambda c: (c[0] + 1, c[1] + 1), (x, y))[0]
branch = lambda x, y: lax.cond(x[0] < 1, lambda x, y: x, lambda x, y: y, x, y)
kept = rb.jit(lambda a, b: a, keep_unused=True)
both = [rb.jit(lambda a, b: (a, b)), rb.jit(lambda a, b: a + b), rb.jit(lambda a, b: inner(a, b))]
both += map(rb.jit, (late, decides, branch))
for refused in (kept, *both):
    try:
        refused(a, b)
    except ValueError as error:
        assert "different devices" in str(error)
    else:
        raise AssertionError(refused)
"""


TRANSFORMED = """
import numpy as np
import rabbet as rb

a, b = [rb.device_put(np.arange(3, dtype=np.float32), device) for device in rb.devices()]
c = rb.device_put(np.float32(1), rb.devices()[1])
f = rb.jit(lambda x, y: (x * x).sum())
outer = rb.jit(lambda x, y: f(x, y) + 1)
x_bar, y_bar = [0, 2, 4], [0, 0, 0]
for g in (f, outer):
    for _ in range(2):
        out = rb.grad(g)(a, b)
        assert out.tolist() == x_bar and out.devices() == {rb.devices()[0]}
        assert [each.tolist() for each in rb.grad(g, (0, 1))(a, b)] == [x_bar, y_bar]
        assert rb.vmap(g)(a, b).tolist() == [n + (g is outer) for n in (0, 1, 4)]
        assert rb.vmap(rb.grad(g), (0, None))(a, c).tolist() == x_bar
        assert rb.jvp(lambda x: g(x, b), (a,), (a,))[1] == 10
        assert rb.linearize(g, a, b)[0] == rb.vjp(g, a, b)[0] == 5 + (g is outer)
both = rb.jit(lambda x, y: (x * y).sum())
for refused in (rb.grad(both), rb.vmap(both)):
    try:
        refused(a, b)
    except ValueError as error:
        assert "different devices" in str(error)
    else:
        raise AssertionError(refused)
"""


@pytest.mark.needs("cpu")
@pytest.mark.needs("vmap", "grad")
def test_what_nothing_reads_may_lie_elsewhere_under_transformations():
    env = {**os.environ, "RABBET_NUM_CPU_DEVICES": "2", "RABBET_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", TRANSFORMED], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("cpu")
def test_what_nothing_reads_may_lie_elsewhere():
    env = {**os.environ, "RABBET_NUM_CPU_DEVICES": "2", "RABBET_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_what_was_compiled_says_where_results_lie():
    x = rb.device_put(1.0)
    compiled = rb.jit(lambda x: {"y": x + 1}).lower(x).compile()
    assert compiled.out_info["y"].sharding == x.sharding
