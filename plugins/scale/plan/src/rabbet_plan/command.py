"""``rabbet plan``: what a program would take of hardware that need not be here."""

from __future__ import annotations

import argparse
import atexit
import dataclasses
import json
import os
import sys
import threading
from typing import Any

HELP = "compile a program for hardware that need not be here: memory, communication, time of a step"

# What is said of training where nobody says anything.
USUAL = {"stages": 1, "microbatches": 1, "checkpoint": 0.0, "restart": 0.0}
# Compiler options of --quick by platform, and what is said of them. With less memory beside its registers a
# TPU's products are cut into smaller tiles, for each of which the compiler writes code. Most of what is
# planned is decided before that; a few fusions, and what they send, may be others.
QUICK = {"tpu": {"xla_tpu_scoped_vmem_limit_kib": 4096}}
QUICKLY = "compiled with --quick, in smaller tiles: the figures may be a little other than without it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("program", metavar="PROGRAM", help="a Python file, a module, or module:function")
    parser.add_argument(
        "--topology", required=True, metavar="NAME",
        help="cpu:8, v5e:2x4, v5p:8x8x16, h100:8, h100:1x32x8 (slices, hosts, GPUs of each), ...",
    )  # fmt: skip
    parser.add_argument(
        "--mesh", metavar="AXES", help="such as data=4,model=2; one size may be -1, for what is left"
    )
    parser.add_argument(
        "--function", metavar="NAME", help="the function that says what to plan (default: plan)"
    )
    parser.add_argument("--layout", metavar="NAME", help="what the function is given as `layout`")
    parser.add_argument(
        "--top", type=int, default=8, metavar="N", help="how many rows of each list (default: 8)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="of a TPU: compile in less than half the time, in smaller tiles"
    )
    parser.add_argument(
        "--sweep", action="store_true", help="rank every mesh of the program's AXES with its LAYOUTS"
    )
    parser.add_argument("--axes", metavar="NAMES", help="with --sweep: the mesh's axes, such as data,model")
    parser.add_argument(
        "--budget",
        type=float,
        metavar="SECONDS",
        help="with --sweep: end then; what promises most is tried first",
    )
    parser.add_argument(
        "--parameters", type=float, metavar="N", help="of the model: tells MFU, with --tokens"
    )
    parser.add_argument("--tokens", type=float, metavar="D", help="in a step")
    parser.add_argument("--stages", type=int, default=1, metavar="P", help="of a pipeline (default: 1)")
    parser.add_argument("--microbatches", type=int, default=1, metavar="M", help="of a pipeline (default: 1)")
    parser.add_argument(
        "--between-failures", type=float, metavar="SECONDS", help="mean time between failures of any device"
    )
    parser.add_argument("--checkpoint", type=float, default=0.0, metavar="SECONDS", help="that one takes")
    parser.add_argument(
        "--restart", type=float, default=0.0, metavar="SECONDS", help="from a failure to the next step"
    )
    parser.add_argument("--price", type=float, metavar="PRICE", help="of a device for an hour")
    parser.add_argument("--picture", metavar="FILE", help="draw the plan: .svg, or .html for a page")
    parser.add_argument("--json", metavar="FILE", help="write the plan as JSON, `-` for standard output")


def run(args: argparse.Namespace) -> int:
    """Plan the program and print what was found; returns the exit status."""
    from rabbet.errors import RabbetError

    try:
        refuse_without_effect(args)
        return planned(args)
    except RabbetError as error:
        print(f"rabbet plan: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if error.filename is not None:
            raise  # the command line names the file
        fault: Exception = error
    except Exception as error:
        fault = error
    from rabbet_plan.programs import told

    print(f"rabbet plan: {args.program} cannot be planned\n{told(fault, args.program)}", file=sys.stderr)
    return 1


def refuse_without_effect(args: argparse.Namespace) -> None:
    """Raise for options that would do nothing."""
    from rabbet.errors import ConfigError

    of_one = {**dict.fromkeys(("mesh", "parameters", "tokens", "between_failures", "price")), **USUAL}
    of_one["quick"] = False
    for name, value in of_one.items() if args.sweep else {"axes": None, "budget": None}.items():
        if getattr(args, name) != value:
            why = "--sweep tries all meshes and ranks them" if args.sweep else "it is for --sweep"
            raise ConfigError(f"--{name.replace('_', '-')} has no effect here: {why}; leave it out")
    for name in ("top", "budget"):
        value = getattr(args, name)
        if value is not None and not 0 <= value < float("inf"):
            raise ConfigError(f"--{name} must not be negative, and finite; got {value}")


def planned(args: argparse.Namespace) -> int:
    from rabbet_plan.planning import plan
    from rabbet_plan.programs import load
    from rabbet_plan.topologies import topology

    program = load(args.program, args.function)
    there = topology(args.topology)
    if args.sweep:
        return swept(args, program, there)
    training = training_asked(args)
    mesh = there.mesh(axes_from(args.mesh, program.axes))
    step, given, keywords = program.step(mesh, args.layout)
    found = plan(step, *given, compiler_options=quick_options(there) if args.quick else None, **keywords)
    if args.json:
        more: dict[str, Any] = {"quick": True} if args.quick else {}
        more |= {"training": dataclasses.asdict(found.training(**training))} if training else {}
        written(args.json, found.as_dict() | more)
    if args.picture:
        from rabbet_plan import picture

        picture.written(args.picture, picture.of_plan(found), f"rabbet plan: {found.name}")
    if args.json != "-":
        print(found.report(args.top), *([QUICKLY] if args.quick else []), sep="\n")
        if training:
            from rabbet_plan.printing import training_lines

            print(*training_lines(found.training(**training)), sep="\n")
    return 0 if found.fits in (True, None) else 2


def quick_options(there) -> dict[str, Any]:
    """Options with which the compiler of a topology takes less time and makes nearly the same program.

    Raises:
      ConfigError: where there are none.
    """
    from rabbet.errors import ConfigError

    if there.platform not in QUICK:
        raise ConfigError(f"--quick has no effect on {there.name}: it is for TPUs; leave it out")
    return QUICK[there.platform]


def training_asked(args: argparse.Namespace) -> dict[str, Any]:
    """What the command line says of training, as ``Plan.training`` takes it; empty if nothing."""
    from rabbet.errors import ConfigError

    given = {
        "stages": args.stages, "microbatches": args.microbatches, "between_failures": args.between_failures,
        "checkpoint": args.checkpoint, "restart": args.restart, "price": args.price,
    }  # fmt: skip
    if args.parameters is None or args.tokens is None:
        for name, value in {**given, "parameters": args.parameters, "tokens": args.tokens}.items():
            if value != USUAL.get(name):
                raise ConfigError(
                    f"--{name.replace('_', '-')} has an effect together with --parameters and --tokens only; "
                    "give both"
                )
        return {}
    return {"parameters": args.parameters, "tokens": args.tokens, **given}


def swept(args: argparse.Namespace, program, there) -> int:
    """Try all meshes and layouts and print the ranking; the exit status says whether one of them fits."""
    from rabbet.errors import ConfigError

    from rabbet_plan import picture
    from rabbet_plan.sweeping import THREAD, ranking, sweep

    axes = [name.strip() for name in args.axes.split(",")] if args.axes else program.axes
    if not axes:
        raise ConfigError('--sweep: give --axes data,model, or AXES = ("data", "model") in the program')
    layouts = (args.layout,) if args.layout else program.layouts
    trials = sweep(
        program.function, there, axes, layouts, lambda line: print(f"trying {line}", file=sys.stderr),
        options=program.options, budget=args.budget,
    )  # fmt: skip
    status = 0 if any(not t.problem for t in trials) else 2
    if any(thread.name == THREAD for thread in threading.enumerate()):
        atexit.register(leave, status)
    title = f"{program.name} on {there.name}: {len(trials)} trials, the best first"
    if args.json:
        rows = [
            {
                "mesh": t.mesh, "layout": t.layout, "options": t.options, "problem": t.problem,
                "quick": t.quick,
                "promise": t.promise and t.promise._asdict(), "plan": t.plan and t.plan.as_dict(),
            }
            for t in trials
        ]  # fmt: skip
        written(args.json, rows)
    if args.picture:
        picture.written(args.picture, picture.of_trials(trials, title), title)
    if args.json != "-":
        print(title, ranking(trials), sep="\n")
    return status


def leave(status: int) -> None:
    """End the process although a compiler still works in one of its threads, which nothing can stop."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def axes_from(text: str | None, names) -> dict[str, int]:
    """Axes as they stand on the command line; without, all devices along the first axis that the program
    names.
    """
    from rabbet.errors import ConfigError

    if text is None:
        if not names:
            raise ConfigError(
                'which mesh? give --mesh, as in --mesh data=4,model=2, or AXES = ("data", "model") in the '
                "program, of which the first gets all devices"
            )
        return {name: -1 if i == 0 else 1 for i, name in enumerate(names)}
    found: dict[str, int] = {}
    for part in text.split(","):
        name, equals, size = part.partition("=")
        if not (name.strip() and equals and size.strip().lstrip("-").isdigit()) or name.strip() in found:
            raise ConfigError(
                f"--mesh {text}: axes are written as name=size with commas, as in data=4,model=2"
            )
        found[name.strip()] = int(size)
    return found


def written(path: str, found: Any) -> None:
    """Write JSON to a file or to standard output."""
    text = json.dumps(found, indent=1)
    if path == "-":
        print(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


__all__ = ["HELP", "add_arguments", "run"]
