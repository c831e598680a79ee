"""``config.dump_ir_to``: the programs that are lowered, as files that people can read."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rabbet.config import config
from rabbet.errors import ConfigError
from rabbet.messages.signal_errors import raise_if_of_handler

if TYPE_CHECKING:
    from rabbet.lowering.module import ModuleText
    from rabbet.program.jaxpr import Jaxpr

MODES = {
    "stablehlo": ("mlir", lambda jaxpr, module: module.text),
    "jaxpr": ("jaxpr.txt", lambda jaxpr, module: str(jaxpr)),
}
_numbers = itertools.count()


def dump(name: str, jaxpr: Jaxpr, module: ModuleText) -> None:
    """Write a lowered program into the folder that the setting names, in each of ``config.dump_ir_modes``.

    Files are called ``00003-step.mlir``, in the order of lowering.

    Raises:
      ConfigError: for a mode that does not exist, or a folder that cannot be written.
    """
    stem = f"{next(_numbers):05}-{re.sub(r'[^A-Za-z0-9_.]+', '_', name)[:80]}"
    for mode in config.dump_ir_modes or ():
        if mode not in MODES:
            raise ConfigError(f"config.dump_ir_modes cannot have {mode!r}: the modes are {', '.join(MODES)}")
        ending, write = MODES[mode]
        try:
            folder = Path(config.dump_ir_to)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{stem}.{ending}"
            path.write_text(write(jaxpr, module), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise_if_of_handler(error)
            raise ConfigError(f"config.dump_ir_to: {folder} cannot be written: {error}") from None


__all__ = ["dump"]
