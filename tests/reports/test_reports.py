"""Programs based on public reports of users: each exits with 0 if its results are right.

Each starts with its area, the report, a description and the right result. It also runs with
TensorFlow: `TF_MODULE=tensorflow python cases/NAME.py`; many of them fail there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("cases")
# Files without a number are imported by several programs.
NAMES = sorted(path.stem for path in CASES.glob("[a-z][0-9][0-9]_*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_reported_program_gives_what_is_right(name: str, tmp_path: Path) -> None:
    # As a user would run it: another process, an empty folder, this interpreter.
    done = subprocess.run(
        [sys.executable, str(CASES / f"{name}.py")],
        cwd=tmp_path,
        env={**os.environ, "TF_MODULE": "pinnace", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{name}: exit code {done.returncode}\n{done.stderr[-4000:]}"


def test_every_case_says_what_is_right() -> None:
    assert len(NAMES) >= 50
    for name in NAMES:
        text = (CASES / f"{name}.py").read_text("utf-8")
        assert text.startswith("# area: "), name
        assert "# Right" in text, name
