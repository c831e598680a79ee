"""Made-up packages, really installed."""

import os
import subprocess
import sys
import textwrap

import pytest


class Environment:
    """A folder of made-up packages, and Pythons that see it."""

    def __init__(self, folder):
        self.folder = folder
        self.site = folder / "site"
        self.site.mkdir()

    def install(self, name, source, entry_points, requires="rabbet-core>=0.1"):
        """Put the distribution ``name`` and its one module there."""
        module = name.replace("-", "_")
        (self.site / f"{module}.py").write_text(textwrap.dedent(source))
        info = self.site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n"
        )
        (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))

    def python(self, *arguments, **env):
        """Run a Python that sees the packages; ``env`` sets variables."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("RABBET_")}
        path = os.pathsep.join([str(self.site), *filter(None, [os.environ.get("PYTHONPATH")])])
        own |= {"PYTHONPATH": path, "XDG_CACHE_HOME": str(self.folder / "cache"), **env}
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=own)

    def run(self, code, **env):
        """The output of a program that must succeed."""
        done = self.python("-c", textwrap.dedent(code), **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def doctor(self, **env):
        return self.python("-m", "rabbet", "doctor", **env)


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path)
