"""Fixtures of every page of docs/ when pytest runs it: a folder and settings of its own."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf

# What a page speaks of and could not make: its folder there -> a model of tests/golden.
MODELS = {
    "jax.md": {"mlp": "jax/jax_mlp/model"},
    "hugging_face.md": {"generator": "generators/gpt2/model"},
}
GOLDEN = Path(__file__).parents[1] / "tests" / "golden"


@pytest.fixture(autouse=True)
def fresh(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A page starts in an empty folder, and leaves no setting to the next one."""
    for name, model in MODELS.get(request.path.name, {}).items():
        shutil.copytree(GOLDEN / model, tmp_path / name)
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
