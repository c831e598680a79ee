"""The command ``rabbet``; ``command.py`` has its entrance, and a module each has its subcommands."""
