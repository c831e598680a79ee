"""Writes `tests/parity/absent_names.json`: the public names of JAX that are absent, each with the reason.

    python tools/write/absent_names.py                        # of the jax that is installed
    python tools/write/absent_names.py --older .../python     # and of that of another environment
    python tools/write/absent_names.py --check   # whether a name is absent that the list does not have

Reasons stand in `tests/parity/absent_reasons.toml`: a name without one is refused. Names that only an older
jax has are kept in `tests/parity/older_names.json`, which `--older` writes.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

PARITY = pathlib.Path(__file__).resolve().parents[2] / "tests" / "parity"
LIST, REASONS, OLDER = (
    PARITY / name for name in ("absent_names.json", "absent_reasons.toml", "older_names.json")
)


def printed(python, *command):
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [python, *map(str, command)], capture_output=True, text=True, env=env, check=True
    )  # fmt: skip
    return json.loads(ran.stdout.splitlines()[-1])


def public_names(python=sys.executable):
    return printed(python, PARITY / "public_names.py")


def missing(names):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "names.json"
        file.write_text(json.dumps(names))
        return printed(sys.executable, "-m", "rabbet_jax", PARITY / "public_names.py", file)


def together(*lists):
    """Names by module, of several lists of them."""
    modules = sorted({module for names in lists for module in names})
    return {module: sorted({n for names in lists for n in names.get(module, ())}) for module in modules}


def only_in(names, others):
    """Names by module that the others lack."""
    found = {module: sorted({*listed} - {*others.get(module, ())}) for module, listed in names.items()}
    return {module: listed for module, listed in found.items() if listed}


class Reasons:
    """The first entry counts that names the module, or one above it, and the name, or no names at all."""

    def __init__(self):
        given = tomllib.loads(REASONS.read_text())
        self.entries, self.attributes = given["absent"], given["attributes"]
        self.used = set()

    def of(self, module, name):
        for i, entry in enumerate(self.entries):
            below = any(module == m or module.startswith(f"{m}.") for m in entry["modules"])
            if below and ("names" not in entry or name in entry["names"].split()):
                self.used.add((i, name if "names" in entry else None))
                return entry["reason"]
        return None

    def idle(self):
        """Entries, and names in them, that no absent name needs."""
        for i, entry in enumerate(self.entries):
            for name in entry.get("names", "").split() or [None]:
                if (i, name) not in self.used:
                    yield f"{', '.join(entry['modules'])}: {name or 'all'}"


def written(absent):
    """The list: by module, reasons with their names."""
    reasons, found, without = Reasons(), {}, []
    for module, names in absent.items():
        for name in names:
            if (reason := reasons.of(module, name)) is None:
                without.append(f"{module}.{name}")
            else:
                found.setdefault(module, {}).setdefault(reason, []).append(name)
    if without:
        sys.exit(f"absent without a reason in {REASONS.name}: {' '.join(without)}")
    if idle := list(reasons.idle()):
        sys.exit(f"{REASONS.name} has reasons for what is there: {'; '.join(idle)}")
    for name, reason in reasons.attributes.items():
        found.setdefault("attributes", {}).setdefault(reason, []).append(name)
    return json.dumps(found, indent=1) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--older", help="the Python of an environment with an older jax")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    newest = public_names()
    if sum(map(len, newest.values())) < 2000:
        sys.exit(f"jax is not installed with this Python, or cannot be imported: {sys.executable}")
    if args.older:
        OLDER.write_text(json.dumps(only_in(public_names(args.older), newest), indent=1) + "\n")
    absent = missing(together(newest, json.loads(OLDER.read_text())))
    if args.check:  # what else is installed decides a little of it, so names that are here after all may stay
        found = json.loads(LIST.read_text())
        listed = {module: [n for names in by.values() for n in names] for module, by in found.items()}
        if new := only_in(absent, listed):
            sys.exit(f"absent and not listed, run tools/write/absent_names.py: {new}")
        return
    text = written(absent)
    LIST.write_text(text)
    found = json.loads(text)
    print(sum(len(names) for reasons in found.values() for names in reasons.values()), "names absent")


if __name__ == "__main__":
    main()
