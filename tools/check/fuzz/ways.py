"""Ways of running one program under Rabbet, which must agree; and under jax, where it is installed."""

import contextlib
import random
import warnings

import numpy as np
import rabbet as rb
import rabbet.nn
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import MissingPluginError, MissingRule
from rabbet.experimental import serialize_executable

# How far results may differ, as a share of the largest number among them.
TOLERANCE = {True: 1e-8, False: 2e-3}


class Disagreement(AssertionError):
    """Two ways of running a program gave different results."""


class NoProgram(Exception):
    """jax refuses the program too, or it asks for a derivative that does not exist."""


class Run:
    """A program's text, made into a function."""

    def __init__(self, text, row=None):
        namespace = {}
        exec(compile(text, "<fuzz>", "exec"), namespace)
        self.wide, self.smooth = namespace["WIDE"], namespace["SMOOTH"]
        self.arguments = namespace["ARGUMENTS"](np)
        self.program, self.row = namespace["program"], row

    def rabbet(self):
        return self.program(rb, rnp, lax, np, self.row)

    def jax(self):
        import jax
        import jax.numpy

        return self.program(jax, jax.numpy, jax.lax, np, None)


# One function per way: (run) -> the results, or None where the way is not for this program.
def eager(run):
    return run.rabbet()(*run.arguments)


def jitted(run):
    return rb.jit(run.rabbet())(*run.arguments)


def uncompiled(run):
    with rb.disable_jit():
        return run.rabbet()(*run.arguments)


def checked(run):
    """Every program that a transformation or a pass makes obeys the grammar of programs."""
    with rb.config.override(enable_checks=True):
        return rb.jit(run.rabbet())(*run.arguments)


def stored(run):
    """Through bytes, as a compiled program is stored."""
    compiled = rb.jit(run.rabbet()).lower(*run.arguments).compile()
    try:
        stored = serialize_executable.serialize(compiled)
    except ValueError as error:  # XLA has sorts that it cannot write out
        raise NoProgram(str(error)) from None
    return serialize_executable.deserialize_and_load(*stored)(*run.arguments)


def mapped(run):
    """Mapped over two examples that are the same, of which the second is looked at."""
    return second(rb.vmap(run.rabbet())(*twice(run.arguments)))


def mapped_and_jitted(run):
    fn = rb.jit(rb.vmap(run.rabbet(), in_axes=(0,) + (None,) * (len(run.arguments) - 1)))
    return second(fn(*twice(run.arguments[:1]), *run.arguments[1:]))


def twice(arguments):
    """Two examples of each argument; of a Python number weak ones."""
    return [rnp.stack([rnp.asarray(a)] * 2) for a in arguments]


def second(outs):
    return rb.tree.map(lambda x: x[1], outs)


VALUES = [eager, jitted, uncompiled, checked, stored, mapped, mapped_and_jitted]


# Derivatives: of the sum of all float results, with respect to the first argument.
def loss(fn, rb, fnp):
    def total(*args):
        outs = [fnp.asarray(x) for x in rb.tree.leaves(fn(*args))]  # jax hands Python numbers through loops
        outs = [x for x in outs if fnp.issubdtype(x.dtype, fnp.floating)]
        return sum((fnp.sum(fnp.sin(x.astype(outs[0].dtype))) for x in outs), fnp.sum(args[0]) * 0.5)

    return total


def slope(run):
    return rb.grad(loss(run.rabbet(), rb, rnp))(*run.arguments)


def slope_jitted(run):
    return rb.jit(rb.grad(loss(run.rabbet(), rb, rnp)))(*run.arguments)


def slope_checked(run):
    with rb.config.override(enable_checks=True):
        return rb.jit(rb.grad(rb.checkpoint(loss(run.rabbet(), rb, rnp))))(*run.arguments)


def slope_of_jitted(run):
    return rb.grad(rb.jit(loss(run.rabbet(), rb, rnp)))(*run.arguments)


def slope_forward(run):
    return rb.jit(rb.jacfwd(loss(run.rabbet(), rb, rnp)))(*run.arguments)


def slope_uncompiled(run):
    with rb.disable_jit():
        return rb.grad(loss(run.rabbet(), rb, rnp))(*run.arguments)


def slope_mapped(run):
    fn = rb.vmap(rb.grad(loss(run.rabbet(), rb, rnp)))
    return second(fn(*twice(run.arguments)))


def slope_of_mapped(run):
    mapped = rb.vmap(loss(run.rabbet(), rb, rnp))
    fn = rb.jit(rb.grad(lambda *args: rnp.sum(mapped(*args))))
    return second(fn(*twice(run.arguments)))


SLOPES = [
    slope,
    slope_jitted,
    slope_of_jitted,
    slope_checked,
    slope_forward,
    slope_uncompiled,
    slope_mapped,
    slope_of_mapped,
]


def jax_eager(run):
    return run.jax()(*run.arguments)


def jax_jitted(run):
    import jax

    return jax.jit(run.jax())(*run.arguments)


def jax_slope(run):
    import jax

    return jax.jit(jax.grad(loss(run.jax(), jax, jax.numpy)))(*run.arguments)


# Where weak types may differ: Python's own loops keep what the first round made, and a derivative forward has
# the type of the result, one backward that of the argument; and jax's library functions are weak now and
# then.
CARELESS = {"uncompiled", "slope_uncompiled", "slope_forward", "jax_eager", "jax_jitted", "jax_slope"}
BY_NAME = {way.__name__: way for way in [*VALUES, *SLOPES, jax_eager, jax_jitted, jax_slope]}


def widen(wide, with_jax=False):
    """Set both libraries to programs of 64 or of 32 bits."""
    rb.config.update("jax_enable_x64", wide)
    if with_jax:
        import jax

        jax.config.update("jax_enable_x64", wide)


def leaves(tree):
    return list(tree) if isinstance(tree, (tuple, list)) else [tree]


def described(x, weak=True):
    """The type in words. Booleans are never called weak: it means nothing."""
    weak = weak and getattr(x, "weak_type", False) and x.dtype != bool
    return f"{x.dtype}{list(x.shape)}{' weak' if weak else ''}"


def agree(wanted, got, wide, weak=True):
    """Raise ``Disagreement`` unless results have the same types, and the same numbers within a tolerance.

    Args:
      weak: whether weak types must agree too.
    """
    wanted, got = leaves(wanted), leaves(got)
    if len(wanted) != len(got):
        raise Disagreement(f"{len(wanted)} results and {len(got)}")
    for i, (a, b) in enumerate(zip(wanted, got)):
        # A Python number, which jax hands through loops as it is, is a weak array of the default type.
        a, b = (x if hasattr(x, "dtype") else rnp.asarray(x) for x in (a, b))
        if described(a, weak) != described(b, weak):
            raise Disagreement(f"result {i} is {described(a, weak)} and {described(b, weak)}")
        x, y = (np.asarray(v) for v in (a, b))
        if x.dtype.kind in "iub":
            if not np.array_equal(x, y):
                raise Disagreement(f"result {i}:\n{x}\nand\n{y}")
            continue
        half = x.dtype.itemsize == 2
        x, y = (v.astype("complex128" if v.dtype.kind == "c" else "float64") for v in (x, y))
        scale = max(1.0, *(np.abs(v[np.isfinite(v)]).max(initial=0.0) for v in (x, y)))
        tolerance = (0.02 if half else TOLERANCE[wide]) * scale
        if not np.allclose(x, y, rtol=0, atol=tolerance, equal_nan=True):
            raise Disagreement(f"result {i}:\n{x}\nand\n{y}")


def quickly(with_jax):
    """Programs run once: compiling them is all that they cost, and storing them is of no use."""
    rb.config.update("disable_most_optimizations", True)
    rb.config.update("cache", False)
    if with_jax:
        import jax

        jax.config.update("jax_disable_most_optimizations", True)


def chosen(text, number, with_jax, everything=False):
    """Names of ways to try: some, by the program's number, or all."""
    rng = random.Random(number)
    values = VALUES if everything else rng.sample(VALUES, 3)
    slopes = [] if not Run(text).smooth else SLOPES if everything else rng.sample(SLOPES, 3)
    theirs = [jax_eager, jax_jitted] if everything else [rng.choice([jax_eager, jax_jitted])]
    theirs += [jax_slope] if slopes else []
    return [way.__name__ for way in [*values, *slopes, *(theirs if with_jax else [])]]


def compare(text, names, row=None, with_jax=False):
    """Run a program op by op and in other ways.

    Raises:
      Disagreement: two ways gave different results.
      NoProgram: the program is none: it is refused by jax as well, or forward mode meets a ``custom_vjp``.
      Exception: a way raised it.
    """
    run = Run(text, row)
    widen(run.wide, with_jax)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _compare(run, names, with_jax)
    finally:
        widen(False, with_jax)


def trace(text):
    """Trace a program, its gradient and both mapped, with the checker on, and compile nothing.

    Raises:
      Disagreement: what is traced or mapped has other types.
      NoProgram: there is no such derivative, or a plugin is missing.
      Exception: tracing raised it, or the checker.
    """
    run = Run(text)
    widen(run.wide)
    try:
        with warnings.catch_warnings(), rb.config.override(enable_checks=True), no_program():
            warnings.simplefilter("ignore")
            fn = run.rabbet()
            same_types(fn, run.arguments)
            if run.smooth:
                same_types(rb.grad(loss(fn, rb, rnp)), run.arguments)
    finally:
        widen(False)


@contextlib.contextmanager
def no_program():
    """What is no fault of the program's: a plugin that is not here, a derivative that there is not."""
    try:
        yield
    except MissingPluginError as error:
        raise NoProgram(str(error)) from None
    except MissingRule as error:
        if "reverse mode only" not in str(error):
            raise
        raise NoProgram(str(error)) from None


def same_types(fn, arguments):
    plain = rb.tree.leaves(rb.make_jaxpr(fn, return_shape=True)(*arguments)[1])
    mapped = rb.tree.leaves(rb.make_jaxpr(rb.vmap(fn), return_shape=True)(*twice(arguments))[1])
    for i, (a, b) in enumerate(zip(plain, mapped, strict=True)):
        b = rb.ShapeDtypeStruct(b.shape[1:], b.dtype, weak_type=b.weak_type)
        if described(a) != described(b):
            raise Disagreement(f"result {i} is {described(a)}, and mapped {described(b)}")


def _compare(run, names, with_jax):
    results = {}
    for name in names:
        base = "slope" if "slope" in name else "eager"
        if base not in results:
            results[base] = attempt(base, run, with_jax)
        if name == base:
            continue
        try:
            agree(results[base], attempt(name, run, with_jax), run.wide, weak=name not in CARELESS)
        except Disagreement as error:
            raise Disagreement(f"{base} and {name}: {error}") from None


def attempt(name, run, with_jax):
    try:
        with no_program():
            return BY_NAME[name](run)
    except (NoProgram, MissingRule):
        raise
    except Exception as error:
        if with_jax and not name.startswith("jax"):
            try:
                BY_NAME["jax_slope" if "slope" in name else "jax_eager"](run)
            except Exception as theirs:
                raise NoProgram(f"{error}; jax: {theirs}") from None
        error.add_note(f"in the way {name}")
        raise
