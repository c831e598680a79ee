"""``python -m rabbet_jax program.py [arguments]``, or ``-m module [arguments]``: run it on Rabbet."""

from rabbet_jax.command import main

if __name__ == "__main__":
    main()
