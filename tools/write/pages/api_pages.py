"""The pages of the API reference: one for each public module, one for each of its names.

They are made while MkDocs builds the site (`hooks` in mkdocs.yml), so they cannot differ from
the code.
"""

import inspect
import itertools
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import badges
import docstrings
import public_names
import typed
from public_names import Name

LINE = 100
# What a search for a bare name should find first.
BOOSTS = {"rabbet": 2.5, "rabbet.numpy": 1.5, "rabbet.random": 1.5, "rabbet.lax": 1.2}
# Names of settings begin with "numpy", too.
MODULE_BOOSTS = {"rabbet.numpy": 12, "rabbet.lax": 6, "rabbet.random": 6}
# Pages that need the room of what else stands beside a page, for tables of many columns.
WHOLE = ["navigation", "toc"]
HIDDEN = {
    "benchmarks.md": ["toc"], "plans.md": ["toc"], "coming-from-jax.md": ["toc"], "closure.md": WHOLE,
    "promotion.md": WHOLE,
}  # fmt: skip
# Modules of few names each: they are reached from the page of the module that they lie in.
NOT_IN_NAVIGATION = ("rabbet.scipy.stats.", "rabbet.extend.")


def shown_parameter(name: Name, parameter: inspect.Parameter) -> str:
    """``axis=None`` or ``x: ArrayLike``."""
    prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = prefix + parameter.name
    kind = typed.type_of(name.module, name.name, parameter.name, parameter.annotation)
    if kind:
        text += f": {kind}"
    if parameter.default is not parameter.empty:
        default = parameter.default
        value = default.__name__ if isinstance(default, type) else repr(default)
        value = "..." if " at 0x" in value or len(value) > 60 else value
        text += f" = {value}" if kind else f"={value}"
    return text


def signature(name: Name) -> str:
    """The call as it is written, a parameter a line where one line would be too long."""
    try:
        found = inspect.signature(name.thing)
    except (TypeError, ValueError):
        return name.full
    shown: list[str] = []
    # JAX's own, which is there for programs that give it.
    parameters = [p for p in found.parameters.values() if not p.name.startswith("_")]
    kinds = [p.kind for p in parameters]
    for index, parameter in enumerate(parameters):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in "".join(s[:1] for s in shown):
            shown.append("*")
        shown.append(shown_parameter(name, parameter))
        last = index + 1 == len(kinds) or kinds[index + 1] is not parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.POSITIONAL_ONLY and last:
            shown.append("/")
    kind = typed.type_of(name.module, name.name, "return", found.return_annotation)
    returns = f" -> {kind}" if kind else ""
    line = f"{name.full}({', '.join(shown)}){returns}"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{name.full}(", *(f"    {one}," for one in shown), f"){returns}"])


class Site:
    """All public names and their addresses."""

    def __init__(self) -> None:
        self.modules = public_names.modules()
        self.names = {m: list(public_names.names_of(self.modules[m])) for m in self.modules}
        self.packages = public_names.packages()
        self.known = {name.full for names in self.names.values() for name in names}

    def page_of(self, full: str) -> str:
        """``api/rabbet.numpy/einsum.md``."""
        module, _, name = full.rpartition(".")
        return f"api/{full}/index.md" if full in self.modules else f"api/{module}/{name}.md"

    def address(self, module: str, said: str) -> str | None:
        """What a page in the folder of ``module`` writes to link to ``said``, if that is a public name."""
        bare = re.sub(r"\(.*\)$", "", said)
        short = {"rb": "rabbet", "rnp": "rabbet.numpy", "lax": "rabbet.lax", "nn": "rabbet.nn"}
        first, _, rest = bare.partition(".")
        for full in (f"{module}.{bare}", f"{short.get(first, first)}.{rest}", f"rabbet.{bare}", bare):
            if full in self.known or full in self.modules:
                target = self.page_of(full).removeprefix("api/")
                return (
                    target.removeprefix(f"{module}/") if target.startswith(f"{module}/") else f"../{target}"
                )
        return None

    def name_page(self, name: Name) -> str:
        """The page of one name."""
        package = public_names.package_of(name.full, self.packages)
        own = parameters_of(name.thing) | {name.name}
        link = lambda said: None if said in own else self.address(name.module, said)
        lines = ["---", f"title: {name.full}"]
        lines += ["search:", f"  boost: {BOOSTS.get(name.module, 1)}", "---", "", f"# {name.full}", ""]
        defined = typed.source(name.thing)
        where = f" Source: `{defined}`." if defined else ""
        lines += [f"In [`{name.module}`](index.md), of the package `{package}`.{where}", ""]
        if marks := badges.line(name.module, name.name, name.thing):
            lines += [marks, ""]
        if name.is_callable:
            lines += ["```python", signature(name), "```", ""]
        elif not name.doc:
            lines += ["```python", f"{name.full} = {short_repr(name.thing)}", "```", ""]
        lines += [docstrings.markdown(name.doc, link)] if name.doc else []
        lines += self.members(name)
        return "\n".join(lines)

    def members(self, name: Name) -> Iterator[str]:
        """The public methods and properties of a class of Rabbet's."""
        if not isinstance(name.thing, type) or not name.thing.__module__.startswith("rabbet"):
            return
        found = [one for one in dir(name.thing) if not one.startswith("_")]
        said = [(one, inspect.getdoc(inspect.getattr_static(name.thing, one)) or "") for one in found]
        said = [(one, doc) for one, doc in said if doc]
        if said:
            yield from ("## Methods and attributes", "", "| name | what it is |", "|---|---|")
            for one, doc in said:
                yield f"| `{one}` | {docstrings.summary(doc)} |"
            yield ""

    def module_page(self, module: str) -> str:
        """The page of a module: what it is for, its modules, and a table of its names."""
        doc = inspect.getdoc(self.modules[module]) or ""
        link = lambda said: self.address(module, said)
        boost = MODULE_BOOSTS.get(module, 2)
        lines = ["---", f"title: {module}", "search:", f"  boost: {boost}", "---", "", f"# {module}", ""]
        lines += [docstrings.markdown(doc, link)]
        inner = [one for one in self.modules if one.rpartition(".")[0] == module]
        if inner:
            lines += ["| module | what it is |", "|---|---|"]
            for one in inner:
                said = docstrings.summary(inspect.getdoc(self.modules[one]) or "")
                lines.append(f"| [`{one}`](../{one}/index.md) | {said} |")
            lines.append("")
        if self.names[module]:
            lines += ["| name | what it is |", "|---|---|"]
            for name in self.names[module]:
                said = docstrings.summary(name.doc) if name.doc else f"`{short_repr(name.thing)}`"
                lines.append(f"| [`{name.name}`]({name.name}.md) | {said} |")
            lines.append("")
        return "\n".join(lines)

    def index(self) -> str:
        """The page of all modules."""
        lines = ["# API reference", "", f"{len(self.known)} names in {len(self.modules)} modules.", ""]
        lines += ["Type a name into the search to find its page.", ""]
        lines += ["| module | names | what it is |", "|---|---|---|"]
        for module in self.modules:
            said = docstrings.summary(inspect.getdoc(self.modules[module]) or "")
            lines.append(f"| [`{module}`]({module}/index.md) | {len(self.names[module])} | {said} |")
        return "\n".join([*lines, ""])

    def pages(self) -> dict[str, str]:
        """Every page by its path within the documents."""
        pages = {"api/index.md": self.index()}
        for module, names in self.names.items():
            pages[self.page_of(module)] = self.module_page(module)
            pages.update((self.page_of(name.full), self.name_page(name)) for name in names)
        return pages

    def navigation(self) -> list[dict[str, str]]:
        """What the navigation shows: the modules, without those of many small ones."""
        shown = [m for m in self.modules if not m.startswith(NOT_IN_NAVIGATION)]
        return [{"All modules": "api/index.md"}, *({m: self.page_of(m)} for m in shown)]


def parameters_of(thing: Any) -> set[str]:
    """The names of the parameters: these are not meant where the text says ``axis``."""
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


def short_repr(value: Any) -> str:
    """``repr`` on one line that a table can hold, without addresses of memory."""
    text = re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(value).split())).replace("|", "or")
    return text if len(text) <= 60 else text[:57] + "..."


# --- What MkDocs calls
def on_config(config: Any) -> Any:
    """Put the modules into the navigation, in the place that mkdocs.yml leaves for them; say the version."""
    from rabbet.version import VERSION

    config.copyright = f"Rabbet {VERSION}"
    config.api = Site()
    for entry in config.nav:
        if isinstance(entry, dict) and entry.get("API") == "api/index.md":
            entry["API"] = config.api.navigation()
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    from mkdocs.structure.files import File

    for path, text in config.api.pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_nav(nav: Any, config: Any, files: Any) -> Any:
    """Names follow one another within their module, and have the reference's navigation beside them."""
    overview = files.get_file_from_path("api/index.md").page
    for module, names in config.api.names.items():
        order = [config.api.page_of(one) for one in (module, *(name.full for name in names))]
        pages = [files.get_file_from_path(path).page for path in order]
        for page in pages:
            page.parent = page.parent or overview.parent
        for before, after in itertools.pairwise(pages):
            after.previous_page = before
            if before is not pages[0]:
                before.next_page = after
    return nav


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Give the pages with tables of many columns the width of the columns beside them."""
    if hidden := HIDDEN.get(page.file.src_uri):
        page.meta["hide"] = hidden
    return markdown
