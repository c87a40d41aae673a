"""The page of flags in the documentation is that of the parser."""

import subprocess
import sys

from architecture.sources import ROOT

TOOL = ROOT / "tools" / "flag_table.py"


def test_the_page_of_flags_is_current() -> None:
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"docs/flags.md is not the page of the flags there are\n{done.stdout}{done.stderr}\n"
        "Try: python tools/flag_table.py --write"
    )
