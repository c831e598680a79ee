"""Run every kernel of ``tests/kernels/rows.py`` on a GPU, compare its values with the CPU's, and time it.

    python tools/check/on_gpu.py python tools/check/kernels_on_gpu.py

Prints a line for each row: the largest difference, microseconds for a call (the least of five rounds); last,
the end how many differ. Products of float32 are asked for with all their digits where a row says so.
"""

import sys
import time
from pathlib import Path

import numpy as np
import rabbet as rb

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/kernels"))

import rows


def difference(found, wanted):
    found, wanted = [np.asarray(x).astype("float64") for x in (found, wanted)]
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(same, 0, np.abs(found - wanted) / (1 + np.abs(wanted))), initial=0))


def microseconds(f, arguments, rounds=5, calls=20):
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            out = f(*arguments)
        rb.block_until_ready(out)
        found.append((time.perf_counter() - start) / calls * 1e6)
    return min(found)


def main():
    gpu, cpu = rb.devices("cuda")[0], rb.devices("cpu")[0]
    wrong = []
    for row in rows.ROWS.values():
        if "triton" not in row.targets:
            continue
        wanted = rb.jit(row.function)(*rb.device_put(row.arguments, cpu))
        arguments, f = rb.device_put(row.arguments, gpu), rb.jit(row.function)
        apart = difference(f(*arguments), wanted)
        if not apart <= max(row.tolerance, 1e-5):
            wrong.append(row.name)
        print(f"{row.name:45} {apart:9.1e} {microseconds(f, arguments):9.1f} us", flush=True)
    print(f"{len(wrong)} differ: {', '.join(wrong)}" if wrong else "all are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
