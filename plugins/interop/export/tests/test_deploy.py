"""``examples/deploy``: the program computes the same where neither Rabbet nor JAX is, by jaxlib and by a PJRT
plugin from C.
"""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

DEPLOY = pathlib.Path(__file__).resolve().parents[4] / "examples" / "deploy"
X = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
# A loader that cannot have used Rabbet or JAX: they are not to be had.
ALONE = (
    "import runpy, sys; sys.modules.update(rabbet=None, jax=None); sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


def printed(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.replace("[", " ").replace("]", " ").split(), float).reshape(4, 2)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder that ``write.py`` filled, and what the function computes."""
    pytest.importorskip("rabbet.numpy")
    pytest.importorskip("rabbet.nn")
    folder = tmp_path_factory.mktemp("deploy")
    spec = importlib.util.spec_from_file_location("deploy_write", DEPLOY / "write.py")
    write = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(write)
    write.main(folder)
    return folder, np.asarray(write.predict(X))


def test_by_jaxlib(written):
    folder, wanted = written
    found = printed(sys.executable, "-c", ALONE, DEPLOY / "load.py", folder / "predict.stablehlo")
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_by_c(written, tmp_path):
    package = importlib.util.find_spec("xla_plugins")
    compiler = shutil.which("cc")
    if package is None or compiler is None:
        pytest.skip("needs a C compiler and the package xla-cpu-pjrt: the environment `capi` has it")
    place = pathlib.Path(next(iter(package.submodule_search_locations))) / "xla_cpu_pjrt"
    command = [compiler, "-std=c11", "-Wall", "-Werror", "-I", place / "include", DEPLOY / "load.c", "-ldl"]
    done = subprocess.run(
        [*map(str, command), "-o", str(tmp_path / "load")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    folder, wanted = written
    plugin = place / "xla_cpu_pjrt.so"
    found = printed(tmp_path / "load", plugin, folder / "predict.stablehlo")
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    refused = subprocess.run(
        [tmp_path / "load", plugin, DEPLOY / "README.md"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1 and "Client_Compile: " in refused.stderr
