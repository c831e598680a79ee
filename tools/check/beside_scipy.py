"""Functions of `rabbet.scipy.special` and `rabbet.scipy.stats` beside SciPy's, at corners and between them.

    python tools/check/beside_scipy.py --into FILE                  # what FILE does not have yet
    python tools/check/beside_scipy.py --into FILE --only beta      # functions with this in their names
    python tools/check/beside_scipy.py --into FILE --table          # the counts

FILE gets a line of JSON for each function and dtype, so a run that was ended goes on where it was. A function
that takes longer than ``--seconds`` is written down as such. SciPy computes in double precision of the same
arguments. A value differs if it is further from SciPy's than 64 units in the last place (single precision) or
1e-9 of it (double, where SciPy's own errors are of that size at corners), and further than what four times
a change of an argument by a unit in its last place explains.
"""

import argparse
import inspect
import itertools
import json
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np

DTYPES = ("float32", "float64")
RANDOM_SETS = 1500
COUNTS = {"polygamma", "multigammaln", "factorial"}  # the first argument is a whole number here
SPHERICAL = {"spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"}
# Functions over an axis, and those whose arguments are not numbers.
LEFT_OUT = {
    "softmax",
    "log_softmax",
    "logsumexp",
    "bernoulli",
    "multigammaln",
    "sph_harm",
    "sph_harm_y",
    "lpmn",
}
LEFT_OUT |= {"lpmn_values", "lpn_values", "bessel_jn", "logmeanexp"}
METHODS = (
    "pdf",
    "logpdf",
    "pmf",
    "logpmf",
    "cdf",
    "logcdf",
    "sf",
    "logsf",
    "ppf",
    "isf",
    "entropy",
    "mean",
    "var",
)
METHODS += ("std",)


def corners(dtype):
    """Moderate numbers, tails, neighbours of 0 and 1, the ends of the range, infinities and NaN."""
    f = np.finfo(dtype)
    ends = [f.tiny, f.max, 1 + f.eps, 1 - f.epsneg]
    moderate = [1e-10, 1e-3, 0.1, 0.5, 0.9, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 10.0, 30.5, 100.0, 700.0, 1e5, 1e10]
    negative = [-f.tiny, -f.max, -1e-10, -0.5, -1.0, -1.5, -2.5, -3.0, -100.0, -700.0, -1e5]
    return np.array([0.0, -0.0, *ends, np.inf, -np.inf, np.nan, *moderate, *negative], dtype)


def arguments(name, number, dtype):
    found = corners(dtype)
    if number <= 2:
        sets = list(itertools.product(found, repeat=number))
    else:  # a seed of the name, so that each function has the same sets in every run
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        positive = found[np.isfinite(found) & (found > 0)]
        sets = [rng.choice(found if i % 3 == 0 else positive, number) for i in range(RANDOM_SETS)]
    columns = [np.array(column, dtype) for column in zip(*sets, strict=True)]
    short = name.rpartition(".")[2]
    if short in COUNTS or short in SPHERICAL:
        whole = np.isfinite(columns[0]) & (abs(columns[0]) < 30)
        columns[0] = np.where(whole, abs(np.round(columns[0])), 3).astype(dtype)
    return columns


def functions():
    """``{name: (ours, SciPy's, number of arguments)}``."""
    import scipy.special
    import scipy.stats
    from rabbet.scipy import special, stats

    out = {}
    for name in sorted(dir(special)):
        mine, theirs = getattr(special, name), getattr(scipy.special, name, None)
        if name.startswith("_") or name in LEFT_OUT or not callable(mine) or theirs is None:
            continue
        number = theirs.nin if isinstance(theirs, np.ufunc) else required(mine)
        out[f"special.{name}"] = mine, theirs, number
    for law in sorted(dir(stats)):
        module, theirs = getattr(stats, law), getattr(scipy.stats, law, None)
        if not inspect.ismodule(module) or not hasattr(theirs, "shapes") or not hasattr(theirs, "cdf"):
            continue
        shapes = len(theirs.shapes.split(",")) if theirs.shapes else 0
        for method in METHODS:
            if hasattr(module, method) and hasattr(theirs, method):
                number = shapes + (method not in ("entropy", "mean", "var", "std"))
                if number:
                    out[f"{law}.{method}"] = getattr(module, method), getattr(theirs, method), number
    return out


def required(function):
    some = inspect.signature(function).parameters.values()
    return len(
        [p for p in some if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    )


def kinds(got, wanted, spread, dtype):
    """Of each value the kind of its difference, or "": what is wanted is in double precision."""
    f = np.finfo(dtype)
    with np.errstate(all="ignore"):
        held = wanted.astype(dtype).astype(np.float64)
        relative = 64 * f.eps if dtype == "float32" else 1e-9
        room = relative * abs(wanted) + 4 * spread + 4 * float(f.tiny)
        same = (np.isnan(got) & np.isnan(held)) | (got == held)
        same |= np.isfinite(held) & (abs(got - wanted) <= room)
        same |= (
            (abs(wanted) > float(f.max) / 8)
            & (abs(got) > float(f.max) / 64)
            & (np.sign(got) == np.sign(wanted))
        )
    out = np.full(got.shape, "digits", object)
    out[np.isinf(got) | np.isinf(held)] = "infinite"
    out[(got == 0) | (held == 0)] = "zero"
    out[np.isnan(held)] = "SciPy NaN"
    out[np.isnan(got)] = "NaN"
    out[same] = ""
    return out


def moved(theirs, columns, wanted, dtype):
    """How far SciPy's values change if one argument changes by a unit in its last place."""
    spread = np.zeros(wanted.shape)
    for i in range(len(columns)):
        for end in (np.inf, -np.inf):
            near = list(columns)
            near[i] = np.nextafter(columns[i], np.asarray(end, dtype))
            there = np.asarray(theirs(*[c.astype(np.float64) for c in near]), np.float64)
            with np.errstate(all="ignore"):
                step = abs(there - wanted)
            # Beside an end of the domain the neighbour says nothing.
            step[~np.isfinite(near[i]) | np.isnan(step) | np.isinf(step)] = 0
            spread = np.maximum(spread, step)
    return spread


def elementwise(theirs):
    """SciPy's function; element by element where it raises for one of an array, NaN there."""

    def one(*args):
        try:
            return float(theirs(*args))
        except OverflowError:
            return np.nan

    def whole(*columns):
        try:
            return theirs(*columns)
        except OverflowError:
            return np.array([one(*args) for args in zip(*columns, strict=True)])

    return whole


def compare(name, mine, theirs, number, dtype):
    columns, theirs = arguments(name, number, dtype), elementwise(theirs)
    wanted = np.asarray(theirs(*[c.astype(np.float64) for c in columns]), np.float64)
    spread = moved(theirs, columns, wanted, dtype)
    got = np.asarray(mine(*columns)).astype(np.float64)
    found = kinds(got, wanted, spread, dtype)
    bad = np.flatnonzero(found != "")
    counted = {k: int(np.sum(found == k)) for k in sorted(set(found[bad]))}
    examples = []
    for kind in counted:
        some = [b for b in bad if found[b] == kind]
        for b in some[:: max(1, len(some) // 6)][:7]:
            examples.append([kind, [float(c[b]) for c in columns], float(got[b]), float(wanted[b])])
    return {"values": len(got), "differ": len(bad), "kinds": counted, "examples": examples}


def work(names, path):
    """In a process of its own: append a line before and after each function."""
    import rabbet as rb

    warnings.simplefilter("ignore")
    rb.config.update("enable_x64", True)
    known, (rows, _) = functions(), read(path)
    with open(path, "a") as file:
        for name in names:
            for dtype in [d for d in DTYPES if (name, d) not in rows]:
                print(json.dumps({"begun": name, "dtype": dtype}), file=file, flush=True)
                start = time.time()
                try:
                    row = compare(name, *known[name], dtype)
                except Exception as error:
                    row = {"error": f"{type(error).__name__}: {error}"[:300]}
                row = {"name": name, "dtype": dtype, **row, "seconds": round(time.time() - start, 1)}
                print(json.dumps(row), file=file, flush=True)


def read(path):
    """Of each function and dtype its last line; and what was begun last."""
    rows, begun = {}, None
    for line in Path(path).read_text().splitlines() if Path(path).exists() else []:
        row = json.loads(line)
        if "begun" in row:
            begun = row
        else:
            rows[row["name"], row["dtype"]] = row
    return rows, begun


def sweep(path, only, seconds):
    while True:
        rows, _ = read(path)
        names = [n for n in functions() if only in n and any((n, d) not in rows for d in DTYPES)]
        if not names:
            return
        worker = subprocess.Popen([sys.executable, __file__, "--into", path, "--work", *names])
        last, since = None, time.time()
        while worker.poll() is None:
            time.sleep(1)
            size = Path(path).stat().st_size if Path(path).exists() else 0
            if size != last:
                last, since = size, time.time()
            if time.time() - since > seconds:
                worker.kill()
                worker.wait()
        rows, begun = read(path)
        if begun and (begun["begun"], begun["dtype"]) not in rows:
            row = {"name": begun["begun"], "dtype": begun["dtype"], "error": f"took more than {seconds} s"}
            if worker.returncode != -9:
                row["error"] = f"ended its process ({worker.returncode})"
            with open(path, "a") as file:
                print(json.dumps(row), file=file)


def table(path, only):
    rows, _ = read(path)
    totals = {}
    for (name, dtype), row in sorted(rows.items()):
        if only not in name:
            continue
        if row.get("error") or row["differ"]:
            print(f"{name} {dtype}: {row.get('error') or (row['differ'], row['values'], row['kinds'])}")
        for key in ("values", "differ"):
            totals[key] = totals.get(key, 0) + row.get(key, 0)
    print(f"{len({n for n, _ in rows})} functions, {totals}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--into", required=True, help="the file of outcomes")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=150, help="the limit of a function")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.into)
    elif given.table:
        table(given.into, given.only)
    else:
        sweep(given.into, given.only, given.seconds)


if __name__ == "__main__":
    main()
