"""A change of the public API is a visible line of a diff."""

import subprocess
import sys

from architecture.sources import ROOT

TOOL = ROOT / "tools" / "public_names.py"


def test_public_names_are_those_listed() -> None:
    # In a process of its own: what other tests import must not become public.
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"the public names are not those of docs/public_names.txt\n{done.stdout}{done.stderr}\n"
        "If the change is meant: python tools/public_names.py --write, and a line in CHANGELOG.md"
    )
