"""Bytecode from one environment for another, so that each need not compile pytest, NumPy and core anew.

Installers leave compiling to the first import, and a new environment for each plugin spends most of its time
on it. Files are linked, not copied. Python itself looks whether bytecode belongs to a source (its time and
size); what does not is compiled as ever.
"""

import os
import pathlib
import sys


def site_packages(environment):
    """The folder of an environment in which this Python's packages are."""
    python = "" if os.name == "nt" else f"python{sys.version_info.major}.{sys.version_info.minor}/"
    return pathlib.Path(environment) / f"{'Lib' if os.name == 'nt' else 'lib'}/{python}site-packages"


def of(folder):
    """Pairs of a source, relative to the folder, and its bytecode there."""
    for compiled in pathlib.Path(folder).rglob(f"__pycache__/*.{sys.implementation.cache_tag}*.pyc"):
        source = compiled.parent.parent / f"{compiled.name.partition('.')[0]}.py"
        yield source.relative_to(folder), compiled


def link(compiled, source):
    """Put bytecode beside a source, unless some is there or the file system has no links."""
    beside = source.parent / "__pycache__" / compiled.name
    if not beside.exists():
        beside.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(compiled, beside)
        except OSError:  # another process was quicker, or there are no links here
            pass


def borrow(folder, lender):
    """Give the sources in ``folder`` the bytecode that ``lender`` has of them."""
    for source, compiled in of(lender):
        if (folder / source).exists():
            link(compiled, folder / source)


def keep(folder, store):
    """Add the bytecode in ``folder`` to a store of nothing else."""
    for source, compiled in of(folder):
        link(compiled, store / source)


def borrow_from_neighbours(environments):
    """Give this interpreter's packages the bytecode of other environments that have the very same files."""
    here = site_packages(sys.prefix)
    for neighbour in pathlib.Path(environments).iterdir():
        there = site_packages(neighbour)
        if neighbour.resolve() == pathlib.Path(sys.prefix).resolve() or not there.is_dir():
            continue
        for source, compiled in of(there):
            ours, theirs = here / source, there / source
            if ours.exists() and theirs.exists() and ours.samefile(theirs):
                link(compiled, ours)
