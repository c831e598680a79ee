"""Source positions in a module: each user line is defined once, ``#l3 = loc("model.py":12:5)``, and
operations refer to it.
"""

from rabbet.messages import source_positions


class Locations:
    """The positions that a module has mentioned so far."""

    def __init__(self):
        self._names = {}
        self._definitions = {}

    def name(self, where):
        """``loc(#l3)`` for a user position ``(code, lasti)``."""
        try:
            return self._names[where]
        except KeyError:
            position = source_positions.position(where)
            key = (position.file, position.line, position.column or 0)
            symbol = self._definitions.setdefault(key, f"#l{len(self._definitions)}")
            text = self._names[where] = f"loc({symbol})"
            return text

    def definitions(self):
        """The lines that define the names, for the end of the module."""
        return [
            f'{symbol} = loc("{_escape(file)}":{line}:{column})'
            for (file, line, column), symbol in self._definitions.items()
        ]


def _escape(file):
    return file.replace("\\", "\\\\").replace('"', '\\"')
