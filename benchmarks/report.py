"""Compare rabbet with jax and write the table of docs/benchmarks.md.

    python benchmarks/report.py [--pairs 5] [--dry]

Runs `compare.py` on each program (the frameworks alternate, each in a process of its own) and puts the
ratios beside their budgets between the two markers of the page. `--dry` prints the table and leaves the
page alone.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
from importlib.metadata import version

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

# Program, its arguments, and the figures with their budgets (None: measured and reported, no budget yet).
GPT_STEP = (
    "gpt_step.py",
    ["12"],
    {"import_s": 0.5, "trace_s": 0.15, "lower_s": 0.15, "compile_s": None, "step_ms_min": None},
)
# A second process, which finds on disk what the first one compiled.
WARM = ("gpt_step.py", ["12", "--warm"], {"first_step_s": 0.4})
MICRO = (
    "micro.py",
    [],
    {
        "jit_2_args": 1.1,
        "jit_150_leaf_tree": 0.8,
        "eager_add": 0.9,
        "eager_add_scalar": None,
        "eager_tanh": 0.9,
        "eager_mean": 0.9,
        "eager_index": 0.4,
        "device_put_numpy": 0.4,
        "to_numpy": None,
        "grad_eager_small": 0.2,
        "tree_map_150": None,
        "trace_3000_ops_s": 0.15,
        "trace_lower_3000_ops_s": 0.15,
        "trace_grad_3000_ops_s": 0.15,
        "trace_vmap_grad_3000_ops_s": 0.15,
    },
)


def compare(program, arguments, pairs):
    """The ratios, figure by figure, that compare.py found."""
    command = [sys.executable, str(HERE / "compare.py"), program, *arguments, "--pairs", str(pairs)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{program} failed; see above")
    print(done.stdout, flush=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def row(program, figure, ratio, budget):
    """One line of the table: within the budget, over it, or without one."""
    verdict = "" if budget is None else "yes" if ratio <= budget else "**no**"
    return f"| {program} | {figure} | {ratio:.2f} | {'' if budget is None else budget} | {verdict} |"


def table(pairs):
    """The whole table, with a line that says what was measured on."""
    where = (
        f"Median ratios over {pairs} pairs of processes, jaxlib {version('jaxlib')}, jax {version('jax')}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()})."
    )
    lines = [
        where,
        "",
        "| program | figure | rabbet / jax | budget | within |",
        "|---|---|---|---|---|",
    ]
    for program, arguments, budgets in (GPT_STEP, WARM, MICRO):
        ratios = compare(program, arguments, pairs)
        lines += [
            row(" ".join([program, *arguments]), name, ratios[name], budget)
            for name, budget in budgets.items()
            if name in ratios
        ]
    return "\n".join(lines)


def write(text):
    """Replace what stands between the page's markers."""
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--dry", action="store_true")
    options = parser.parse_args()
    text = table(options.pairs)
    print(text)
    if not options.dry:
        write(text)
        print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
