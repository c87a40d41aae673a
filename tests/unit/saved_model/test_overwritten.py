"""Models whose files are overwritten in place, or truncated, after loading."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.models.runners import load_runner

GOLDEN = Path(__file__).parents[2] / "golden" / "saved_models"
KINDS = ["keras_mlp", "multi_io", "v1_style"]
SIZE = 512  # 1 MiB: many pages


def save(folder: Path, value: float) -> Path:
    class Sum(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(np.full((SIZE, SIZE), value, np.float32))

        @tf.function(input_signature=[tf.TensorSpec([None, SIZE], tf.float32, name="x")])
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": tf.matmul(x, self.w)}

    model = Sum()
    tf.saved_model.save(model, str(folder), signatures=model.__call__)
    return folder


def overwrite(folder: Path, source: Path) -> None:
    """Overwrite files in place, like `cp -r source/. folder`."""
    for file in source.rglob("*"):
        if file.is_file():
            shutil.copyfile(file, folder / file.relative_to(source))


X = np.ones((1, SIZE), np.float32)


@pytest.mark.parametrize("asked_before", [True, False])
@pytest.mark.parametrize("way", ["load", "run"])
def test_a_loaded_model_is_what_was_loaded(way: str, asked_before: bool, tmp_path: Path) -> None:
    folder, other = save(tmp_path / "m", 1.0), save(tmp_path / "other", 2.0)
    if way == "load":
        run = tf.saved_model.load(folder).signatures["serving_default"].run_arrays
    else:
        run = load_runner(folder).run
    if asked_before:
        assert run({"x": X})["y"][0, 0] == SIZE
    overwrite(folder, other)
    assert run({"x": X})["y"][0, 0] == SIZE


CUT = """
import os, sys
import numpy as np
from pathlib import Path
from pinnace.deploy.models.runners import load_runner
for folder in sorted(Path(sys.argv[1]).iterdir()):
    runner = load_runner(folder)
    x = {
        name: np.ones([n or 2 for n in spec.shape.dims], spec.dtype.numpy)
        for name, spec in runner.inputs.items()
    }
    before = runner.run(x) if folder.name.endswith("asked") else None
    for file in (folder / "variables").iterdir():
        os.truncate(file, 0)
    after = runner.run(x)
    assert before is None or all((before[name] == after[name]).all() for name in after)
    print(folder.name, flush=True)
"""


def test_models_that_are_cut_short_end_nobody(tmp_path: Path) -> None:
    names = [f"{kind}-{asked}" for kind in KINDS for asked in ("asked", "first")]
    for name in names:
        shutil.copytree(GOLDEN / name.partition("-")[0] / "model", tmp_path / name)
    # In a separate process, since the system would end it on an error.
    command = [sys.executable, "-c", CUT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()) == (0, names), done.stderr


def test_who_wants_files_mapped_shares_them(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", 1.0)
    options = tf.saved_model.LoadOptions(map_weights=True)
    model = tf.saved_model.load(folder, options=options)
    assert model.w.numpy()[0, 0] == 1.0
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(folder) in maps.read_text()
        whole = tf.saved_model.load(save(tmp_path / "n", 1.0))
        assert whole.w.numpy()[0, 0] == 1.0
        assert str(tmp_path / "n") not in maps.read_text()
