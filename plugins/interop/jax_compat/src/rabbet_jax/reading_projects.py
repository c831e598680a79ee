"""What a project written for JAX uses of it: read from its files, without running or importing them.

A name is followed from the import that brings it (``import jax.numpy as jnp``) through attributes
(``jnp.linalg.norm``) as far as they are written. What is fetched by other ways (``getattr``, names given on)
is not seen.
"""

from __future__ import annotations

import ast
import importlib
import types
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from rabbet.errors import MissingPluginError

from rabbet_jax import inner_names

HERE, DIFFERS, SERVED, PRIVATE, ABSENT = "here", "differs", "served", "private", "absent"
GUARDED = "guarded"  # absent, and used only where the code has another way: `try`, `hasattr`, a version
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
# Names that JAX itself no longer has (0.12), by how they begin, with what to write instead.
REMOVED = {
    "jax.ArrayRef": "jax.new_ref",
    "jax.core.DropVar": "jax.extend.core",
    "jax.core.": "jax.extend.core, jax.interpreters or a public function",
    "jax.errors.JAXRuntimeError": "jax.errors.JaxRuntimeError",
    "jax.experimental.MutableArray": "jax.new_ref",
    "jax.experimental.cur_qdd": "nothing; Flax asks for it where variables are types of its own",
    "jax.experimental.hijax.AvalMutableQDD": "nothing of this kind",
    "jax.experimental.hijax.AvalQDD": "nothing of this kind",
    "jax.experimental.hijax.MutableHiType": "jax.experimental.hijax.HiType",
    "jax.experimental.enable_x64": "jax.enable_x64",
    "jax.experimental.host_callback": "jax.experimental.io_callback, jax.pure_callback, jax.debug.callback",
    "jax.experimental.jax2tf": "jax.export",
    "jax.experimental.maps": "jax.shard_map, jax.vmap",
    "jax.lib.xla_extension": "jax.errors.JaxRuntimeError for its error; else jaxlib",
    "jax.linear_util": "jax.extend.linear_util",
    "jax.random.PRNGKeyArray": "jax.Array",
}
LIBRARIES = frozenset(
    "blackjax brax chex diffrax distrax dynamax equinox evosax flax flashbax gymnax haiku haliax jaxopt "
    "jraph keras levanter lineax mctx mujoco numpyro optax optimistix orbax ott penzai qwix rlax "
    "tensorflow_probability tinygp".split()
)
# Python walks a tree of syntax by recursion, and libcst ends the process where it goes too deep.
DEEPEST = 500


class Use(NamedTuple):
    """A name of JAX at one place."""

    name: str
    path: str
    line: int
    guarded: bool = False
    """Whether the code goes on where the name is missing."""
    imported: bool = False
    """Whether an import names it."""


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
    found = [p for p in path.rglob("*.py") if skipped.isdisjoint(p.relative_to(path).parts)]
    # Pipes and devices are left out: reading one may never end. A link to nothing is read, and said.
    return sorted(p for p in found if p.is_file() or not p.exists())


def parsed(text: bytes) -> ast.Module:
    """The syntax of a file.

    Raises:
      SyntaxError: what Python does not take, or brackets, operators or calls thousands deep within each
        other.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd in somebody's texts is no news of ours
            tree = ast.parse(text)
    except (RecursionError, MemoryError):
        raise SyntaxError(f"more than {DEEPEST} parts within each other") from None
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise SyntaxError(f"more than {DEEPEST} parts within each other")


# What says that a name may be missing: errors that are caught, and words of a condition.
_CAUGHT = frozenset(["ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"])


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler goes on where a name is missing."""
    if handler.type is None:
        return True
    return any(isinstance(n, ast.Name) and n.id in _CAUGHT for n in ast.walk(handler.type))


def _asks(test: ast.expr) -> bool:
    """Whether a condition asks what JAX is there."""
    named = [getattr(n, "id", None) or getattr(n, "attr", None) or "" for n in ast.walk(test)]
    return any(n in ("hasattr", "find_spec", "TYPE_CHECKING") or "version" in n.lower() for n in named)


def guarded_lines(tree: ast.AST) -> set[int]:
    """The lines of a module in which a name may be missing."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[Any] = []
        if isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            parts = [*node.body, *node.handlers]
        elif isinstance(node, (ast.If, ast.IfExp)) and _asks(node.test):
            parts = [node]
        for part in parts:
            found.update(range(part.lineno, part.end_lineno + 1))
    return found


class _Names(ast.NodeVisitor):
    """Collects what a module uses of ``jax``, and which libraries it imports."""

    def __init__(self, path: str, guarded: set[int]) -> None:
        self.path, self.guarded = path, guarded
        self.firmly: set[str] = set()  # names that are imported where nothing guards them
        self.bound: dict[str, str] = {}
        self.uses: list[Use] = []
        self.libraries: set[str] = set()

    def bind(self, name: str, full: str, node: ast.stmt) -> None:
        """A name of the module stands for one of JAX."""
        self.bound[name] = full
        if node.lineno not in self.guarded:
            self.firmly.add(name)

    def add(self, full: str, node: ast.AST, guarded: bool = False) -> None:
        """One use of a name of JAX."""
        line: int = node.lineno  # type: ignore[attr-defined]
        imported = isinstance(node, (ast.Import, ast.ImportFrom))
        self.uses.append(Use(full, self.path, line, guarded or line in self.guarded, imported))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            first = alias.name.partition(".")[0]
            if first == "jax":
                self.bind(alias.asname or "jax", alias.name if alias.asname else "jax", node)
                self.add(alias.name, node)
            elif first in LIBRARIES:
                self.libraries.add(first)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        first = (node.module or "").partition(".")[0]
        if node.level == 0 and first == "jax":
            for alias in node.names:
                full = f"{node.module}.{alias.name}" if alias.name != "*" else str(node.module)
                self.bind(alias.asname or alias.name, full, node)
                self.add(full, node)
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
            self.add(full, node, guarded=inner.id not in self.firmly)
        else:
            self.generic_visit(node)


def read(path: Path) -> tuple[list[Use], set[str], list[str]]:
    """The uses of JAX in a project, the libraries that it imports, and files that are no Python."""
    uses: list[Use] = []
    libraries: set[str] = set()
    unread: list[str] = []
    for file in project_files(path):
        try:
            tree = parsed(file.read_bytes())
        except (SyntaxError, ValueError, OSError) as error:
            unread.append(f"{file}: {error}")
            continue
        names = _Names(str(file), guarded_lines(tree))
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


def _stands_in(parts: list[str]) -> bool:
    """Whether rabbet_jax has a stand-in for a name, which can be read and not be called."""
    for cut in range(len(parts)):
        name = ".".join(parts[:cut])
        told, _ = inner_names.INNER.get(f"jax.{name}".rstrip("."), ("", ()))
        if parts[cut] in told.split():
            return True
        try:
            module = importlib.import_module(f"rabbet_jax.overlay.{name}".rstrip("."))
        except Exception:
            continue
        if parts[cut] in getattr(module, "ABSENT", "").split():
            return True
    return False


def public_name(name: str) -> str | None:
    """The public name of what is asked for in ``jax._src``, if Rabbet has it; None where nothing is known.

    Example:
      >>> from rabbet_jax.reading_projects import public_name
      >>> public_name("jax._src.flatten_util.ravel_pytree"), public_name("jax._src.core.Trace")
      ('jax.flatten_util.ravel_pytree', None)
    """
    home, *rest = name.removeprefix("jax._src.").split(".")
    if not rest or home == "config":  # where settings are objects, and not values
        return None
    places = [f"jax.{home}.{'.'.join(rest)}", f"jax.{home}.{rest[-1]}"]
    places += [f"jax.{rest[-1]}"] if home in ("api", "array") else []
    for public in places:
        parts = public.split(".")[1:]
        if not any(part.startswith("_") for part in parts) and _walk("rabbet", parts)[0]:
            return public
    return None


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
        public = public_name(name)
        hint = "look for a public name" if public is None else f"{public} is public, and here"
        return Found(PRIVATE, "served by rabbet_jax" if served else f"private; {hint}")
    ours, depth = _walk("rabbet", parts)
    if ours and not parts[0].startswith("_") and parts[0] != "extend":  # `rabbet.extend` is something else
        at = "jax." + ".".join(parts[:depth] if depth else parts)
        if at in DIFFERENT:
            return Found(DIFFERS, f"{DIFFERENT[at]}: {PAGE}")
        return Found(HERE, "rabbet." + ".".join(parts))
    for cut in range(len(parts), -1, -1):
        module = ".".join(["rabbet_jax.overlay", *parts[:cut]])
        if _walk(module, parts[cut:])[0]:
            return Found(SERVED, "with `rabbet run-jax`, or after `import rabbet_jax; rabbet_jax.install()`")
    if _stands_in(parts):
        return Found(SERVED, "can be read where rabbet_jax serves jax, and raises when it is called")
    for start, instead in REMOVED.items():
        if name == start or name.startswith(start if start.endswith(".") else f"{start}."):
            return Found(ABSENT, f"JAX 0.12 does not have it either; there it is {instead}")
    return Found(ABSENT, f"not there: {PAGE}#what-is-absent")


def look_up_all(uses: list[Use]) -> dict[str, tuple[Found, list[Use]]]:
    """Each name once, with what becomes of it and where it stands."""
    places: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        places[use.name].append(use)
    found = {}
    for name in sorted(places):
        known = look_up(name)
        if known.state == ABSENT and all(use.guarded for use in places[name]):
            known = Found(GUARDED, "not there; the code has another way where it is missing")
        found[name] = known, places[name]
    return found
