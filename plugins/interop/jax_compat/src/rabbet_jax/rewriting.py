"""Imports of JAX become imports of Rabbet: by LibCST, which leaves everything else of a file as it is."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from rabbet_jax.reading_projects import DIFFERS, HERE, look_up, public_name


def rewritten(text: str) -> tuple[str, list[str]]:
    """The text of a file with its imports changed, and those that were left with the reason.

    ``import jax`` becomes ``import rabbet as jax``, so that every ``jax.x`` below it stays as it is.

    Raises:
      ModuleNotFoundError: without libcst.
      libcst.ParserSyntaxError: for what is no Python.

    Example:
      >>> from rabbet_jax.rewriting import rewritten
      >>> rewritten("import jax.numpy as jnp\\n")[0]
      'import rabbet.numpy as jnp\\n'
    """
    import libcst

    left: list[str] = []

    def dotted(node: Any) -> str:
        return node.value if isinstance(node, libcst.Name) else f"{dotted(node.value)}.{node.attr.value}"

    def ours(name: str) -> bool:
        return look_up(name).state in (HERE, DIFFERS)

    def of_rabbet(name: str) -> Any:
        return libcst.parse_expression("rabbet" + name[len("jax") :])

    class Imports(libcst.CSTTransformer):
        def leave_Import(self, original_node: Any, updated_node: Any) -> Any:
            names = []
            for alias in updated_node.names:
                name = dotted(alias.name)
                if name != "jax" and not name.startswith("jax."):
                    names.append(alias)
                elif not ours(name):
                    left.append(f"import {name}: {look_up(name).where}")
                    names.append(alias)
                elif alias.asname is None:  # it binds the name `jax`
                    bound = libcst.AsName(
                        libcst.Name("jax"), libcst.SimpleWhitespace(" "), libcst.SimpleWhitespace(" ")
                    )
                    names.append(alias.with_changes(name=libcst.Name("rabbet"), asname=bound))
                else:
                    names.append(alias.with_changes(name=of_rabbet(name)))
            return updated_node.with_changes(names=names)

        def leave_ImportFrom(self, original_node: Any, updated_node: Any) -> Any:
            if updated_node.module is None or updated_node.relative:
                return updated_node
            module = dotted(updated_node.module)
            if module != "jax" and not module.startswith("jax."):
                return updated_node
            names = [] if isinstance(updated_node.names, libcst.ImportStar) else updated_node.names
            if module.startswith("jax._src."):  # private: from where the same names are public, if they are
                public = [public_name(f"{module}.{dotted(a.name)}") or "" for a in names]
                homes = {name.rpartition(".")[0] for name in public}
                if len(homes) == 1 and "" not in homes:
                    return updated_node.with_changes(module=of_rabbet(homes.pop()))
            missing = [n for n in (f"{module}.{dotted(a.name)}" for a in names) if not ours(n)]
            if missing or not ours(module):
                left.extend(f"from {module}: {n}: {look_up(n).where}" for n in missing or [module])
                return updated_node
            return updated_node.with_changes(module=of_rabbet(module))

    return libcst.parse_module(text).visit(Imports()).code, left


def difference(path: Path, before: str, after: str) -> str:
    """A unified diff of one file."""
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, str(path), str(path)))
