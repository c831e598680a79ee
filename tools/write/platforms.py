"""Write the tables of docs/platforms.md: what does not compile for a TPU or a GPU, and the compiler's reason.

    python tools/write/platforms.py tpu cuda

It compiles every row of the conformance table ahead of time, for which no such hardware is needed; the
packages are those of the environments `aot-tpu` and `aot-cuda`.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "aot"))

import page
import results


def main(platforms):
    for platform in platforms:
        families = results.all_failures(platform).items()
        page.write(platform, {(f, row): why for f, rows in families for row, why in rows.items()})


if __name__ == "__main__":
    main(sys.argv[1:] or list(results.TOPOLOGIES))
