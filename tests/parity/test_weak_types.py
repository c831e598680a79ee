"""Types of results where operands are weakly typed, beside jax's: shapes, dtypes and weakness.

Each function of ``generated_calls.txt`` is called with its arguments as they are drawn, with all of its
arrays weakly typed, and with each one alone; then what loops, branches and transformations make of weak
types. Types alone are asked for of generated calls, so nothing is compiled. Every sixth function runs in
every run.
"""

import importlib
import importlib.util
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

pytestmark = pytest.mark.filterwarnings("ignore")

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("generated_arguments", HERE / "generated_arguments.py")
generated = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generated)
TABLE = generated.table((HERE / "generated_calls.txt").read_text())

WEAK = {"i": "int32", "u": "int32", "f": "float32", "c": "complex64"}
NUMBERS = {int: "int32", float: "float32", complex: "complex64"}
GOOD = 2

# Functions whose results differ in weakness alone, or that refuse what has no meaning. coming-from-jax.md
# says the same in words.
WEAK_OF_WEAK = """
numpy.log10 numpy.deg2rad numpy.rad2deg numpy.degrees numpy.radians numpy.power numpy.pow numpy.logaddexp2
numpy.gcd numpy.lcm numpy.diagflat numpy.vander numpy.interp numpy.around numpy.cross numpy.polydiv
numpy.linalg.cross lax.random_gamma_grad lax.reduce_and lax.reduce_or lax.reduce_xor nn.gelu
scipy.special.dawsn scipy.special.rel_entr scipy.special.kl_div scipy.linalg.block_diag scipy.linalg.toeplitz
scipy.linalg.hankel
""".split()
POSITIONS = "numpy.argpartition numpy.top_k lax.top_k lax.approx_max_k lax.approx_min_k lax.linalg.lu".split()
STRONG = "numpy.linalg.lstsq lax.rng_uniform scipy.special.comb scipy.signal.detrend".split()
REFUSED = """
lax.mul lax.sub lax.le lax.random_gamma_grad lax.cumlogsumexp lax.broadcast_in_dim lax.concatenate lax.reshape
lax.full_like
""".split()
DTYPES = "lax.empty scipy.fft.dct scipy.fft.idct scipy.fft.dctn".split()
ALLOWED = {"weak": {*WEAK_OF_WEAK, *POSITIONS, *STRONG}, "refused": set(REFUSED), "type": set(DTYPES)}


def is_array(x):
    return isinstance(x, (np.ndarray, np.generic, generated.Weak, generated.Typed))


def places(call):
    """Where arrays stand in a call, and they: ``((argument, part of a list or None), value)``."""
    found = []
    for at, value in [*enumerate(call.args), *call.kwargs.items()]:
        if is_array(value) or (at == 0 and type(value) in NUMBERS):
            found.append(((at, None), value))
        elif isinstance(value, list):
            found += [((at, i), x) for i, x in enumerate(value) if is_array(x)]
    return found


def type_of(package, value, weak):
    """The type of an operand, made a weak one of its kind if that is asked for and there is one."""
    if type(value) in NUMBERS:
        name, weak, shape = NUMBERS[type(value)], True, ()
    elif isinstance(value, generated.Weak):
        name, weak, shape = NUMBERS[type(value.value)], True, value.shape
    else:
        name, shape = str(value.dtype), value.shape
    if weak:
        kind = "f" if name == "bfloat16" else np.dtype(name).kind
        name, weak = WEAK.get(kind, name), kind in WEAK
    return package.ShapeDtypeStruct(shape, package.numpy.dtype(name), weak_type=bool(weak))


def types(package, fnp, function, call, weak):
    """The types of the results, each ``(shape, dtype, weak)``; or the error."""
    spots = places(call)
    operands = [type_of(package, value, w) for (_, value), w in zip(spots, weak, strict=True)]

    def called(*arrays):
        args, kwargs = list(call.args), dict(call.kwargs)
        for ((at, part), _), x in zip(spots, arrays, strict=True):
            to = args if isinstance(at, int) else kwargs
            if part is None:
                to[at] = x
            else:
                to[at] = [x if i == part else other for i, other in enumerate(to[at])]
        args = generated.as_arguments(args, package, fnp)
        kwargs = {k: generated.as_arguments(v, package, fnp) for k, v in kwargs.items()}
        leaves = package.tree_util.tree_leaves(function(*args, **kwargs))
        return [x for x in leaves if hasattr(x, "dtype") or type(x) in (bool, *NUMBERS)]

    try:
        return [told(x) for x in package.eval_shape(called, *operands)]
    except Exception as error:
        return error


def told(x):
    """Shape, dtype and weakness, which means nothing for booleans."""
    return tuple(x.shape), str(x.dtype), str(x.dtype) != "bool" and bool(getattr(x, "weak_type", False))


def weakenings(count):
    """Which operands are weak: none, all, each alone."""
    alone = [[i == j for j in range(count)] for i in range(min(count, 4))] if count > 1 else []
    return [[False] * count, *([[True] * count] if count else []), *alone]


def compared(names):
    """``(kind, function, text)`` of what differs; and how many calls jax takes."""
    found, count = [], 0
    for name in names:
        module, _, function = name.rpartition(".")
        mine, theirs = (
            getattr(importlib.import_module(f"{p}.{module}"), function) for p in ("rabbet", "jax")
        )
        for call in generated.calls(name, TABLE[name], GOOD, 0):
            for weak in weakenings(len(places(call))):
                wanted = types(jax, jnp, theirs, call, weak)
                if isinstance(wanted, Exception):
                    continue
                count += 1
                have = types(rb, rnp, mine, call, weak)
                if isinstance(have, Exception):
                    found.append(("refused", name, f"{call} weak={weak}: {type(have).__name__}: {have}"))
                elif have != wanted:
                    kind = "weak" if [t[:2] for t in have] == [t[:2] for t in wanted] else "type"
                    found.append((kind, name, f"{call} weak={weak}: {have}, jax {wanted}"))
    return found, count


def check(names):
    found, count = compared(names)
    assert count > 3 * len(names)
    lines = [f"{name} {text}"[:400] for kind, name, text in found if name not in ALLOWED[kind]]
    assert not lines, f"{len(lines)} of {count}:\n" + "\n".join(lines)
    return found


def test_some_functions_have_the_types_that_they_have_in_jax():
    check(sorted(TABLE)[::6])


@pytest.mark.exhaustive
def test_all_functions_have_the_types_that_they_have_in_jax():
    found = check(sorted(TABLE))
    for kind, names in ALLOWED.items():
        unused = names - {name for k, name, _ in found if k == kind}
        assert not unused, f"{sorted(unused)} do not differ any more ({kind})"


# Loops, branches and transformations -------------------------------------------------------------------


def vector(m, value=1.5):
    """A weakly typed vector."""
    return m.numpy.broadcast_to(m.numpy.asarray(value), (3,))


def half(m, shape=()):
    return m.numpy.ones(shape, "bfloat16")


def doubled(m):
    """A function with a forward rule of its own."""
    f = m.custom_jvp(lambda x: x * 2.0)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 2.0))
    return f


def step(m, state):
    """A step of gradient descent on a Python float, counted."""
    x, count = state
    return x - 0.1 * m.grad(lambda x: x**2)(x), count + 1


PROGRAMS = {
    "scan": lambda m: m.lax.scan(lambda c, x: (c * 2.0, c), 1.0, None, length=3),
    "scan in half": lambda m: m.lax.scan(lambda c, x: (c + x, x), half(m), vector(m)),
    "scan counts": lambda m: m.lax.scan(lambda c, x: ((c[0] + x, c[1] + 1), x), (half(m), 0), half(m, (3,))),
    "while": lambda m: m.lax.while_loop(lambda c: c < 10.0, lambda c: c * 2, 1.0),
    "while to float32": lambda m: m.lax.while_loop(lambda c: c < 9.0, lambda c: c * np.float32(2), 1.0),
    "while to half": lambda m: m.lax.while_loop(lambda c: c < 9.0, lambda c: c * 2 * half(m), 1.0),
    "fori": lambda m: m.lax.fori_loop(0, 3, lambda i, c: c + i, 0.0),
    "fori index": lambda m: m.lax.fori_loop(0, 3, lambda i, c: i, 0),
    "fori of a bound": lambda m: m.jit(lambda n: m.lax.fori_loop(0, n, lambda i, c: c + i, 0))(3),
    "descent": lambda m: m.lax.fori_loop(0, 2, lambda i, s: step(m, s), (1.0, 0)),
    "cond": lambda m: m.lax.cond(True, lambda: 1.0, lambda: m.numpy.ones(())),
    "switch": lambda m: m.lax.switch(1, [lambda x: x, lambda x: x * 2, lambda x: 1.0], 2.0),
    "map": lambda m: m.lax.map(lambda x: x * 2, vector(m)),
    "vmap": lambda m: m.vmap(lambda x, y: (x * y, 1.0), (0, None))(half(m, (3,)), 2.0),
    "jit": lambda m: m.jit(lambda x, y: (x, y, x * half(m), 1.0, 2, True))(1.0, np.float32(1)),
    "grad": lambda m: m.grad(lambda x: x**2)(3.0),
    "grad through half": lambda m: m.grad(lambda x: (x * half(m, (3,))).sum().astype("float32"))(3.0),
    "jacobians": lambda m: [j(lambda x: x * 2.0)(vector(m)) for j in (m.jacfwd, m.jacrev)],
    "hessian": lambda m: m.hessian(lambda x: x**3)(2.0),
    "jvp": lambda m: m.jvp(lambda x: x * half(m), (2.0,), (1.0,)),
    "vjp": lambda m: m.vjp(lambda x: x * half(m), 2.0)[1](half(m)),
    "checkpoint": lambda m: m.grad(m.checkpoint(lambda x: m.numpy.sin(x) * x))(2.0),
    "custom_jvp": lambda m: [doubled(m)(vector(m)), m.grad(doubled(m))(2.0)],
    "indexed": lambda m: [vector(m)[0], vector(m).at[0].set(np.float16(2)), half(m, (3,)).at[0].set(2.0)],
    "put": lambda m: [m.device_put(1.0), m.device_put(vector(m)), m.numpy.array(vector(m))],
    "scalars": lambda m: [np.float32(1) + vector(m), vector(m) * np.int8(2), vector(m) + np.float64(1)],
    "converted": lambda m: [vector(m).astype("float32"), vector(m).astype(float), vector(m).mean()],
    "joined": lambda m: [m.numpy.stack([vector(m)] * 2), m.numpy.concatenate([vector(m), half(m, (2,))])],
    "einsum": lambda m: [m.numpy.einsum("i,i", vector(m), x) for x in (vector(m), half(m, (3,)))],
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_types_that_they_have_in_jax(name):
    mine, theirs = (m.tree_util.tree_leaves(PROGRAMS[name](m)) for m in (rb, jax))
    assert [told(x) for x in mine] == [told(x) for x in theirs]
