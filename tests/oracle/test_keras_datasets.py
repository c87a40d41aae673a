"""`keras.datasets`, compared with Keras: one folder of files, loaded by both."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pinnace as tf
from pinnace.keras import downloads
from support import dataset_files
from support.loaded_process import run_either

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_files_give_what_they_give_in_keras(
    tensorflow_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, out = tmp_path / "home", tmp_path / "answers.json"
    dataset_files.write_all(home)
    command = [tensorflow_python, dataset_files.__file__, str(home), str(out)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    theirs = json.loads(out.read_text())
    # Keras unpacked the archives; tests/unit checks that we do so, too.
    monkeypatch.setenv("KERAS_HOME", str(home))
    monkeypatch.setattr(downloads, "_has_digest", lambda *_: True)
    ours = json.loads(json.dumps(dataset_files.answers(tf.keras.datasets)))
    assert list(ours) == list(theirs)
    for name, found in theirs.items():
        assert ours[name] == found, name


def test_the_digests_and_addresses_are_those_of_keras(
    tensorflow_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[object]] = []

    def note(fname: str, origin: str, **options: object) -> str:
        asked.append([fname, origin, options["file_hash"], options["cache_subdir"]])
        raise OSError("noted")

    monkeypatch.setattr(downloads, "get_file", note)
    for name in dataset_files.CALLS:
        module = getattr(tf.keras.datasets, name)
        for call in ("load_data", "get_word_index"):
            try:
                getattr(module, call, lambda: None)()
            except OSError:
                continue
    said = run_either(THEIRS, python=tensorflow_python)
    theirs = json.loads(said.splitlines()[-1])
    assert len(theirs) == 10
    assert asked == theirs


THEIRS = f"""
import json
from keras import datasets
from keras.src.datasets import (boston_housing, california_housing, cifar10, cifar100,
    fashion_mnist, imdb, mnist, reuters)

asked = []

def note(fname, origin, file_hash=None, cache_subdir="datasets", **options):
    asked.append([fname, origin, file_hash, cache_subdir])
    raise OSError("noted")

for name in {list(dataset_files.CALLS)}:
    module = globals()[name]
    module.get_file = note
    for call in ("load_data", "get_word_index"):
        try:
            getattr(module, call, lambda: None)()
        except OSError:
            continue
print(json.dumps(asked))
"""
