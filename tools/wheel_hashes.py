"""Wheels in a folder as a requirements file with hashes.

    python tools/wheel_hashes.py FOLDER

writes FOLDER/requirements.txt, for `pip install --require-hashes --find-links FOLDER -r`. Wheels of
one version for several machines are one requirement with several hashes. Where they came from does
not stand there.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

from archives import digest

NAME = "requirements.txt"


def requirements_of(folder: Path) -> str:
    """The text of the list, in order of names.

    Args:
        folder: of wheels.

    Raises:
        SystemExit: it has none, or two versions of one project.
    """
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for wheel in sorted(folder.glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        found[re.sub(r"[-_.]+", "-", name).lower()][version].append(digest(wheel))
    if not found:
        raise SystemExit(f"{folder}: no wheels\n  Try: pip download --dest {folder} WHEEL")
    lines = []
    for name, versions in sorted(found.items()):
        if len(versions) > 1:
            listed = ", ".join(sorted(versions))
            raise SystemExit(f"{folder}: {name} in {len(versions)} versions ({listed}); keep one")
        ((version, hashes),) = versions.items()
        parts = [f"{name}=={version}", *(f"--hash=sha256:{one}" for one in sorted(set(hashes)))]
        lines.append(" \\\n    ".join(parts) + "\n")
    return "".join(lines)


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description="Write requirements.txt with hashes of wheels.")
    parser.add_argument("folder", type=Path, help="of the wheels")
    folder: Path = parser.parse_args().folder
    (folder / NAME).write_text(requirements_of(folder))
    print(folder / NAME)


if __name__ == "__main__":
    main()
