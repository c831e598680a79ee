"""The landing page and the gallery: figures are those that were measured, pictures and programs are there."""

import ast
import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LANDING = (DOCS / "index.md").read_text()
GALLERY = (DOCS / "gallery.md").read_text()
PROGRAMS = sorted((ROOT / "examples" / "gallery").glob("*.py"))

# The rows of the landing page, and the rows of docs/benchmarks.md that they are.
MEASURED = {
    "importing it": ("gpt_step.py 12", "import_s"),
    "tracing and lowering a transformer of 12 layers": ("gpt_step.py 12", "trace_lower_s"),
    "compiling it": ("gpt_step.py 12", "compile_s"),
    "one training step of it": ("gpt_step.py 12", "step_ms_min"),
    "a step of a multilayer perceptron": ("mlp.py", "step_ms_min"),
    "a step of a convolutional network": ("convnet.py", "step_ms_min"),
    "a step of an LSTM": ("lstm.py", "step_ms_min"),
    "the first step in a second process": ("gpt_step.py 12, warm", "first_step_s"),
    "calling a compiled function of two arguments": ("micro.py", "jit_2_args"),
    "calling one over two devices": ("parallel.py dispatch", "jit_2_us"),
}


def rows(text):
    """The cells of every row of the tables of a page."""
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_the_figures_are_those_of_the_benchmarks():
    """After a new report, put its figures into the table of docs/index.md too."""
    benchmarks = (DOCS / "benchmarks.md").read_text()
    measured = {tuple(row[:2]): row[2:4] for row in rows(benchmarks) if len(row) > 4}
    table = LANDING.split("measured on a CPU:")[1].split("\n## ")[0]
    shown = {row[0]: row[1:] for row in rows(table) if row[0]}
    assert shown.keys() == MEASURED.keys()
    assert shown == {name: measured[key] for name, key in MEASURED.items()}


def test_every_page_is_in_the_navigation():
    """But single decisions, which their index lists."""
    navigation = set(re.findall(r": ([\w/.-]+\.md)", (ROOT / "mkdocs.yml").read_text()))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    decisions = {page for page in pages if page.startswith("decisions/0")}
    assert pages - decisions - navigation == set()
    index = (DOCS / "decisions" / "index.md").read_text()
    assert [page for page in decisions if f"({page.removeprefix('decisions/')})" not in index] == []


@pytest.mark.parametrize("page", ["index.md", "gallery.md"])
def test_pictures_and_files_are_there(page):
    text = (DOCS / page).read_text()
    pictures = re.findall(r"\((assets/[^)]+)\)", text)
    assert len(pictures) >= 3
    assert [name for name in pictures if not (DOCS / name).is_file()] == []
    assert [name for name in re.findall(r'--8<-- "([^"]+)"', text) if not (ROOT / name).is_file()] == []


def test_the_gallery_has_every_program():
    """Each with the sentence that it begins with, its time beside JAX, and the program itself."""
    readme = {row[0]: row[3] for row in rows((ROOT / "examples" / "gallery" / "README.md").read_text())}
    told = {row[1]: row[2] for row in rows(GALLERY) if len(row) == 3}
    for path in PROGRAMS:
        sentence = ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]
        assert told.get(sentence) == readme[path.stem], path.stem
        assert f'--8<-- "examples/gallery/{path.name}"' in GALLERY


def test_what_was_copied_is_the_same():
    copy = DOCS / "assets" / "gallery" / "timeline.svg"
    assert copy.read_bytes() == (ROOT / "examples" / "elastic" / "timeline.svg").read_bytes()


@pytest.mark.needs("cpu", "jit", "grad", "vmap", "numpy")
def test_the_pictures_are_drawn():
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    assert {f"{draw.__name__}.png" for draw in pictures.PICTURES} <= set(re.findall(r"\w+\.png", GALLERY))
    drawn = pictures.mandelbrot(8, 6)
    assert drawn.shape == (6, 8, 3) and 0 <= drawn.min() < drawn.max() <= 1
    assert pictures.png(drawn)[:8] == (DOCS / "assets/gallery/mandelbrot.png").read_bytes()[:8]
