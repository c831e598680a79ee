"""Write docs/closure.md: every primitive against every transformation, and every pair of transformations.

    python tools/write/closure.py            # writes the page
    python tools/write/closure.py --check    # fails if the page is not what would be written

The page is made from the code: a cell is what the lookup finds, and the second table stages each primitive
under the inner transformation and asks the outer one for every operation that came out.
"""

import argparse
import importlib
import pathlib
import sys
from importlib.metadata import entry_points

import numpy as np
import rabbet as rb
import rabbet.extend.dtype  # makes the primitives of extended dtypes
from rabbet.extend.passes import all_primitives
from rabbet.extend.transform import batch, jvp, lower, transpose, typeof
from rabbet.rules.tables import all_tables
from rabbet.runtime.platforms import backends
from rabbet.testing import closure, kit, rows
from rabbet.testing.draws import device_array
from rabbet.testing.laws import inexact

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "closure.md"
sys.path.insert(0, str(ROOT / "examples" / "third_party" / "rabbet-enclose" / "src"))

OURS = (
    "rabbet.primitives.",
    "rabbet_autodiff.primitives.",
    "rabbet_callbacks.",
    "rabbet.lax.linalg.",
    "rabbet.random.",
    "rabbet_special.",
    "rabbet_convolution.primitives.",
    "rabbet_collectives.",
    "rabbet_custom_rules.",
    "rabbet_fft.",
    "rabbet_algorithms.primitives.",
    "rabbet.experimental.sparse.",
)
rb.lax.custom_root, rb.pure_callback  # noqa: B018 - makes their primitives
ROWS = [row for family in rows.families().values() for row in family]


def plugin_tables():
    """The tables of the transformations that come as packages of their own."""
    for module in ("rabbet.experimental.jet", "rabbet.experimental.checkify", "rabbet_enclose"):
        importlib.import_module(module)
    return {name: all_tables()[name] for name in ("jet", "checkify", "enclose")}


def not_linear(primitive):
    """Why a primitive has no transpose."""
    return "not linear"


def not_bounded(primitive):
    """Why the example transformation does not know a primitive."""
    return "bounds unknown"


def by_libraries(primitive):
    """Why a primitive has no lowering for all platforms."""
    return "by libraries only" if any(own_platforms(primitive)) else None


REASONS = {"lower": by_libraries, "transpose": not_linear, "enclose": not_bounded}


REASON_OF_OUTER = {"jit": by_libraries}


def columns():
    """The tables in the order in which they are shown."""
    return {"lower": lower, "jvp": jvp, "transpose": transpose, "batch": batch, **plugin_tables()}


def primitives():
    """The primitives of core by name; those that plugins make for themselves aside."""
    known = all_primitives().items()
    inside = {name: p for name, p in known if p.where.module.startswith(OURS)}
    return dict(sorted(inside.items()))


def first_table():
    """A line per primitive: where each transformation's rule comes from."""
    tables = columns()
    for name, primitive in primitives().items():
        cells = [shown(closure.cell(table, primitive, REASONS.get(t))) for t, table in tables.items()]
        cells[0] = ", ".join([cells[0], *sorted(own_platforms(primitive))])
        yield f"| `{name}` | {', '.join(primitive.kinds)} | {' | '.join(cells)} |"


def shown(cell):
    """A cell in one line of a table: of a reason the first line, what to do about it aside."""
    return f"({cell.detail.splitlines()[0]})" if cell.word == "none" and cell.detail else str(cell)


def own_platforms(primitive):
    """The platforms whose backend brings a lowering of its own for a primitive."""
    for platform in ("cpu", "cuda", "tpu"):
        own = backends.default_registry().get(platform).lowerings
        if f"lower:{platform}" in primitive.rules or (own is not None and own.find(primitive, platform)):
            yield platform


# ------------------------------------------------------------------------------------------- the second table
def under_jvp(fn, args):
    return rb.jvp(fn, args, [tangent_of(x) for x in args])[1]


def under_vjp(fn, args):
    outs, pull = rb.vjp(fn, *args)
    return pull(tuple([tangent_of(y) for y in outs]))


def under_vmap(fn, args):
    return rb.vmap(fn)(*[rb.lax.broadcast(x, (2,)) for x in args])


def under_jet(fn, args):
    from rabbet.experimental import jet

    moving = [x for x in args if inexact(x)]

    def smooth(*xs):
        xs = iter(xs)
        return fn(*[next(xs) if inexact(x) else x for x in args])

    return jet.jet(smooth, moving, [[rb.lax.full_like(x, 0.5)] * 2 for x in moving])


def under_checkify(fn, args):
    from rabbet.experimental import checkify

    return checkify.checkify(fn, errors=checkify.all_checks)(*args)


def under_enclose(fn, args):
    import rabbet_enclose

    numbers = [i for i, x in enumerate(args) if rb.dtypes.kind(x.dtype) in "fc"]
    boxed = numbers or list(range(len(args)))  # indices stay what they are

    def of_boxed(*xs):
        return fn(*[xs[boxed.index(i)] if i in boxed else x for i, x in enumerate(args)])[0]

    return rabbet_enclose.enclose(of_boxed)(*[(args[i], args[i]) for i in boxed])


INNER = {
    "jvp": under_jvp, "vjp": under_vjp, "vmap": under_vmap, "jet": under_jet, "checkify": under_checkify,
    "enclose": under_enclose,
}  # fmt: skip
SMOOTH = ("jvp", "vjp", "jet")


def tangent_of(x):
    """A tangent for an array: ones, or nothing for an integer."""
    return rb.lax.full_like(x, 1) if inexact(x) else np.zeros(x.shape, rb.dtypes.float0)


def outer_tables():
    """The tables that an inner transformation's operations are looked up in."""
    tables = columns()
    return {"jit": lower, "jvp": jvp, "vmap": batch, **{n: tables[n] for n in ("jet", "checkify", "enclose")}}


def smooth(primitive, mine):
    """The rows of a primitive that can be differentiated; those of one that refuses, but has no derivative of
    zero, so that it says why.
    """
    rows = [row for row in mine if row.orders]
    return rows if rows or closure.cell(jvp, primitive).word == "zero" else mine


def operations(name, row):
    """What a primitive is made of under an inner transformation; None where that does not concern it."""
    dtype = next(iter(row.smooth_dtypes()), row.main_dtype())
    args = [device_array(a) for a in row.draw(dtype)]
    fn = row.function(dtype)
    if not args or (name in SMOOTH and not any(inexact(x) for x in args)):
        return None
    avals = [typeof(x) for x in args]

    def flat(*xs):
        return rb.tree.leaves(INNER[name](fn, list(xs)))

    return closure.made_of(lambda *xs: [x for x in flat(*xs) if hasattr(x, "aval")], avals)


def pair_cell(name, mine):
    """Which outer transformations know all that the rows of a primitive are made of under ``name``."""
    missing, concerned = {}, False
    for row in smooth(mine[0].primitive, mine) if name in SMOOTH else mine:
        try:
            made = operations(name, row)
        except (rb.errors.MissingRule, NotImplementedError) as refusal:
            why = REASONS[name](row.primitive) if name in REASONS else str(refusal).splitlines()[0]
            return f"({why})".replace("'", "`")
        if made is None:
            continue
        concerned = True
        for outer, table in outer_tables().items():
            unknown = closure.unknown(table, made, REASON_OF_OUTER.get(outer))
            missing.setdefault(outer, {}).update(dict.fromkeys(unknown))
    if not concerned:
        return "–"
    lacking = [f"{outer} ({', '.join(names)})" for outer, names in missing.items() if names]
    return "all" if not lacking else "all but " + "; ".join(lacking)


def second_table():
    """A line per primitive with rows: a cell per inner transformation."""
    for name, primitive in primitives().items():
        mine = [row for row in ROWS if row.primitive is primitive][:2]
        if mine:
            yield f"| `{name}` | {' | '.join(pair_cell(inner, mine) for inner in INNER)} |"


TEXT = """# The closure matrix

This page is written by `tools/write/closure.py`, and a test compares it with the code.

## Every primitive under every transformation

| cell | where the rule comes from |
|---|---|
| `own` | beside the primitive, or the table's own for it |
| `kind` | the table's rule for one of its kinds |
| `parts` | its decomposition into other primitives |
| `bodies` | the programs that it carries |
| `derived` | made by the table from another table's rule |
| `default` | the table's rule for all that is left |
| `zero` | the derivative is zero, or there is none: integers, steps |
| (a reason) | there is none, and why |

In the column `lower`, platforms whose backend brings a lowering of its own stand behind the comma.
`enclose` is the example of a third party's transformation; it knows what grows, falls or moves, and no more.

| primitive | kinds | {columns} |
|---|---|{rule}
{first}

Each rule of `lower`, `jvp`, `transpose` and `batch` is tried by the conformance table
(`rabbet.testing.rows`): values against NumPy and SciPy, compiled against eager, derivatives of both modes
and of second order against finite differences in double precision, batches against loops.

## Every pair of transformations

A cell says which outer transformations (`jit`, `jvp`, `vmap`, `jet`, `checkify`, `enclose`) know every
operation that the primitive becomes under the inner one, and after `but` which do not, because of which
operations. A dash: the inner one does not concern it, because its derivative is zero or it has no operands.
In parentheses: the inner one refuses it, and why. Of a function that has no derivative by one operand the
column shows that; by the others it has one. The pairs of `jvp`, `vjp` and `vmap` are also run for every row,
against loops.

Primitives without a line here carry programs, communicate or call Python, and are tested by themselves.

| primitive | {inner} |
|---|{inner_rule}
{second}

## Dtypes

The rows of core's primitives that `check_dtype` tries in each dtype, on values, as parts of compiled
programs; the packages' own tests run it and name the few rows that make no sense in a format. A dtype
without a name in StableHLO, and without `codes`, is stored only.

| dtype | package | kind | bits | computed in | beyond the largest | rows |
|---|---|---|---|---|---|---|
{dtypes}
"""


def dtype_table():
    """A line for each dtype of a package."""
    for point in sorted(entry_points(group="rabbet.dtypes"), key=lambda point: point.name):
        spec = rb.dtypes.find(point.name)
        tried = "stored only" if spec.mlir is None and spec.codes is None else len(kit.rows_for(spec))
        yield (
            f"| `{spec.name}` | {point.dist.name} | {spec.kind} | {spec.storage_bits} | {spec.compute} | "
            f"{spec.overflow or 'wraps'} | {tried} |"
        )


def page():
    """The whole page."""
    return TEXT.format(
        columns=" | ".join(columns()), rule="---|" * len(columns()), first="\n".join(first_table()),
        inner=" | ".join(f"outer of {name}" for name in INNER), inner_rule="---|" * len(INNER),
        second="\n".join(second_table()), dtypes="\n".join(dtype_table()),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit(f"{PAGE} is out of date: run python tools/write/closure.py")


if __name__ == "__main__":
    main()
