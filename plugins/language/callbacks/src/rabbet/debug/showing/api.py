"""What ``show`` does, and the ``Page`` that it returns."""

from __future__ import annotations

import pathlib
import re
import tempfile
from collections.abc import Callable
from html import escape
from typing import Any

import rabbet as rb
from rabbet import config, tree
from rabbet.debug.showing import page, stages
from rabbet.debug.showing.costs import Counter, peak_of
from rabbet.extend.backend import jaxlib_version
from rabbet.extend.functions import describe_function, describe_value
from rabbet.extend.passes import consts_as_inputs

KINDS = ("argument", "output", "temp", "peak")


class Page:
    """A page about a program. Notebooks show it; ``open()`` shows it in a browser.

    Attributes:
      path: the file that it was written to.
      html: its text, which needs nothing besides.

    Example:
      >>> page = rb.debug.show(rb.jit(lambda x: 2 * x), 1.0)
      >>> page.path.read_text(encoding="utf-8") == page.html
      True
    """

    def __init__(self, html: str, path: pathlib.Path):
        self.html, self.path = html, path

    def open(self) -> None:
        """Show it in the default browser."""
        import webbrowser

        webbrowser.open(self.path.absolute().as_uri())

    def _repr_html_(self) -> str:
        frame = "width:100%;height:85vh;border:none"
        return f'<iframe style="{frame}" sandbox="allow-scripts" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"Page({str(self.path)!r})"


def write_page(fun: Callable[..., Any], args: Any, kwargs: Any, file: Any) -> Page:
    """What ``rabbet.debug.show`` does."""
    if not callable(fun):
        raise TypeError(f"debug.show takes a function and its arguments, got {describe_value(fun)}")
    jitted = fun if hasattr(fun, "trace") and hasattr(fun, "lower") else rb.jit(fun)
    with config.override(cache=False):
        traced = jitted.trace(*args, **kwargs)
        lowered = traced.lower()
        name, platform = traced.fun_name, rb.default_backend()
        found = [
            stages.traced_stage(traced.jaxpr),
            stages.passed_stage(traced.jaxpr, platform),
            stages.stablehlo_stage(lowered),
            stages.hlo_stage(lowered),
        ]
        last, compiled = stages.compiled_stage(lowered)
        counter = Counter(platform)
        program = consts_as_inputs(traced.jaxpr)
        counter.count(program)
    peak = peak_of(program)
    facts = [
        ("function", describe_function(fun)),
        ("arguments", ", ".join([a.str_short() for a in tree.leaves(traced.in_avals)]) or "none"),
        ("results", ", ".join([a.str_short() for a in tree.leaves(traced.out_avals)]) or "none"),
        ("platform", f"{platform}, jaxlib {jaxlib_version()}"),
        ("values at once, before fusion", f"{page.amount(peak.size)}B"),
        *of_compiled(compiled),
    ]
    html = page.document(name, facts, counter.lines, [*found, last], peak)
    path = new_file(name) if file is None else pathlib.Path(file)
    path.write_text(html, encoding="utf-8")
    return Page(html, path)


def of_compiled(compiled):
    """Facts about the compiled program."""
    if compiled is None:
        return []
    costs, sizes = compiled.cost_analysis() or {}, compiled.memory
    named = [("operations, compiled", "flops", ""), ("bytes touched, compiled", "bytes accessed", "B")]
    facts = [(label, page.amount(costs[key]) + unit) for label, key, unit in named if key in costs]
    memory = ", ".join([f"{kind} {page.amount(sizes[kind])}B" for kind in KINDS if kind in sizes])
    return [*facts, ("memory, compiled", memory or "not known")]


def new_file(name):
    """A file for a function's page in a folder of its own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rabbet-"))
    return folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', name) or 'program'}.html"


__all__ = ["Page", "write_page"]
