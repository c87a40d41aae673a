"""The pre-commit checks besides ruff and mypy: files that parse and are small, commit messages.

`commit_checks.py files FILE...` and `commit_checks.py message FILE` print a line per fault and then
exit with 1.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

import yaml

MAX_BYTES = 500_000
KINDS = "build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test"
HEADER = re.compile(rf"(?:{KINDS})(?:\([a-z0-9_./,-]+\))?!?: \S.*[^.]")
MAX_HEADER = 72
CONFLICT = re.compile(rb"(?m)^(?:<{7}|>{7}) ")


def faults_of_file(path: Path) -> list[str]:
    """The problems of a file, one per line."""
    data = path.read_bytes()
    faults = []
    if len(data) > MAX_BYTES:
        faults.append(f"{path}: {len(data)} bytes, at most {MAX_BYTES} belong into the repository")
    if CONFLICT.search(data):
        faults.append(f"{path}: holds a merge conflict")
    try:
        if path.suffix == ".toml":
            tomllib.loads(data.decode())
        elif path.suffix == ".json":
            json.loads(data)
        elif path.suffix in {".yaml", ".yml"}:
            list(yaml.safe_load_all(data))
    except (ValueError, yaml.YAMLError) as error:
        faults.append(f"{path}: {error}")
    return faults


def faults_of_message(text: str) -> list[str]:
    """The problems of a commit message, one per line."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    header = lines[0] if lines else ""
    if header.startswith(("Merge ", "fixup! ", "squash! ")):
        return []
    faults = []
    if not HEADER.fullmatch(header):
        faults.append(
            f"commit message: {header!r} is not `kind(scope): what it does`, without a full stop; "
            f"kinds: {KINDS}; e.g. feat(ops): add Softplus"
        )
    if len(header) > MAX_HEADER:
        faults.append(f"commit message: {len(header)} characters in line 1, at most {MAX_HEADER}")
    if len(lines) > 1 and lines[1].strip():
        faults.append("commit message: line 2 must be empty")
    return faults


def main() -> int:
    """Run the command line."""
    match sys.argv[1:]:
        case ["files", *names]:
            faults = [fault for name in names for fault in faults_of_file(Path(name))]
        case ["message", name]:
            faults = faults_of_message(Path(name).read_text(encoding="utf-8"))
        case _:
            sys.exit(__doc__)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
