"""ImageDataGenerator and related classes: the same seeds give the same images as in Keras."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from typing import TYPE_CHECKING, Any

import numpy as np

import pinnace as tf
from support import changed_pictures

if TYPE_CHECKING:
    from pathlib import Path

# Units in the last place of float32: SciPy sums in C, which fuses multiplications with additions on
# some processors; whitening uses a singular value decomposition from two libraries.
CLOSE = {"rtol": 1e-6, "atol": 1e-4}


def same(ours: Any, theirs: Any, name: str) -> None:
    if isinstance(theirs, dict):
        assert ours["dtype"] == theirs["dtype"], name
        np.testing.assert_allclose(ours["values"], theirs["values"], err_msg=name, **CLOSE)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), name
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, name)
    else:
        assert ours == theirs, name


def test_pictures_are_changed_as_keras_changes_them(tensorflow_python: str, tmp_path: Path) -> None:
    answers = {}
    for who in ("theirs", "ours"):
        folder = tmp_path / who / "files"
        changed_pictures.write_files(folder)
        out = tmp_path / who / "answers.json"
        if who == "theirs":
            packages = sysconfig.get_paths()["purelib"]
            command = [
                tensorflow_python,
                changed_pictures.__file__,
                packages,
                str(folder),
                str(out),
            ]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stderr[-3000:]
            answers[who] = json.loads(out.read_text())
        else:
            found = changed_pictures.answers(tf.keras.preprocessing.image, folder)
            answers[who] = json.loads(json.dumps(found))
    assert list(answers["ours"]) == list(answers["theirs"])
    for name, theirs in answers["theirs"].items():
        same(answers["ours"][name], theirs, name)
