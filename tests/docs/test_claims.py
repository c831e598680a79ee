"""What several pages say of the project is the same on all of them, and is what the code says."""

import pathlib
import re
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.name != "changes.md")
PAGES += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
PAGES += sorted(ROOT.glob("plugins/*/*/README.md")) + sorted(ROOT.glob("pjrt_*/README.md"))
NUMBERS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()

OF_OTHERS = {"tests/main"}  # folders of other projects


def text(name):
    return (ROOT / name).read_text()


def test_files_that_pages_name_exist():
    """A path in backticks is a file or folder here. Tutorials for plugins have files of their own."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [f"/{name}" for name in listed.stdout.split()]
    if not files:
        pytest.skip("this is no clone")
    folders = "core|plugins|pjrt_\\w+|docs|tests|tools|examples|benchmarks|runtime|lowering"
    kept = re.compile(rf"`((?:{folders})/[\w./-]+)")
    missing = []
    for page in PAGES:
        for path in kept.findall(page.read_text()):
            begin, dots, end = path.partition("...")
            wanted = path.rstrip("/.")
            if path in OF_OTHERS:
                continue
            if dots:
                there = any(f.startswith(f"/{begin}") and f.endswith(end) for f in files)
            else:
                there = any(f"/{wanted}" == f[-len(wanted) - 1 :] or f"/{wanted}/" in f for f in files)
            if not there:
                missing.append(f"{page.relative_to(ROOT)}: {path}")
    assert not missing, "\n".join(missing)


def test_the_extras_are_those_of_the_distribution():
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    sentence = re.search(r"has the extras (.*?)\.\n", text("README.md"), re.DOTALL)[1]
    assert set(re.findall(r"`([\w-]+)`", sentence)) == set(extras)
    assert set(re.findall(r"`rabbet\[([\w-]+)\]`", text("docs/installing.md"))) == set(extras)


def test_the_versions_of_jaxlib_are_those_that_the_core_requires():
    required = tomllib.loads(text("core/pyproject.toml"))["project"]["dependencies"]
    (jaxlib,) = [line for line in required if line.startswith("jaxlib")]
    least, below = re.search(r">=([\d.]+),<([\d.]+)", jaxlib.replace(" ", "")).groups()
    assert f"jaxlib {least} up to, and not including, {below}" in text("docs/installing.md")


def test_the_number_of_doors():
    from rabbet.extend import DOORS

    word = NUMBERS[len(DOORS) - 10]
    design = text("docs/design.md")
    assert f"`rabbet.extend` is {word} modules" in design
    assert f"there are {word} today" in text("docs/decisions/0013-a-door-for-libraries.md")
    assert all(f"`{door}`" in design for door in DOORS)
    assert all(f"`rabbet.extend.{door}`" in text("docs/extend.md") for door in DOORS)


def test_the_number_of_functions_that_are_called():
    """`lax.rng_uniform` is left out where a call is compared with another call of it."""
    lines = text("tests/parity/generated_calls.txt").splitlines()
    names, module = set(), ""
    for line in (line.partition("#")[0].strip() for line in lines):
        if line.startswith("["):
            module = line
        elif line:
            names |= {(module, name) for name in line.partition(": ")[0].rstrip(":").split()}
    pages = text("docs/reliability.md") + text("docs/coming-from-jax.md")
    said = re.findall(r"(?:each of|calls) (\d+) functions", pages)
    assert len(said) >= 4
    assert set(map(int, said)) == {len(names), len(names) - 1}


def test_pages_that_speak_of_gpus_agree():
    for page in ("docs/faq.md", "docs/howto/gpu.md", "docs/platforms.md", "pjrt_cuda/README.md"):
        assert re.search(r"(an|one) H100 and (an|one) H200", text(page)), page
    for page in ("docs/faq.md", "docs/platforms.md", "pjrt_tpu/README.md"):
        assert re.search(r"(none (has\s+been|was)|not yet) run on a TPU", text(page)), page


def test_environments_are_those_of_tox():
    listed = re.search(r"^env_list =\n((?:    .*\n)+)", text("tox.ini"), re.MULTILINE)[1].split()
    names = {one for line in listed for one in (["aot-tpu", "aot-cuda"] if "{" in line else [line])}
    table = text("CONTRIBUTING.md").partition("| environment |")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines() for name in re.findall(r"`([\w-]+)`", row.partition(" | ")[0])}
    assert names == told


def commands():
    """`(page, words)` of each command line `rabbet ...` in a block of code."""
    for page in PAGES:
        for block in re.findall(
            r"^```(?:console|bash|)\n(.*?)^```|((?:^    .*\n)+)", page.read_text(), re.M | re.S
        ):
            for line in "".join(block).replace("\\\n", " ").splitlines():
                words = line.partition("#")[0].replace("$ ", "").split()
                if words and words[0].rpartition("/")[2] == "rabbet":
                    yield page.relative_to(ROOT), words[1:]


def test_commands_that_pages_show_exist():
    known = set()
    for file in ROOT.glob("plugins/*/*/pyproject.toml"):
        groups = tomllib.loads(file.read_text())["project"].get("entry-points", {})
        known |= set(groups.get("rabbet.commands", {}))
    sources = "".join(file.read_text() for file in ROOT.glob("plugins/*/*/src/**/*.py"))
    told = list(commands())
    assert len(told) > 20
    wrong = [f"{page}: rabbet {' '.join(words)}" for page, words in told if words[0] not in known]
    for page, words in told:
        if words[0] not in ("run-jax", "launch"):  # what follows there may be the program's
            options = [word for word in words if word.startswith("--") and f'"{word}"' not in sources]
            wrong += [f"{page}: {words[0]} {option}" for option in options]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_that_is_not_run_can_be_read(page):
    """Blocks marked `py` are parts of programs, or are run elsewhere (tutorials, several processes)."""
    for block in re.findall(r"^```py\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        compile(block.replace("\n...\n", "\n"), str(page), "exec")
