"""Says much, starts a process that would go on for long and holds its output, and ends."""

import subprocess
import sys

print("#" * 300_000, end="")
print("|the end", end="")
sys.stdout.flush()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
print(f"\nchild {child.pid}")
sys.exit(int(sys.argv[1]))
