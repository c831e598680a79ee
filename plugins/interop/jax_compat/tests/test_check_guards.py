"""``rabbet check``: names that may be missing, that JAX has no more, and private ones with a public name."""

import os
import subprocess
import sys

import pytest
from rabbet_jax import reading_projects
from rabbet_jax.reading_projects import look_up


def states(tmp_path, text):
    """The state of each name that a module uses."""
    (tmp_path / "model.py").write_text(text)
    uses, _, unread = reading_projects.read(tmp_path)
    assert unread == []
    return {name: found.state for name, (found, _) in reading_projects.look_up_all(uses).items()}


GUARDS = {
    "try": "try:\n  from jax import gone\nexcept ImportError:\n  gone = None\nprint(gone.more)",
    "several errors": "try:\n  jax.gone.more\nexcept (AttributeError, KeyError):\n  pass",
    "any error": "try:\n  jax.gone.more\nexcept:\n  pass",
    "another way": "try:\n  jax.sin\nexcept AttributeError:\n  jax.gone.more",
    "hasattr": "if hasattr(jax, 'gone'):\n  jax.gone.more",
    "version": "if jax.__version_info__ < (0, 5):\n  jax.gone.more\nelse:\n  jax.jit",
    "expression": "x = jax.gone.more if JAX_VERSION < 3 else jax.jit",
    "types": "if TYPE_CHECKING:\n  from jax import gone\ndef f(x: gone.more): pass",
}


@pytest.mark.parametrize("guard", GUARDS)
def test_what_may_be_missing_is_no_fault(tmp_path, guard):
    found = states(tmp_path, f"import jax\n{GUARDS[guard]}\n")
    assert found["jax.gone.more"] == "guarded"
    assert "absent" not in found.values()


OTHERS = {
    "no handler for it": "try:\n  jax.gone.more\nexcept ValueError:\n  pass",
    "another condition": "if x > 1:\n  jax.gone.more",
    "beside it": "try:\n  jax.gone.more\nexcept AttributeError:\n  pass\njax.gone.more",
    "behind it": "try:\n  pass\nfinally:\n  jax.gone.more",
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_must_be_there_is_absent(tmp_path, case):
    assert states(tmp_path, f"import jax\n{OTHERS[case]}\n")["jax.gone.more"] == "absent"


def test_what_jax_has_no_longer_says_so():
    found = look_up("jax.linear_util.wrap_init")
    assert found.state == "absent" and "jax.extend.linear_util" in found.where
    assert "either" not in look_up("jax.linear_utility").where


def test_stand_ins_are_no_absent_names():
    for name in ("jax.extend.core.primitives.get_p", "jax.custom_derivatives.custom_jvp_call_p"):
        found = look_up(name)
        assert found.state == "served" and "raises when it is called" in found.where


def test_private_names_that_are_public_elsewhere(tmp_path):
    pytest.importorskip("libcst")
    from rabbet_jax.rewriting import rewritten

    where = look_up("jax._src.flatten_util.ravel_pytree").where
    assert "jax.flatten_util.ravel_pytree" in where or where == "served by rabbet_jax"
    assert reading_projects.public_name("jax._src.api.jit") == "jax.jit"
    assert reading_projects.public_name("jax._src.config.enable_x64") is None
    text = "from jax._src.flatten_util import ravel_pytree as r\nfrom jax._src.core import Trace\n"
    after, left = rewritten(text)
    assert after.splitlines()[0] == "from rabbet.flatten_util import ravel_pytree as r"
    assert after.splitlines()[1] == "from jax._src.core import Trace" and len(left) == 1


def test_a_file_that_cannot_be_parsed_is_told(tmp_path):
    (tmp_path / "deep.py").write_text("x = " + "(" * 300 + ")" * 300)
    (tmp_path / "old.py").write_bytes(b"\xff\xfe\x00")
    _, _, unread = reading_projects.read(tmp_path)
    assert len(unread) == 2


def test_odd_escapes_in_somebodys_text_are_not_told(tmp_path, recwarn):
    (tmp_path / "model.py").write_text('import jax\nx = "\\g"\n')
    reading_projects.read(tmp_path)
    assert not recwarn.list


def test_doors_for_packages_are_not_those_of_jax():
    for name in ("jax.extend", "jax.extend.backend", "jax.extend.core.Primitive"):
        assert look_up(name).state == "served"


def test_jax_says_where_what_serves_it_lies():
    code = "import rabbet_jax; rabbet_jax.install(); import jax; print(jax.__file__)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip().endswith(os.path.join("rabbet_jax", "overlay", "__init__.py"))
