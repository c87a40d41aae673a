"""Prints the lowest versions that pyproject.toml allows, as constraints for pip.

    python tools/lowest_versions.py EXTRA...

`make lowest` installs them and runs tests that ask what they do.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)")


def lowest_versions(text: str, extras: list[str]) -> dict[str, str]:
    """Packages and the version from which on each is allowed.

    Args:
        text: of pyproject.toml.
        extras: whose packages are among them.
    """
    project = tomllib.loads(text)["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in extras for one in optional[extra])]
    found = (_REQUIREMENT.match(line) for line in wanted)
    return {match[1]: match[2] for match in found if match is not None}


def main() -> None:
    """Print them, one a line."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    for name, version in lowest_versions(text, sys.argv[1:]).items():
        sys.stdout.write(f"{name}=={version}\n")


if __name__ == "__main__":
    main()
