"""The table of ops in ONNX is that of the converters, and of what ran in ONNX Runtime."""

import subprocess
import sys

from architecture.sources import ROOT

TOOL = ROOT / "tools" / "onnx_coverage.py"


def test_the_table_of_ops_in_onnx_is_current() -> None:
    # In a process of its own: ops that other tests register must not be listed.
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"docs/onnx_coverage.md is not what the cases give\n{done.stdout}{done.stderr}\n"
        "Try: python tools/onnx_coverage.py --write"
    )
