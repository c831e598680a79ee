"""Run a command if this machine has a GPU that CUDA programs can run on; else say why not, and succeed.

python tools/check/on_gpu.py pytest tests/conformance
"""

import subprocess
import sys

from rabbet_pjrt_cuda import cuda_installation


def main(command):
    reason = cuda_installation.hardware()
    if reason is not None:
        print(f"skipped: {reason}")
        return 0
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
