"""A model beyond the limit of one file, at full size: more than two gigabytes of weights."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import pinnace as tf
from pinnace.deploy.onnx.verification.checking import open_session, run_session

pytestmark = pytest.mark.slow
pytest.importorskip("onnxruntime")

ROWS, COLUMNS = 1 << 16, 8_320
BYTES = ROWS * COLUMNS * 4  # 2.18e9


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A table of rows that begin with their numbers."""
    folder = tmp_path_factory.mktemp("large") / "model"
    values = np.zeros((ROWS, COLUMNS), np.float32)
    values[:, 0] = np.arange(ROWS)
    module = tf.Module()
    module.table = tf.Variable(values)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="i")])
    def rows(i: tf.Tensor) -> tf.Tensor:
        return tf.gather(module.table, i)

    module.rows = rows
    tf.saved_model.save(module, folder, signatures=rows)
    yield folder
    shutil.rmtree(folder)  # pytest would keep it for three more runs


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    """The path to export to, whose folder is removed afterwards."""
    yield tmp_path / "m.onnx"
    shutil.rmtree(tmp_path)


def test_weights_of_two_gigabytes_stand_beside_the_model(model: Path, target: Path) -> None:
    # The parent's memory counts towards a child's peak, so a small process starts the export.
    program = (
        "import json, os, subprocess, sys\n"
        "child = subprocess.Popen(sys.argv[1:])\n"
        "_, status, usage = os.wait4(child.pid, 0)\n"
        "print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]))\n"
    )
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "export", model, target]
    done = subprocess.run(
        [sys.executable, "-IS", "-c", program, *map(str, command)],
        capture_output=True,
        text=True,
        check=True,
    )
    code, peak = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    data = Path(f"{target}.data")
    assert data.stat().st_size >= BYTES > 1 << 31
    assert target.stat().st_size < 10_000
    if sys.platform == "linux":  # kilobytes
        assert peak * 1024 <= 1.3 * BYTES + 150e6
    onnx.checker.check_model(os.fspath(target), full_check=True)
    wanted = np.array([0, ROWS - 1, 12_345], np.int32)
    (got,) = run_session(open_session(target, lean=True), {"i": wanted})
    np.testing.assert_array_equal(got[:, 0], wanted)
    assert not got[:, 1:].any()


def test_one_file_is_refused(model: Path, target: Path) -> None:
    for option in ("--int8", "--ort"):
        done = subprocess.run(
            [sys.executable, "-m", "pinnace.deploy.cli.main", "export", model, target, option],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "holds at most 2 GiB" in done.stderr
        assert not list(target.parent.iterdir())
