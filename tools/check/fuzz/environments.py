"""Settings from odd variables of the environment, and ``rabbet doctor`` in such environments.

    python tools/check/fuzz/environments.py              # each setting with each odd value, in this process
    python tools/check/fuzz/environments.py --used       # a small program under each value that is taken
    python tools/check/fuzz/environments.py --doctor 50  # that many processes with a few odd variables each

A setting takes the value, or there is an error or a warning that names the variable, in a second. ``rabbet
doctor`` ends with 0 or 1, names each odd variable that is set, and shows no traceback.
"""

import argparse
import collections
import os
import random
import re
import subprocess
import sys
import time
import warnings

ODD = (
    "1 0 -1 2 true yes none None null nan inf -inf 1e999 1.5 99999999999999999999999 0x10 ٣ ² 1_000 +4 4GB "
    "4XB -4GB 1e3 cpu cuda tpu,cpu cpu,cpu , ,, cpu, =, a=b a=b,c a:b / /dev/null /dev/zero /nowhere/x . ~ "
    "$HOME \udcff ünïcode \x1b[31m {} [] {{ \" ' \\ highest float32 F32_F32_F32 allow raise xxx --x=1 "
    "--xla_nothing=2"
).split() + ["", " ", "a b", " 1 ", "a\nb", "1\n", "x" * 10000, "[" * 5000, "9" * 5000, "1," * 3000]


def texts(seed, count):
    """Values: the odd ones, and some that are made of parts of them."""
    rng = random.Random(f"environment {seed}")
    made = [
        rng.choice(ODD[:60]) + rng.choice(["", ",", "=", ":", " "]) + rng.choice(ODD[:60])
        for _ in range(count)
    ]
    return [*ODD, *made]


def named(setting, message):
    """Whether a message says which setting it is about."""
    return setting.variable in str(message) or setting.name in str(message)


def settings_tried(seed=0, count=20):
    """Faults of settings, as texts, and how many values were tried."""
    from rabbet import config
    from rabbet.errors import ConfigError

    config.find_all()
    faults, outcomes = [], collections.Counter()
    for setting in config.settings.values():
        before = os.environ.get(setting.variable)
        for text in texts(f"{seed} {setting.name}", count):
            os.environ[setting.variable] = text
            began = time.process_time()
            try:
                with warnings.catch_warnings(record=True) as heard:
                    warnings.simplefilter("always")
                    value = setting.initial()
                outcome = "warned" if heard else "taken"
                if heard and not named(setting, heard[0].message):
                    faults.append(
                        f"{setting.variable}={text!r:.60}: a warning without the name: {heard[0].message}"
                    )
                if not heard:
                    again = setting.read(value, "the value again")
                    if again != value and again == again:
                        faults.append(
                            f"{setting.variable}={text!r:.60}: {value!r:.60}, read again {again!r:.60}"
                        )
            except ConfigError as error:
                outcome = "refused"
                if not named(setting, error):
                    faults.append(f"{setting.variable}={text!r:.60}: no name in {error!s:.200}")
            except BaseException as error:
                outcome = "fault"
                faults.append(f"{setting.variable}={text!r:.60}: {type(error).__name__}: {error!s:.200}")
            if time.process_time() - began > 1:
                faults.append(f"{setting.variable}={text!r:.60}: took more than a second")
            outcomes[outcome] += 1
            outcomes[setting.variable, outcome] += 1
        os.environ.pop(setting.variable)
        if before is not None:
            os.environ[setting.variable] = before
    return faults, outcomes


def settings_used(seed=0, count=5):
    """Faults of a small program under each value that a setting takes, and how many were tried."""
    import numpy as np
    import rabbet as rb
    import rabbet.numpy as rnp
    from rabbet.errors import RabbetError

    rb.config.find_all()
    faults, outcomes = [], collections.Counter()
    right = np.float32([2.0, 4.0, 6.0])
    folder = os.getcwd()
    for setting in rb.config.settings.values():
        if setting.name in ("no_execution", "no_tracing"):
            continue  # they forbid the program
        seen = set()
        for text in texts(f"{seed} {setting.name}", count):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    value = setting.read(text, "the value")
                    if repr(value) in seen:
                        continue
                    seen.add(repr(value))
                    with rb.config.override(**{setting.name: value}):
                        factor = 2.0
                        found = rb.jit(lambda x, factor=factor: rnp.sum(x * factor, axis=0))(
                            np.ones((3, 3), "float32")
                        )
                        more = rnp.cumsum(rnp.asarray([2, 2, 2], "float32"))
                        slope = rb.grad(lambda x: rnp.sum(x * x))(rnp.ones(3, "float32"))
                    same = np.all(np.asarray(found) == 6) and np.all(np.asarray(more) == right)
                    outcome = "right" if same and np.all(np.asarray(slope) == 2) else "wrong"
            except RabbetError as error:
                outcome = "refused" if str(error).strip() else "fault"
            except BaseException as error:
                outcome = "fault"
                faults.append(f"{setting.name}={text!r:.60}: {type(error).__name__}: {error!s:.300}")
            if outcome == "wrong":
                faults.append(f"{setting.name}={text!r:.60}: wrong values")
            outcomes[outcome] += 1
    os.chdir(folder)
    return faults, outcomes


def doctored(number):
    """The fault of ``rabbet doctor`` in an odd environment, or None; the variables; what it said."""
    from rabbet import config

    config.find_all()
    rng = random.Random(f"doctor {number}")
    names = [setting.variable for setting in config.settings.values()]
    names += ["RABBET_PLUGINS", "RABBET_DISABLE_PLUGINS", "RABBET_PREFER", "RABBET_NOTHING", "JAX_PLATFORMS"]
    names += ["XLA_FLAGS", "HOME", "XDG_CACHE_HOME", "TMPDIR", "LC_ALL", "JAX_ENABLE_X64", "COLUMNS"]
    chosen = {rng.choice(names): rng.choice(ODD) for _ in range(rng.choice([1, 1, 2, 3]))}
    with_os = {name: text for name, text in chosen.items() if len(text) < 100_000}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rabbet", "doctor"],
            env={**os.environ, **with_os},
            capture_output=True,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return "it is not done after 300 s", with_os, ""
    said = (done.stdout + done.stderr).decode(errors="surrogateescape")
    fault = None
    if done.returncode not in (0, 1):
        fault = f"its exit status is {done.returncode}"
    elif "Traceback (most recent" in said:
        fault = "a traceback"
    else:
        unseen = [name for name in with_os if name.startswith("RABBET_") and name not in said]
        fault = f"nothing is said of {', '.join(unseen)}" if unseen else None
    return fault, with_os, said


def main(argv=None):
    """Try what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--doctor", type=int, metavar="N", help="processes of `rabbet doctor`")
    parser.add_argument("--used", action="store_true", help="a small program under each value that is taken")
    parser.add_argument("--from", dest="start", type=int, default=0)
    options = parser.parse_args(argv)
    if options.doctor:
        found = 0
        for number in range(options.start, options.start + options.doctor):
            fault, given, said = doctored(number)
            if fault:
                found += 1
                given = {name: text[:60] for name, text in given.items()}
                print(f"FOUND {number}: {given}: {fault}\n{said[-1500:]}", flush=True)
        print(f"{options.doctor} runs of rabbet doctor, {found} faults")
        return 1 if found else 0
    faults, outcomes = (settings_used if options.used else settings_tried)(options.seed)
    kinds = collections.Counter(re.sub(r"=.*?: ", ": ", fault, count=1)[:100] for fault in faults)
    for fault in faults[:40]:
        print("FOUND", fault)
    print(*kinds.most_common(30), sep="\n")
    all_taken = [key for key in outcomes if isinstance(key, tuple)]
    never = sorted({name for name, _ in all_taken} - {name for name, what in all_taken if what != "taken"})
    print("take everything:", *never)
    print({key: n for key, n in outcomes.items() if isinstance(key, str)}, len(faults), "faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
