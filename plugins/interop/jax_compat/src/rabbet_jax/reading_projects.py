"""What a project written for JAX uses of it: read from its files, without running or importing them.

A name is followed from the import that brings it (``import jax.numpy as jnp``) through attributes
(``jnp.linalg.norm``) as far as they are written. What is fetched by other ways (``getattr``, names given on)
is not seen.
"""

from __future__ import annotations

import ast
import importlib
import types
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from rabbet.errors import MissingPluginError

HERE, DIFFERS, SERVED, PRIVATE, ABSENT = "here", "differs", "served", "private", "absent"
# Names that are here and mean something else, or are stricter: in words, with the page that says more.
DIFFERENT = {
    "jax.make_mesh": "its axes are Auto unless axis_types says otherwise",
    "jax.sharding.AbstractMesh": "its axes are Auto unless axis_types says otherwise",
    "jax.lax.gather": "positions outside read NaN unless a mode is given",
    "jax.lax.cummax": "equal elements: the nearest of them has the derivative",
    "jax.lax.cummin": "equal elements: the nearest of them has the derivative",
    "jax.profiler.start_server": "it warns that it listens on all interfaces",
    "jax.numpy.reshape": "of a NumPy array it gives an Array, under jit too",
    "jax.numpy.float64": "an explicit 64-bit dtype is honoured without a switch",
    "jax.numpy.int64": "an explicit 64-bit dtype is honoured without a switch",
}
PAGE = "docs/coming-from-jax.md"
LIBRARIES = frozenset(
    "blackjax brax chex diffrax distrax dynamax equinox evosax flax flashbax gymnax haiku haliax jaxopt "
    "jraph keras levanter lineax mctx mujoco numpyro optax optimistix orbax ott penzai qwix rlax "
    "tensorflow_probability tinygp".split()
)


class Use(NamedTuple):
    """A name of JAX at one place."""

    name: str
    path: str
    line: int


class Found(NamedTuple):
    """What becomes of a name on Rabbet."""

    state: str
    where: str
    """The name here, or what to do."""


def project_files(path: Path) -> list[Path]:
    """The Python files of a project, in order; folders of environments and builds are left out."""
    if path.is_file():
        return [path]
    skipped = {
        ".git",
        ".tox",
        ".venv",
        "venv",
        "node_modules",
        "build",
        "dist",
        "__pycache__",
        "site-packages",
    }
    return sorted(p for p in path.rglob("*.py") if skipped.isdisjoint(p.relative_to(path).parts))


class _Names(ast.NodeVisitor):
    """Collects what a module uses of ``jax``, and which libraries it imports."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.bound: dict[str, str] = {}
        self.uses: list[Use] = []
        self.libraries: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            first = alias.name.partition(".")[0]
            if first == "jax":
                self.bound[alias.asname or "jax"] = alias.name if alias.asname else "jax"
                self.uses.append(Use(alias.name, self.path, node.lineno))
            elif first in LIBRARIES:
                self.libraries.add(first)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        first = (node.module or "").partition(".")[0]
        if node.level == 0 and first == "jax":
            for alias in node.names:
                full = f"{node.module}.{alias.name}" if alias.name != "*" else str(node.module)
                self.bound[alias.asname or alias.name] = full
                self.uses.append(Use(full, self.path, node.lineno))
        elif node.level == 0 and first in LIBRARIES:
            self.libraries.add(first)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        names: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.bound:
            full = ".".join([self.bound[inner.id], *names[::-1]])
            self.uses.append(Use(full, self.path, node.lineno))
        else:
            self.generic_visit(node)


def read(path: Path) -> tuple[list[Use], set[str], list[str]]:
    """The uses of JAX in a project, the libraries that it imports, and files that are no Python."""
    uses: list[Use] = []
    libraries: set[str] = set()
    unread: list[str] = []
    for file in project_files(path):
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError) as error:
            unread.append(f"{file}: {error}")
            continue
        names = _Names(str(file))
        # Imports first: a function may use what the module imports further down.
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names.visit(node)
        for statement in ast.iter_child_nodes(tree):
            if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                names.visit(statement)
        uses += dict.fromkeys(names.uses)  # imports within functions were visited twice
        libraries |= names.libraries
    return uses, libraries, unread


def _walk(module: str, rest: list[str]) -> tuple[bool, int]:
    """Whether ``rest`` can be had of a module, and how many of the names are those of modules and values."""
    try:
        value: Any = importlib.import_module(module)
    except Exception:
        return False, 0
    for k, name in enumerate(rest):
        try:
            inner = getattr(value, name)
        except MissingPluginError:
            return True, len(rest)  # a package of ours has it, and is not installed here
        except Exception:
            if not isinstance(value, types.ModuleType):
                return True, k  # an attribute of a class or of a value: its owner is there
            try:
                inner = importlib.import_module(f"{value.__name__}.{name}")
            except Exception:
                return False, k
        value = inner
        if not isinstance(value, types.ModuleType):
            return True, k + 1
    return True, len(rest)


def look_up(name: str) -> Found:
    """What becomes of a dotted name of JAX.

    Example:
      >>> from rabbet_jax.reading_projects import look_up
      >>> look_up("jax.numpy.sin")
      Found(state='here', where='rabbet.numpy.sin')
      >>> look_up("jax.numpy.no_such_name").state
      'absent'
    """
    parts = name.split(".")[1:]
    if not parts:
        return Found(HERE, "rabbet")
    if parts[-1] in ("__version__", "__version_info__"):
        return Found(SERVED, "the version of JAX that rabbet_jax serves; rabbet.__version__ is Rabbet's")
    if parts[0] == "_src":
        served, _ = _walk("rabbet_jax.overlay", parts)
        return Found(PRIVATE, "served by rabbet_jax" if served else "private; look for a public name")
    ours, depth = _walk("rabbet", parts)
    if ours and not parts[0].startswith("_"):
        at = "jax." + ".".join(parts[:depth] if depth else parts)
        if at in DIFFERENT:
            return Found(DIFFERS, f"{DIFFERENT[at]}: {PAGE}")
        return Found(HERE, "rabbet." + ".".join(parts))
    for cut in range(len(parts), -1, -1):
        module = ".".join(["rabbet_jax.overlay", *parts[:cut]])
        if _walk(module, parts[cut:])[0]:
            return Found(SERVED, "with `rabbet run-jax`, or after `import rabbet_jax; rabbet_jax.install()`")
    return Found(ABSENT, f"not there: {PAGE}#what-is-absent")


def look_up_all(uses: list[Use]) -> dict[str, tuple[Found, list[Use]]]:
    """Each name once, with what becomes of it and where it stands."""
    places: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        places[use.name].append(use)
    return {name: (look_up(name), places[name]) for name in sorted(places)}
