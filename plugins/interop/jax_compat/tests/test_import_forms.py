"""``rabbet check --rewrite``: each form in which a program can import, and what is left to the user."""

import argparse
import json
import subprocess
import sys

import pytest
from rabbet_jax import check_command
from rabbet_jax.rewriting import rewritten

pytest.importorskip("libcst")

FORMS = [
    ("import jax", "import rabbet as jax"),
    ("import jax as j", "import rabbet as j"),
    ("import jax, numpy", "import rabbet as jax, numpy"),
    ("import numpy, jax", "import numpy, rabbet as jax"),
    ("import jax.numpy", "import rabbet as jax"),
    ("import jax, jax.numpy", "import rabbet as jax"),
    ("import jax as j, jax.numpy", "import rabbet as j, rabbet as jax"),
    ("import rabbet, jax", "import rabbet, rabbet as jax"),
    ("import jax.numpy as jnp, jax.lax, os as o", "import rabbet.numpy as jnp, rabbet as jax, os as o"),
    ("from jax import numpy as jnp, lax", "from rabbet import numpy as jnp, lax"),
    ("from jax import (  # ours\n    jit,\n    vmap,  # two\n)",
     "from rabbet import (  # ours\n    jit,\n    vmap,  # two\n)"),
    ("from jax.experimental import pallas as pl", "from rabbet.experimental import pallas as pl"),
    ("from jax.numpy import *", "from rabbet.numpy import *"),
    ("from jax._src.flatten_util import ravel_pytree", "from rabbet.flatten_util import ravel_pytree"),
    ("def f():\n    from jax import lax; import jax\n    return lax",
     "def f():\n    from rabbet import lax; import rabbet as jax\n    return lax"),
    ("if TYPE_CHECKING:\n\tfrom jax import Array", "if TYPE_CHECKING:\n\tfrom rabbet import Array"),
    ("try:\n    import jax\nexcept ImportError:\n    jax = None",
     "try:\n    import rabbet as jax\nexcept ImportError:\n    jax = None"),
    ("from .jax import jit\nfrom . import jax\nimport jaxtyping, optax.jax", None),
    ('"""\n>>> import jax\n"""\nx: "jax.Array" = "import jax"  # import jax', None),
]  # fmt: skip


def check(capsys, *arguments):
    parser = argparse.ArgumentParser()
    check_command.add_arguments(parser)
    status = check_command.run(parser.parse_args(list(map(str, arguments))))
    return status, capsys.readouterr()


@pytest.mark.parametrize(("before", "after"), FORMS, ids=[form[0].splitlines()[0] for form in FORMS])
def test_forms(before, after):
    assert rewritten(before + "\n") == ((after or before) + "\n", [])


def test_what_is_not_here_is_left_and_the_rest_of_its_line_is_not():
    lines = "# first\nfrom jax import jit, no_such_thing, vmap as v  # behind\nif x: from jax import a, lax\n"
    text, left = rewritten(lines)
    assert text == (
        "# first\nfrom rabbet import jit, vmap as v\nfrom jax import no_such_thing  # behind\n"
        "if x: from jax import a; from rabbet import lax\n"
    )
    assert len(left) == 2 and "jax.no_such_thing" in left[0]
    text, left = rewritten("from jax import (\n    jit,  # one\n    no_such_thing,  # two\n)\n")
    assert text == (
        "from rabbet import (\n    jit,  # one\n    )\nfrom jax import (\n    no_such_thing,  # two\n)\n"
    )
    text, left = rewritten("import jax.no_such_module, jax.numpy as jnp\n")
    assert text == "import jax.no_such_module, rabbet.numpy as jnp\n" and len(left) == 1
    text, left = rewritten("import importlib\nimportlib.import_module('jax.numpy')\n__import__('os')\n")
    assert "import_module('jax.numpy')" in text and len(left) == 1


def test_bytes_stay_what_they_are(tmp_path, capsys):
    file = tmp_path / "windows.py"
    file.write_bytes("# -*- coding: latin-1 -*-\r\nimport jax\r\nname = 'é'\r\n".encode("latin-1"))
    assert check(capsys, file, "--rewrite", "--apply")[0] == 0
    assert file.read_bytes() == (
        "# -*- coding: latin-1 -*-\r\nimport rabbet as jax\r\nname = 'é'\r\n".encode("latin-1")
    )


def test_names_below_the_imports_that_rabbet_alone_does_not_have_are_told(tmp_path, capsys):
    program = "import jax\nprint(jax.extend.core.Primitive, jax.no_such, jax.numpy.sin)\n"
    (tmp_path / "one.py").write_text(program)
    (tmp_path / "two.py").write_text("def (:\n")
    (tmp_path / "three.py").write_text("x = 1\n")
    status, said = check(capsys, tmp_path, "--rewrite")
    assert status == 1 and "jax.no_such" in said.err and "jax.extend.core.Primitive" in said.err
    assert "not read" in said.err and "two.py" in said.err
    assert said.out.splitlines()[-1] == "1 files would change; --apply changes them; 2 names are left to you"
    status, said = check(capsys, tmp_path, "--rewrite", "--json")
    found = json.loads(said.out)
    assert status == 1 and [f["path"].endswith("one.py") for f in found["files"]] == [True]
    assert len(found["files"][0]["left"]) == 2 and "+import rabbet as jax" in found["files"][0]["diff"]
    assert not found["applied"] and len(found["unread"]) == 1
    assert (tmp_path / "one.py").read_text() == program


def test_exit_statuses(tmp_path, capsys):
    (tmp_path / "good.py").write_text("import jax\njax.numpy.sin(1.0)\n")
    assert check(capsys, tmp_path, "--rewrite")[0] == 0
    assert check(capsys, tmp_path, "--rewrite", "--all")[0] == check(capsys, tmp_path, "--apply")[0] == 2
    assert check(capsys, tmp_path, "--rewrite", "--apply", "--json")[0] == 0
    assert check(capsys, tmp_path, "--rewrite", "--apply")[0] == 0  # nothing more to do
    (tmp_path / "good.py").write_text("def (:\n")
    assert check(capsys, tmp_path, "--rewrite")[0] == 2


@pytest.mark.needs("numpy")
def test_a_star_import_of_what_was_rewritten_runs(tmp_path):
    file = tmp_path / "stars.py"
    lines = "from jax.numpy import *\nfrom jax.lax import *\nprint(float(sin(0.0)), add(1, 2))\n"
    file.write_text(rewritten(lines)[0])
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.stdout == "0.0 3\n", done.stderr
