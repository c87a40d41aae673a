"""A process killed while it saves over a model leaves the old or the new one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "support" / "kill_while_saving_models.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_kill_at_any_moment_leaves_a_model(tmp_path: Path) -> None:
    kills = os.environ.get("PINNACE_MODEL_KILLS", "15")
    seed = os.environ.get("PINNACE_KILLS_SEED", "0")
    command = [sys.executable, str(SCRIPT), str(tmp_path), kills, seed]
    if "PINNACE_MODEL_KILLS" in os.environ and "PINNACE_TF_PYTHON" in os.environ:
        command.append(os.environ["PINNACE_TF_PYTHON"])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    sys.stdout.write(done.stdout)
    assert f"{kills} kills" in done.stdout
    saves, loads = (int(done.stdout.split()[index]) for index in (2, 4))
    assert saves > 0, "the kills came before anything was saved"
    assert loads > 0, "nobody read meanwhile"
