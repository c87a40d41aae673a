"""The list of packages in pyproject.toml: prints, checks or writes it.

Without options the packages of the folders are printed; `--check` exits with 1 and prints
differences from the list; `--write` updates the list.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = re.compile(r"(?m)^packages = \[\n(?:  .*\n)*\]\n")


def declared(root: Path = ROOT) -> list[str]:
    """The packages that pyproject.toml lists."""
    packages: list[str] = _setuptools(root)["packages"]
    return packages


def present(root: Path = ROOT) -> list[str]:
    """The packages that there are: every folder with Python files below a mapped folder."""
    mapping: dict[str, str] = _setuptools(root)["package-dir"]
    return sorted(
        ".".join((name, *folder.relative_to(root / top).parts))
        for name, top in mapping.items()
        for folder in {file.parent for file in (root / top).rglob("*.py")}
    )


def without_init(root: Path = ROOT) -> list[str]:
    """Folders with Python files and no `__init__.py`: namespace packages, which none should be."""
    tops = _setuptools(root)["package-dir"].values()
    folders = {file.parent for top in tops for file in (root / top).rglob("*.py")}
    return sorted(
        str(folder.relative_to(root)) for folder in folders if not (folder / "__init__.py").exists()
    )


def write(root: Path = ROOT) -> None:
    """Replace the list in pyproject.toml."""
    file = root / "pyproject.toml"
    lines = "".join(f'  "{name}",\n' for name in present(root))
    text, found = LIST.subn(f"packages = [\n{lines}]\n", file.read_text())
    if found != 1:
        sys.exit(f"pyproject.toml: expected one `packages = [` list, one name a line, got {found}")
    file.write_text(text)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        write()
    if not options.check:
        print("\n".join(present()))
        return 0
    missing, gone = set(present()) - set(declared()), set(declared()) - set(present())
    for name in sorted(missing):
        print(f"missing from pyproject.toml: {name}")
    for name in sorted(gone):
        print(f"listed in pyproject.toml, but there is no such folder: {name}")
    return 1 if missing or gone else 0


def _setuptools(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]


if __name__ == "__main__":
    sys.exit(main())
