"""What every page of docs/ has when pytest runs it: a folder and settings of its own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A page starts in an empty folder, and leaves no setting to the next one."""
    monkeypatch.chdir(tmp_path)
    # `pinnace` is the program beside this interpreter.
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", programs + os.pathsep + os.environ.get("PATH", ""))
    tf.keras.utils.clear_session()
    with np.printoptions():
        yield
    tf.config.run_functions_eagerly(False)
    tf.config.disable_op_determinism()
    tf.config.threading.set_intra_op_parallelism_threads(0)
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, None)
