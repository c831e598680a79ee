"""Types of a library's own: the program runs under JAX as well, with the same results."""

import subprocess
import sys

PROGRAM = '''
import jax, jax.numpy as jnp
from dataclasses import dataclass
from jax.experimental.hijax import HiPrim, HiType, register_hitype


@dataclass(frozen=True)
class Pair:
    one: object
    other: object


@dataclass(frozen=True)
class PairType(HiType):
    of: object

    def lo_ty(self):
        return [self.of, self.of]

    def lower_val(self, pair):
        return [pair.one, pair.other]

    def raise_val(self, one, other):
        return Pair(one, other)

    def to_tangent_aval(self):
        return PairType(self.of.to_tangent_aval())

    def str_short(self, short_dtypes=False, **_):
        return "pair"


register_hitype(Pair, lambda pair: PairType(jax.typeof(pair.one)))


class Made(HiPrim):
    # A pair of two arrays.

    def __init__(self, aval, scale):
        self.in_avals, self.out_aval, self.params = (aval, aval), PairType(aval), {"scale": scale}
        super().__init__()

    def expand(self, x, y):
        return Pair(x * self.scale, y)

    def vjp_fwd(self, nonzero, x, y):
        return self(x, y), None

    def vjp_bwd_retval(self, residuals, ct):
        x, y = parts(ct)
        return 10 * x, y  # not the derivative, to see who is asked


class Parts(HiPrim):
    # The two arrays.

    def __init__(self, kind):
        self.in_avals, self.out_aval, self.params = (kind,), (kind.of, kind.of), {}
        super().__init__()

    def expand(self, pair):
        return pair.one, pair.other

    def jvp(self, primals, tangents):
        return parts(*primals), parts(*tangents)

    def vjp_fwd(self, nonzero, pair):
        return self(pair), None

    def vjp_bwd_retval(self, residuals, cts):
        return (made(*cts, scale=1),)


def made(x, y, scale=2):
    return Made(jax.typeof(x), scale)(x, y)


def parts(pair):
    return Parts(jax.typeof(pair))(pair)


def product(pair):
    one, other = parts(pair)
    return one * other


x, y = jnp.float32(0.5), jnp.float32(3)
pair = made(x, y)
assert type(pair) is Pair and float(product(pair)) == 3
assert float(jax.jit(product)(pair)) == 3 and type(jax.jit(made)(x, y)) is Pair
assert [float(g) for g in jax.grad(lambda x, y: product(made(x, y)), (0, 1))(x, y)] == [30, 1]
assert [float(g) for g in jax.jit(jax.grad(lambda x, y: product(made(x, y)), (0, 1)))(x, y)] == [30, 1]
gradient = jax.grad(product)(pair)
assert type(gradient) is Pair and (float(gradient.one), float(gradient.other)) == (3, 1)
assert isinstance(jax.typeof(pair), PairType) and jax.typeof(pair) == PairType(jax.typeof(x))
print("done")
'''


def test_values_of_own_types_go_through_transformations(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "-m", "rabbet_jax", file], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr


STAGED = '''
import jax, jax.numpy as jnp
from jax.experimental.hijax import HiPrim


class Written(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), (), {}
        super().__init__()

    def expand(self, x):
        print("written", x)
        return ()

    def staging(self, trace, source_info, x):
        raise ValueError("not within a transformation")


def write(x):
    Written(jax.typeof(x))(x)
    return x


write(jnp.float32(1))
try:
    jax.jit(write)(jnp.float32(1))
except ValueError as error:
    print(error)
'''


def test_a_primitive_says_what_it_does_within_transformations(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(STAGED)
    ran = subprocess.run(
        [sys.executable, "-m", "rabbet_jax", file], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.stdout == "written 1.0\nnot within a transformation\n", ran.stderr
