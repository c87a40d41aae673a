"""Files of Keras 2.13 and 2.14, also as written on Windows."""

import io
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pinnace as tf
from support.golden import golden

FOLDER = golden("keras_files/keras_2").parent
FILES = sorted(
    path.relative_to(FOLDER).as_posix()
    for folder in ("keras_2_13", "keras_2_14")
    for path in golden(f"keras_files/{folder}").iterdir()
    if path.suffix in {".keras", ".h5"}
)


def check(path: Path, arrays: Any) -> None:
    model = tf.keras.models.load_model(path)
    np.testing.assert_allclose(model(arrays["x"]), arrays["y"], atol=1e-5)
    if "dense" not in str(path):  # which is random
        loss = model.train_on_batch(arrays["x"], np.ones_like(arrays["y"]))
        np.testing.assert_allclose(loss, arrays["loss"], rtol=1e-4)


@pytest.mark.parametrize("file", FILES)
def test_it_opens_with_its_weights(file: str) -> None:
    check(FOLDER / file, np.load((FOLDER / file).with_suffix(".npz")))


def as_on_windows(source: Path, target: Path) -> None:
    """The same file with the paths that os.path.join makes there."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    memory = io.BytesIO()
    with (
        h5py.File(io.BytesIO(members["model.weights.h5"])) as old,
        h5py.File(memory, "w") as new,
    ):

        def copy(name: str, item: Any) -> None:
            if not isinstance(item, h5py.Dataset):
                return
            place, own, number = name.rpartition("vars/")
            there = place.rstrip("/").replace("/", "\\")
            group = f"{there}/{own}{number}" if there else f"{own}{number}"
            new.create_dataset(group, data=item[()])

        old.visititems(copy)
    members["model.weights.h5"] = memory.getvalue()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("file", [file for file in FILES if file.endswith(".keras")])
def test_it_may_be_written_on_windows(file: str, tmp_path: Path) -> None:
    arrays = np.load((FOLDER / file).with_suffix(".npz"))
    as_on_windows(FOLDER / file, tmp_path / Path(file).name)
    check(tmp_path / Path(file).name, arrays)
