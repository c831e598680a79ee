"""``python -m rabbet`` is the command ``rabbet``, which a package of its own brings (``rabbet-cli``)."""

import sys
from importlib import metadata


def main() -> int:
    """Run the command ``rabbet`` that is installed; say what to install where none is."""
    for script in metadata.entry_points(group="console_scripts", name="rabbet"):
        return script.load()()
    from rabbet.plugins import catalogue

    package = catalogue.provider("rabbet.commands", "doctor")
    print(
        f"the command `rabbet` comes with {package}, which is not installed\n"
        f"  to fix: python -m pip install {package}",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
