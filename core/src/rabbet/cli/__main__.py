"""``python -m rabbet.cli`` is the ``rabbet`` command."""

import sys

from rabbet.cli import main

if __name__ == "__main__":
    sys.exit(main())
