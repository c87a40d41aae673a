"""The table of ops in the documentation is that of the registry."""

import subprocess
import sys

from architecture.sources import ROOT

TOOL = ROOT / "tools" / "op_table.py"


def test_the_table_of_ops_is_current() -> None:
    # In a process of its own: ops that other tests register must not be listed.
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"docs/ops.md is not the table of the ops there are\n{done.stdout}{done.stderr}\n"
        "Try: python tools/op_table.py --write"
    )
