"""A process that is killed while it saves loses no earlier save."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "support" / "kill_while_saving.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_kill_at_any_moment_loses_no_checkpoint(tmp_path: Path) -> None:
    kills = os.environ.get("PINNACE_KILLS", "40")
    seed = os.environ.get("PINNACE_KILLS_SEED", "0")
    command = [sys.executable, str(SCRIPT), str(tmp_path), kills, seed]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"{kills} kills" in done.stdout
    saves = int(done.stdout.split()[2])
    assert saves > int(kills), "the kills came before anything was saved"
