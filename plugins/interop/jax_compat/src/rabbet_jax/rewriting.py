"""Imports of JAX become imports of Rabbet: by LibCST, which leaves everything else of a file as it is."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, NamedTuple

from rabbet_jax import reading_projects
from rabbet_jax.reading_projects import DIFFERS, HERE, look_up, public_name

# Functions that are given the name of a module as a text.
BY_TEXT = ("import_module", "importorskip", "find_spec", "__import__")


def rewritten(text: str | bytes) -> tuple[Any, list[str]]:
    """The text of a file with its imports changed, and those that were left with the reason.

    ``import jax`` becomes ``import rabbet as jax``, so that every ``jax.x`` below it stays as it is. Of
    ``from jax import a, b``, where only ``a`` is here, two imports are made.

    Args:
      text: the text, or the bytes of a file; the answer is bytes then, with the same encoding and ends of
        lines.

    Raises:
      ModuleNotFoundError: without libcst.
      libcst.ParserSyntaxError: for what is no Python.

    Example:
      >>> from rabbet_jax.rewriting import rewritten
      >>> rewritten("import jax.numpy as jnp, numpy\\n")[0]
      'import rabbet.numpy as jnp, numpy\\n'
    """
    import libcst

    left: list[str] = []

    def dotted(node: Any) -> str:
        return node.value if isinstance(node, libcst.Name) else f"{dotted(node.value)}.{node.attr.value}"

    def ours(name: str) -> bool:
        return look_up(name).state in (HERE, DIFFERS)

    def of_rabbet(name: str) -> Any:
        return libcst.parse_expression("rabbet" + name[len("jax") :])

    def home_of(module: str, name: str) -> str | None:
        """The module of JAX from which to import a name, to read Rabbet's; None where it is not here."""
        full = f"{module}.{name}"
        if module == "jax._src" or module.startswith("jax._src."):  # private: where the name is public
            full = public_name(full) or ""
        home, _, last = full.rpartition(".")
        return home if home and last == name and ours(full) else None

    class Imports(libcst.CSTTransformer):
        def leave_Import(self, original_node: Any, updated_node: Any) -> Any:
            names: list[Any] = []
            for alias in updated_node.names:
                name = dotted(alias.name)
                if name != "jax" and not name.startswith("jax."):
                    names.append(alias)
                elif not ours(name):
                    left.append(f"import {name}: {look_up(name).where}")
                    names.append(alias)
                elif alias.asname is None:  # it binds the name `jax`
                    if any(known.evaluated_alias == "jax" for known in names):
                        continue  # `import jax, jax.numpy`
                    bound = libcst.AsName(
                        libcst.Name("jax"), libcst.SimpleWhitespace(" "), libcst.SimpleWhitespace(" ")
                    )
                    names.append(alias.with_changes(name=libcst.Name("rabbet"), asname=bound))
                else:
                    names.append(alias.with_changes(name=of_rabbet(name)))
            names[-1] = names[-1].with_changes(comma=libcst.MaybeSentinel.DEFAULT)
            return updated_node.with_changes(names=names)

        def leave_ImportFrom(self, original_node: Any, updated_node: Any) -> Any:
            if updated_node.module is None or updated_node.relative:
                return updated_node
            module = dotted(updated_node.module)
            if module != "jax" and not module.startswith("jax."):
                return updated_node
            if isinstance(updated_node.names, libcst.ImportStar):
                if ours(module):
                    return updated_node.with_changes(module=of_rabbet(module))
                left.append(f"from {module} import *: {look_up(module).where}")
                return updated_node
            groups: dict[str | None, list[Any]] = {}
            for alias in updated_node.names:
                home = home_of(module, dotted(alias.name))
                groups.setdefault(home, []).append(alias)
                if home is None:
                    name = f"{module}.{dotted(alias.name)}"
                    left.append(f"from {module}: {name}: {look_up(name).where}")
            if len(groups) == 1:
                (home,) = groups
                return updated_node if home is None else updated_node.with_changes(module=of_rabbet(home))
            parts = []
            for home, names in groups.items():
                space = getattr(names[-1].comma, "whitespace_after", None)
                if not isinstance(space, libcst.ParenthesizedWhitespace):  # which may have a comment
                    names[-1] = names[-1].with_changes(comma=libcst.MaybeSentinel.DEFAULT)
                place = updated_node.module if home is None else of_rabbet(home)
                parts.append(updated_node.with_changes(module=place, names=names))
            return libcst.FlattenSentinel(parts)

        def leave_SimpleStatementLine(self, original_node: Any, updated_node: Any) -> Any:
            if len(original_node.body) > 1 or len(updated_node.body) == 1:
                return updated_node
            alone = libcst.MaybeSentinel.DEFAULT
            *first, last = [part.with_changes(semicolon=alone) for part in updated_node.body]
            plain = updated_node.with_changes(
                leading_lines=(), trailing_whitespace=libcst.TrailingWhitespace(), body=[last]
            )
            lines = [plain.with_changes(body=[one]) for one in first]
            lines[0] = lines[0].with_changes(leading_lines=updated_node.leading_lines)
            return libcst.FlattenSentinel(
                [*lines, plain.with_changes(trailing_whitespace=updated_node.trailing_whitespace)]
            )

        def visit_Call(self, node: Any) -> None:
            called = getattr(node.func, "attr", node.func)
            if getattr(called, "value", None) not in BY_TEXT or not node.args:
                return
            given = node.args[0].value
            name = given.evaluated_value if isinstance(given, libcst.SimpleString) else None
            if isinstance(name, str) and name.partition(".")[0] == "jax":
                left.append(f"{called.value}({given.value}): a name in a text is not changed")

    if isinstance(text, bytes):
        return libcst.parse_module(text).visit(Imports()).bytes, left
    return libcst.parse_module(text).visit(Imports()).code, left


class Change(NamedTuple):
    """What becomes of one file."""

    path: Path
    before: bytes
    after: bytes
    left: list[str]
    """Imports, and names used below them, that Rabbet alone does not have."""

    def difference(self) -> str:
        """A unified diff."""
        before, after = (
            text.decode("utf-8", errors="replace").splitlines(keepends=True)
            for text in (self.before, self.after)
        )
        return "".join(difflib.unified_diff(before, after, str(self.path), str(self.path)))


def changes(path: Path) -> tuple[list[Change], list[str]]:
    """What becomes of the files of a project that use JAX, and which files could not be read."""
    made, unread = [], []
    for file in reading_projects.project_files(path):
        try:
            before = file.read_bytes()
            reading_projects.parsed(before)
            after, left = rewritten(before)
        except Exception as error:
            unread.append(f"{file}: {error}")
            continue
        left = [*left, *used_below(file)]
        if after != before or left:
            made.append(Change(file, before, after, left))
    return made, unread


def used_below(file: Path) -> list[str]:
    """Names reached by attributes, as ``jax.extend.core.Primitive``, that Rabbet alone does not have."""
    uses, _, _ = reading_projects.read(file)
    imported = {use for use in uses if use.imported}
    found = reading_projects.look_up_all([use for use in uses if use not in imported])
    return [
        f"line {use.line}: {name}: {state.where}"
        for name, (state, places) in found.items()
        if state.state not in (HERE, DIFFERS, reading_projects.GUARDED)
        for use in places[:1]
    ]
