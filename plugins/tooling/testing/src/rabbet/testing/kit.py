"""Checks for plugin authors: one function for each kind of plugin, which tries all that it promises.

Each returns nothing and raises ``LawError``, an ``AssertionError``, that says what does not hold and for
what: call them from your tests.
"""

import contextlib
import difflib
import functools

import numpy as np

import rabbet
from rabbet import config, dtypes
from rabbet.errors import NotOfferedError
from rabbet.extend.passes import all_primitives
from rabbet.extend.transform import RuleSet, RuleTable, all_tables
from rabbet.testing import checks, closure, driver
from rabbet.testing.draws import device_array
from rabbet.testing.formats import check_format
from rabbet.testing.laws import LawError
from rabbet.testing.rows import core_families
from rabbet.testing.table import typeof_dtype
from rabbet.testing.transformations import check_transformation

STANDARD = ("lower", "jvp", "transpose", "batch")
# The laws of a row that try the rules of a standard table.
LAWS_OF = {
    "lower": ("compiled",), "jvp": ("forward",), "transpose": ("reverse",), "batch": ("batching", "nested"),
}  # fmt: skip


def with_checks(check_it):
    """A check that runs with ``config.enable_checks``: what rules return is looked at where they return it,
    and every program is checked.
    """

    @functools.wraps(check_it)
    def checked(*args, **kwargs):
        with config.override(enable_checks=True):
            return check_it(*args, **kwargs)

    return checked


@with_checks
def check_primitive(row, system=driver.CORE):
    """A primitive obeys every law, in every dtype of its row, under every standard transformation.

    Args:
      row: a ``rabbet.testing.table.Row``: the primitive, its parameters, inputs, and what NumPy says.
      system: the transformations to run it under: ``driver.CORE``, or ``driver.plugins()`` for the
        installed ones.

    Raises:
      LawError: a value, derivative, batch or compiled result is wrong, a kind is false, or a standard
        table has neither a rule for it nor a reason (see ``rabbet.testing.closure``).

    Example:
      >>> from rabbet.testing import Row, check_primitive
      >>> from rabbet.testing.draws import some
      >>> check_primitive(Row(lax.tan, np.tan, (some(2),), ("float32",), orders=1))
    """
    tables = all_tables()
    for name in STANDARD:
        if name != "transpose" and closure.accidents(tables[name], [row.primitive]):
            raise LawError(f"{row.primitive.name!r} has no {name!r} rule, by hand, kind or decomposition")
    inexact = [name for name in row.known_dtypes() if dtypes.kind(name) in "fc"]
    if row.orders is None and inexact and row.inputs:
        raise LawError(
            f"the row of {row.name!r} does not say how many derivatives to check: orders=2 for a smooth one, "
            "0 if it has none"
        )
    checks.check_dtypes(row)
    if row.extremes:
        checks.check_extremes(row)
    checks.check_kinds(row)
    checks.check_laws(row, ["batching", "nested", "compiled"] if row.inputs else ["compiled"], system)
    laws = ["forward", "reverse", "second_order"][: row.orders + 1 if row.orders else 0]
    for dtype in row.smooth_dtypes():
        checks.check_laws(row, [*laws, "nested_derivatives"], system, dtype)


@with_checks
def check_rules(rules, rows, system=driver.CORE):
    """Every rule of a ``RuleTable`` or ``RuleSet`` is the one that a lookup finds, and is right where the
    table is a standard one.

    Args:
      rules: rules by primitive.
      rows: rows that try these primitives.
      system: the transformations to run the rows under.

    Raises:
      LawError: a rule that is never used because another goes before it, or that is announced and not there;
        a primitive without a row; a result that is wrong.

    Example:
      >>> from rabbet.extend.transform import RuleTable
      >>> from rabbet.testing import check_rules
      >>> check_rules(RuleTable("intervals", doc="(op, *boxes) -> box"), [])
    """
    table = rules if isinstance(rules, RuleTable) else all_tables().get(rules.name)
    if table is None:
        raise LawError(f"{rules!r} is for a table {rules.name!r} that no installed package makes")
    if isinstance(rules, RuleSet):
        for problem in rules.problems(lambda name: all_primitives().get(name)):
            raise LawError(f"{rules!r}: {problem}")
    tried = {row.primitive for row in rows}
    for (primitive, platform), rule in rules.by_primitive.items():
        found = table.explain(primitive, platform)
        if found is None or found.rule is not rule:
            how = "is not found" if found is None else f"is hidden by one from the {found.source}"
            raise LawError(f"the {rules.name!r} rule for {primitive.name!r} {how}")
        if rules.name in STANDARD and primitive not in tried:
            raise LawError(f"no row tries the {rules.name!r} rule for {primitive.name!r}")
    for row in rows:
        for law in LAWS_OF.get(rules.name, ()):
            if row.orders or law not in ("forward", "reverse"):
                dtype = next(iter(row.smooth_dtypes()), None)
                checks.check_law(row, law, system, dtype)


@with_checks
def check_backend(platform, rows):
    """A backend stores every dtype without changing a bit, and computes the rows as NumPy does.

    Args:
      platform: its name, ``"cpu"``.
      rows: rows to run on its first device, in every dtype that they name. What its ``lacks`` says that the
        platform cannot do is skipped, dtype by dtype.

    Raises:
      LawError: an array came back different, on another device, or a result is wrong.

    Example:
      >>> from rabbet.testing import Row, check_backend
      >>> from rabbet.testing.draws import some
      >>> check_backend("cpu", [Row(lax.sin, np.sin, (some(2, 3),), ("float32",), orders=0)])
    """
    found = rabbet.devices(platform)
    if len({(d.platform, d.id) for d in found}) != len(found):
        raise LawError(f"two devices of {platform!r} have one id: {found}")
    device = found[0]
    rng = np.random.default_rng(0)
    for spec in [spec for spec in dtypes.table.specs() if spec.mlir is not None]:
        for shape in ((), (0, 3), (3, 5)):
            host = _bits(rng, spec.dtype, shape)
            there = rabbet.device_put(device_array(host), device)
            if there.device != device:
                raise LawError(f"{spec.name}{list(shape)} was put on {device} and is on {there.device}")
            if np.asarray(there).tobytes() != host.tobytes():
                raise LawError(f"{spec.name}{list(shape)} came back from {device} with other bits")
    with config.override(default_device=device):
        for row in rows:
            _check_offered(row)


def _check_offered(row):
    """A row in every dtype in which the platform has what it needs; what its ``lacks`` names is skipped."""
    try:
        checks.check_dtypes(row)
        return
    except NotOfferedError:
        pass
    for name in row.known_dtypes():
        with contextlib.suppress(NotOfferedError):
            checks.check_dtypes(row, [name])


def _bits(rng, dtype, shape):
    """Random numbers of a dtype that survive conversion: small whole ones."""
    numbers = rng.integers(0, 2 if np.dtype(dtype).kind == "b" else 8, shape)
    return dtypes.host_cast(np.asarray(numbers), dtype)


@with_checks
def check_dtype(dtype, rows=None, *, apart=()):
    """A dtype is found by every spelling, has a place in promotion, survives storage, has the limits that it
    says, and computes.

    Args:
      dtype: its name or scalar type.
      rows: rows to try in it, in full; by default all of core's for dtypes of its kind, values alone.
      apart: names of rows by default that make no sense in it. A dtype that compilers do not know
        (``mlir=None``), and that has no ``codes``, is stored only, and tried by none of core's.

    Raises:
      LawError: names the promise. ValueError: ``apart`` names no row.

    Example:
      >>> from rabbet.testing import Row, check_dtype
      >>> from rabbet.testing.draws import some
      >>> check_dtype("float16", [Row(lax.neg, np.negative, (some(2, 3),), ("float16",), orders=0)])
    """
    spec = dtypes.spec(dtype)
    known = {row.name for family in core_families() for row in family}  # also of other kinds of dtypes
    unknown = sorted(set(apart) - known)
    if unknown:
        near = difflib.get_close_matches(unknown[0], sorted(known), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"check_dtype: no row is called {unknown[0]!r}{hint}")
    check_facts(spec)
    spellings = (spec.name, spec.dtype, spec.dtype.type, np.zeros((), spec.dtype))
    for spelling in [one for one in spellings if one is not np.void]:
        if dtypes.canonicalize(spelling) != spec.dtype:
            raise LawError(f"{spec.name}: spelled {spelling!r} it is {dtypes.canonicalize(spelling)}")
    _check_promotion(spec)
    rng = np.random.default_rng(0)
    host = _bits(rng, spec.dtype, (3, 4))
    there = device_array(host)
    if np.asarray(there).dtype != spec.dtype or np.asarray(there).tobytes() != host.tobytes():
        raise LawError(f"{spec.name}: an array came back from the device as {np.asarray(there)!r}")
    if spec.kind == "f":
        _check_limits(spec)
    if rows is None and (spec.mlir is not None or spec.codes is not None):
        _check_rows([row for row in rows_for(spec) if row.name not in apart], spec.name)
    for row in rows or ():
        if spec.name not in row.dtypes:
            raise LawError(f"{row.name} is not a row for {spec.name}")
        checks.check_value(row, spec.name)
        laws = ["batching", "compiled"] if row.inputs else ["compiled"]
        checks.check_laws(row, laws, driver.CORE, spec.name)


# Whoever has a row for one of these has one for every dtype of the kind.
MODELS = {
    "f": ("bfloat16", "float16"), "i": ("int32",), "u": ("uint8",), "c": ("complex64",), "b": ("bool",),
}  # fmt: skip

AT_ONCE = 40  # rows in a program


def rows_for(spec):
    """Core's rows for dtypes of a kind, each tried in that dtype."""
    models = (spec.name, *MODELS.get(spec.kind, ()))
    core = [row for family in core_families() for row in family]
    return [row for row in core if any(name in row.dtypes for name in models)]


def _check_rows(rows, name):
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        try:
            checks.check_rows_in(some, name)
        except LawError:
            raise
        except Exception:  # which of them it was
            for row in some:
                try:
                    checks.check_rows_in([row], name)
                except Exception as error:
                    raise LawError(f"{row.name} in {name}: {type(error).__name__}: {error}") from error


def check_facts(spec):
    """What a ``DTypeSpec`` says of its format is what the NumPy dtype does.

    Raises:
      LawError: names the fact.
    """
    unknown = [n for n in (*spec.above, *spec.below) if n[-1] != "*" and dtypes.find(n) is None]
    if unknown:
        raise LawError(f"{spec.name} is placed beside {unknown[0]!r}, which no installed package has")
    if spec.kind not in "fiu":
        return
    there_and_back = lambda x: dtypes.host_cast(dtypes.host_cast(x, spec.dtype), np.dtype("float64"))
    ends = np.array([spec.smallest, spec.largest], np.float64)
    if spec.kind == "f" and not np.array_equal(there_and_back(ends), ends):
        raise LawError(f"{spec.name} cannot hold its smallest and largest numbers, {ends.tolist()}")
    if spec.kind != "f":
        return
    with np.errstate(all="ignore"):
        special = there_and_back(np.array([np.inf, np.nan, -0.0, 0.0], np.float64))
        beyond = there_and_back(np.array([4.0 * spec.largest], np.float64))[0]
    found = {
        "infinities": bool(np.isinf(special[0])),
        "nan": bool(np.isnan(special[1])),
        "negative_zero": bool(special[2] == 0 and np.signbit(special[2])),
        "zero": bool(special[3] == 0),
        "overflow": "infinity" if np.isinf(beyond) else "nan" if np.isnan(beyond) else "saturate",
    }
    for fact, value in found.items():
        if getattr(spec, fact) != value:
            said = getattr(spec, fact)
            whose = "NumPy dtype has" if spec.encode is None else "encode and decode have"
            raise LawError(f"{spec.name} says {fact}={said!r}, and its {whose} {value!r}")
    if spec.encode is not None:
        check_format(spec)


def _check_promotion(spec):
    others = [other.name for other in dtypes.table.specs()]
    for a in others:
        joined = _promoted(spec.name, a)
        if joined != _promoted(a, spec.name):
            raise LawError(f"promotion of {spec.name} and {a} depends on their order")
        if joined is None:
            continue
        if _promoted(joined, spec.name) != joined or _promoted(joined, a) != joined:
            raise LawError(
                f"{spec.name} and {a} promote to {joined}, which promotes with one of them to more"
            )
    if dtypes.promote_types(spec.name, spec.name) != spec.dtype:
        raise LawError(f"{spec.name} with itself promotes to {dtypes.promote_types(spec.name, spec.name)}")


def _promoted(a, b):
    try:
        return dtypes.spec(dtypes.promote_types(a, b)).name
    except dtypes.TypePromotionError:
        return None


def _check_limits(spec):
    info = dtypes.finfo(spec.name)
    above = dtypes.host_cast(np.asarray(1.0 + float(info.eps)), spec.dtype)
    if not dtypes.host_cast(above, np.dtype("float64")) > 1:
        raise LawError(f"{spec.name}: 1 + eps is 1, with eps {info.eps}")
    if typeof_dtype(above) != spec.dtype or not np.isfinite(np.float64(info.max)):
        raise LawError(f"{spec.name}: finfo gives the largest number {info.max}")


__all__ = [
    "check_backend",
    "check_dtype",
    "check_facts",
    "check_primitive",
    "check_rules",
    "check_transformation",
]
