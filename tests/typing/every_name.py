"""Write a program that reads every public name of every public module that is installed, for pyright:

    python tests/typing/every_name.py FOLDER && pyright -p FOLDER

A name that a type checker takes for a private one is an error in every program that uses it.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools" / "write" / "pages"))

import public_names


def main(folder: pathlib.Path) -> None:
    modules = public_names.modules()
    lines = [f"import {module}" for module in modules]
    for name, module in modules.items():
        lines += [f"print({name}.{found.name})" for found in public_names.names_of(module)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "every_name.py").write_text("\n".join(lines) + "\n")
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "basic"}))
    print(f"{len(lines) - len(modules)} names of {len(modules)} modules")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
