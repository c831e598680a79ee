"""``python -m rabbet.plugins.cli`` is the ``rabbet`` command."""

import sys

from rabbet.plugins.cli import main

if __name__ == "__main__":
    sys.exit(main())
