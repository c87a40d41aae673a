"""The flags of `pinnace serve`: docs/flags.md, written from the parser.

Without options the page is printed; `--check` exits with 1 and says what differs from the file;
`--write` writes the file.
"""

import argparse
import difflib
import importlib
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "docs" / "flags.md"
HEAD = """# Flags of `pinnace serve`

Written by `tools/flag_table.py`: `python tools/flag_table.py --write` after a change. Flags may be
spelt with `_` or `-`, and with `=` or a space before the value.
"""


def page() -> str:
    """The whole document."""
    command = importlib.import_module("pinnace.serving.command")
    parts = [HEAD]
    for title, actions in command.flags():
        rows = "\n".join(f"| `{flag}` | {text} |" for flag, text in actions)
        parts.append(f"{title}\n\n| flag | |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def main() -> int:
    """Run the tool; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wanted = page()
    if options.write:
        FILE.write_text(wanted)
    elif options.check:
        found = FILE.read_text() if FILE.exists() else ""
        lines = difflib.unified_diff(found.splitlines(), wanted.splitlines(), "file", "flags")
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return int(found != wanted)
    else:
        sys.stdout.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
