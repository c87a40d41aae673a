"""A model saved over while it is loaded: all of one save, never parts of two."""

from pathlib import Path
from typing import Any

import pytest

import pinnace as tf
from pinnace.saved_model import reading


def save(folder: Path, number: float) -> None:
    module = tf.Module()
    module.number = tf.Variable(number)
    tf.saved_model.save(module, str(folder))


def test_several_saves_during_one_load_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # File systems reuse the inode number of a removed folder, so that after some saves the folder
    # may look as if it had not been replaced.
    folder = tmp_path / "model"
    for _ in range(4):
        save(folder, 1.0)
    load, loads = reading._load, 0
    inode = folder.stat().st_ino

    def load_slowly(*arguments: Any) -> Any:
        nonlocal loads
        loads += 1
        if loads > 1:
            return load(*arguments)
        for _ in range(40):
            save(folder, 2.0)
            if folder.stat().st_ino == inode:
                break
        raise tf.errors.DataLossError("parts of two saves")

    monkeypatch.setattr(reading, "_load", load_slowly)
    assert tf.saved_model.load(str(folder)).number.numpy() == 2.0
    assert loads == 2


def test_a_model_that_is_replaced_in_every_attempt_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    save(folder, 1.0)
    load = reading._load

    def load_slowly(*arguments: Any) -> Any:
        found = load(*arguments)
        save(folder, 2.0)
        return found

    monkeypatch.setattr(reading, "_load", load_slowly)
    with pytest.raises(tf.errors.UnavailableError, match="replaced again and again"):
        tf.saved_model.load(str(folder))
