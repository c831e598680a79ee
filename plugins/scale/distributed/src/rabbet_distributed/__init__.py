"""Programs over several processes. ``api`` is what users call; ``group`` is this process among the others,
``process_watch`` looks after them, ``agreement`` compares their programs, ``clusters`` reads what a cluster
tells, ``coordinator`` keeps the store, ``launch`` is the command.
"""
