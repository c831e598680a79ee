"""Write docs/collectives.md: what training steps send in each layout, under Rabbet and under JAX.

    python tools/write/collectives.py [--check] [v5e:2x4 ...]

Compiles the programs of tests/parity/layouts.py for eight CPU devices, and for each topology that is named
(whose compiler has to be installed): minutes. With --check the page is compared, and not written. jax has to
be installed, as for the parity tests.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = (
    "# What layouts send\n\n"
    f"Made by `tools/write/collectives.py` with jaxlib {version('jaxlib')}; do not edit. "
    "One step of gradient descent of each model over "
    "eight devices, compiled: collective operations of one device as their number and their bytes (those "
    "that it puts in, or gets out where these are more), loops as often as they run. The programs are in "
    "`tests/parity/layouts.py`; a test compares the bytes of some of them with JAX's at each change, and an "
    "exhaustive one all: no row sends more. A ratio is the number here divided by the one under JAX. "
    "For lstm on v5e no array is in this memory, but single numbers and tables of 512 bytes, one for each "
    "structure that a loop or a collective operation takes, 16 KiB apart; here there is one more, of a "
    "collective operation that runs beside a loop. (The arrays are on the chip, in 368 KiB for 496 under "
    "JAX.)\n"
)


def found(which, topology):
    """The lines of one run, by name."""
    more = {"LAYOUT_TOPOLOGY": topology} if topology else {}
    if which == "jax":
        more["JAX_PLATFORMS"] = "cpu"
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tests/parity/layouts.py"), which], capture_output=True, text=True,
        check=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **more},
    )  # fmt: skip
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
    return {name: (kinds, memory) for name, kinds, memory in rows}


def shown(kinds):
    return ", ".join([f"{count} {kind}" for kind, (count, _) in kinds.items()]) or "none"


def table(topology):
    """The rows of one topology."""
    ours, theirs = found("rabbet", topology), found("jax", topology)
    lines = [
        "", f"## {topology or 'cpu:8'}", "",
        "| program | operations | bytes | under JAX | bytes | ratio | temporary memory, ratio |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, (kinds, memory) in ours.items():
        other, held = theirs[name]
        sent, by_jax = [sum([size for _, size in k.values()]) for k in (kinds, other)]
        ratio = f"{sent / by_jax:.3f}" if by_jax else ""
        held = f"{memory / held:.2f}" if held else ""
        lines.append(
            f"| {name} | {shown(kinds)} | {sent:,} | {shown(other)} | {by_jax:,} | {ratio} | {held} |"
        )
    return lines


def main(arguments):
    topologies = [a for a in arguments if a != "--check"]
    lines = [HEAD.rstrip("\n"), *[line for t in ("", *topologies) for line in table(t)]]
    page, text = ROOT / "docs/collectives.md", "\n".join(lines) + "\n"
    if "--check" not in arguments:
        page.write_text(text)
    elif page.read_text() != text:
        again = " ".join(topologies)
        sys.exit(f"docs/collectives.md is out of date: run python tools/write/collectives.py {again}")


if __name__ == "__main__":
    main(sys.argv[1:])
