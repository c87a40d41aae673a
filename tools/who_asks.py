"""The reason for each public name, raw op and flag: tests/architecture/who_asks.txt.

A line is a pattern, its number of names, and who needs them: a model, a public repository, a
report, a guide, a list of a converter. The first matching pattern counts. A new name is a new line,
or makes its family's number wrong: either way somebody has to say who needs it. Problems are
printed; then the exit status is 1. `--names PATTERN` prints the names of a line.
"""

import argparse
import importlib
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "architecture" / "who_asks.txt"


class Row(NamedTuple):
    """A line of the table: which names, how many there are, and who asks for them."""

    pattern: str
    count: int
    asker: str


def rows() -> list[Row]:
    """The table, in the order in which patterns are tried."""
    lines = [line for line in TABLE.read_text().splitlines() if line and line[0] != "#"]
    parts = [line.split(maxsplit=2) for line in lines]
    return [Row(name, int(count), " ".join(asker)) for name, count, *asker in parts]


def names() -> list[str]:
    """Public names as listed, raw ops as `raw_ops/FAMILY/OP`, flags of the server as `--flag`."""
    found = (ROOT / "docs" / "public_names.txt").read_text().split()
    registered = importlib.import_module("pinnace.ops.registry").registered()
    found += [f"raw_ops/{op.family}/{name}" for name, op in registered.items() if name[0] != "_"]
    flags = importlib.import_module("pinnace.serving.flags").flags()
    return found + [flag.split()[0] for _, listed in flags for flag, _ in listed]


def by_row(table: list[Row], every: list[str]) -> dict[Row | None, list[str]]:
    """The names of each line; of None those of no line."""
    found: dict[Row | None, list[str]] = {row: [] for row in table}
    for name in every:
        row = next((row for row in table if fnmatchcase(name, row.pattern)), None)
        found.setdefault(row, []).append(name)
    return found


def findings(table: list[Row], every: list[str]) -> list[str]:
    """The problems, one per line."""
    found = by_row(table, every)
    wrong = [f"{name}: no line says who asks for it" for name in found.pop(None, [])]
    for row, listed in found.items():
        if row is not None and row.count != len(listed):
            wrong.append(f"{row.pattern}: the line says {row.count} names, there are {len(listed)}")
        if row is not None and not row.asker:
            wrong.append(f"{row.pattern}: nobody asks")
    return wrong


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", metavar="PATTERN", help="print the names of that line")
    options = parser.parse_args()
    table, every = rows(), names()
    if options.names:
        found = by_row(table, every)
        print(*(n for row, ns in found.items() if row and row.pattern == options.names for n in ns))
        return 0
    wrong = findings(table, every)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
