"""``python -m rabbet`` is the ``rabbet`` command."""

import sys

from rabbet.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
