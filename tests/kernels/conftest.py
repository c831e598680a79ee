"""For the modules that these tests share with ``tests/aot``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
