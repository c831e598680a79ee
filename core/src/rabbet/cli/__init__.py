"""The command ``rabbet``; ``command.py`` has its entrance."""
