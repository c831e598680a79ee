"""Laws of transformations: through control flow as through straight lines, and in both orders with ``jit``,
``vmap`` and derivatives.
"""

import numpy as np

import rabbet
from rabbet import config, dtypes, lax, tree
from rabbet.testing import checks, driver
from rabbet.testing.draws import device_array
from rabbet.testing.laws import LawError, directions, inner
from rabbet.testing.programs import PROGRAMS

POINTS = ([0.5, 1.25, -0.75], [1.5, 0.25, 2.0])
# Of central differences in single precision: rounding and curvature cost about as much.
STEP, LOOSE = 1e-2, 1e-2

LAWS = (
    "as written out", "compiled", "batched", "differentiated", "differentiated in reverse", "of jit",
    "of vmap", "of a derivative",
)  # fmt: skip
# Those that compare a loop with what it does, written out.
OF_LOOPS = ("as written out", "of a derivative")


def check_transformation(transform, payload, programs=PROGRAMS, system=None, tolerance=1e-5, apart=()):
    """A transformation goes through control flow as through straight lines, and composes with ``jit``,
    ``vmap`` and derivatives on both sides.

    Args:
      transform: ``transform(fn)`` takes payloads and returns a payload, for ``fn`` from one array to one.
      payload: ``payload(x)`` represents a NumPy array as a payload, a pytree of arrays.
      programs: what to try, ``rabbet.testing.programs.Program`` values; leave out those with operations
        that the transformation does not know.
      system: where ``jit``, ``vmap``, ``jvp`` and ``vjp`` come from; by default the installed plugins.
      tolerance: relative, in float32.
      apart: names of laws (``LAWS``) that do not apply, such as "differentiated" where results are no smooth
        functions of payloads, or both of ``OF_LOOPS`` where a state counts operations: a loop written out has
        other operations than the loop. Mapped functions are compared with ``fn`` itself then.

    Raises:
      LawError: names the program and the law.

    Example:
      >>> from rabbet.testing import check_transformation
      >>> from rabbet.testing.programs import PROGRAMS
      >>> check_transformation(rb.checkpoint, lambda x: x, PROGRAMS[:1])
    """
    system = system or driver.plugins()
    unknown = [name for name in apart if name not in LAWS]
    if unknown:
        raise ValueError(
            f"check_transformation: no law is called {unknown[0]!r}; there are {', '.join(LAWS)}"
        )
    with config.override(enable_checks=True):
        for program in programs:
            if all(hasattr(rabbet, name) for name in program.needs):
                Trial(program, transform, payload, system, tolerance).run(apart)


class Trial:
    """One program under a transformation."""

    def __init__(self, program, transform, payload, system, tolerance):
        self.program, self.transform, self.system, self.tolerance = program, transform, system, tolerance
        points = [np.array(v, np.float32) for v in POINTS]
        self.payloads = [tree.map(device_array, payload(x)) for x in points]
        self.of_both = tree.map(device_array, payload(np.stack(points)))  # one array of two rows
        self.apply = transform(program.fn)

    def run(self, apart):
        program, transform, system = self.program, self.transform, self.system
        first = self.payloads[0]
        outs = [self.apply(p) for p in self.payloads]
        plain = program.fn if "as written out" in apart else program.plain
        self.agree("as written out", outs[0], transform(plain)(first))
        if "compiled" not in apart:
            self.agree("compiled", flat(system.jit, self.apply, first), outs[0])
        if "batched" not in apart:
            stacked = tree.map(
                lambda *leaves: device_array(np.stack([np.asarray(v) for v in leaves])), *self.payloads
            )
            wanted = tree.map(lambda *leaves: np.stack([np.asarray(v) for v in leaves]), *outs)
            self.agree("batched", flat(mapped(system), self.apply, stacked), wanted)
        if "differentiated" not in apart:
            self.differentiated(first, "differentiated in reverse" not in apart)
            self.differentiated_outside(first)
        if "of jit" not in apart:
            compiled = system.jit(lambda x: (program.fn(x),))
            self.agree("of jit", transform(lambda x: compiled(x)[0])(first), outs[0])
        if "of vmap" not in apart:
            rows = system.vmap(lambda x: (program.fn(x),), (0,))
            wanted = transform(plain)(self.of_both)
            self.agree("of vmap", transform(lambda x: rows(x)[0])(self.of_both), wanted)
        if "of a derivative" not in apart:
            got = transform(slope_times_x(system, program.fn))(first)
            self.agree("of a derivative", got, transform(slope_times_x(system, program.plain))(first))

    def differentiated(self, payload, reverse):
        """The derivative through the transformation is what finite differences of it say; with ``reverse``,
        reverse mode is the transpose of forward mode.
        """
        leaves, treedef = tree.flatten(payload)
        moving = [i for i, v in enumerate(leaves) if dtypes.kind(v.dtype) in "fc"]
        rng = np.random.default_rng(0)
        ts = [device_array(rng.uniform(0.5, 1.0, leaves[i].shape).astype(np.float32)) for i in moving]

        def of_moving(*xs):
            given = list(leaves)
            for i, x in zip(moving, xs, strict=True):
                given[i] = x
            outs = tree.leaves(self.apply(tree.unflatten(treedef, given)))
            return tuple([y for y in outs if dtypes.kind(rabbet.typeof(y).dtype) in "fc"])

        xs = tuple([leaves[i] for i in moving])
        outs, tangents = self.system.jvp(of_moving, xs, tuple(ts))

        def at(step):
            return of_moving(*[lax.add(x, lax.mul(t, step)) for x, t in zip(xs, ts, strict=True)])

        for got, high, low in zip(tangents, at(STEP), at(-STEP), strict=True):
            wanted = (np.asarray(high) - np.asarray(low)) / (2 * STEP)
            checks.compare(f"{self.program.name}: differentiated", got, wanted, LOOSE)
        if reverse and self.program.reverse:
            cts = directions(outs, 2)
            pulled = self.system.vjp(of_moving, *xs)[1](cts)
            name = f"{self.program.name}: differentiated in reverse"
            checks.compare(name, inner(pulled, ts), inner(cts, tangents), self.tolerance * 10)

    def differentiated_outside(self, payload):
        """The derivative by a value that the function closes over, which the transformation has to lift."""

        def of_closed_over(c):
            outs = tree.leaves(self.transform(lambda x: lax.mul(self.program.fn(x), c))(payload))
            return tuple([y for y in outs if dtypes.kind(rabbet.typeof(y).dtype) in "fc"])

        c = np.array(POINTS[1], np.float32)
        _, tangents = self.system.jvp(of_closed_over, (device_array(c),), (device_array(np.ones_like(c)),))
        high, low = (of_closed_over(device_array(c + step)) for step in (STEP, -STEP))
        for got, more, less in zip(tangents, high, low, strict=True):
            wanted = (np.asarray(more) - np.asarray(less)) / (2 * STEP)
            name = f"{self.program.name}: differentiated by a value that the function closes over"
            checks.compare(name, got, wanted, LOOSE)

    def agree(self, law, got, wanted):
        name = f"{self.program.name}: {law}"
        if tree.structure(got) != tree.structure(wanted):
            shown = f"{tree.structure(got)}, wanted {tree.structure(wanted)}"
            raise LawError(f"{name}: the payload's structure is {shown}")
        paths = tree.flatten_with_path(got)[0]
        for (path, a), b in zip(paths, tree.leaves(wanted), strict=True):
            leaf = f" (leaf {tree.keystr(path)} of the payload)" if path else ""
            try:
                checks.compare(f"{name}{leaf}", a, b, self.tolerance)
            except LawError as error:
                raise LawError(f"{error}\n  {self.advice(law)}") from None

    def advice(self, law):
        """What may be meant, where a law does not hold."""
        if law in OF_LOOPS:
            return (
                "with a state that counts operations it need not hold; to leave out the laws that compare "
                f"with a loop written out: apart={OF_LOOPS}"
            )
        hint = f"to leave this law out: apart=({law!r},)" if law in LAWS else "laws are left out by `apart`"
        return f"if it cannot hold for this transformation, {hint}"


def slope_times_x(system, fn):
    """``x`` times the derivative of ``fn`` at ``x``, so that the result depends on ``x``."""

    def times_slope(x):
        _, (slope,) = system.jvp(lambda x: (fn(x),), (x,), (lax.full_like(x, 1),))
        return lax.mul(x, slope)

    return times_slope


def mapped(system):
    """``vmap`` of functions of flat arrays, all of which have the batch in front."""
    return lambda fn: lambda *leaves: system.vmap(fn, (0,) * len(leaves))(*leaves)


def flat(transformed, run, payload):
    """Apply a transformation of functions of flat arrays to a function of payloads."""
    leaves, treedef = tree.flatten(payload)
    out_tree = None

    def of_leaves(*leaves):
        nonlocal out_tree
        outs, out_tree = tree.flatten(run(tree.unflatten(treedef, leaves)))
        return tuple(outs)

    outs = transformed(of_leaves)(*leaves)
    return tree.unflatten(out_tree, outs)


__all__ = ["LAWS", "check_transformation"]
