"""Classes from other packages: errors about files with them, and the `--import` of commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.cli.main import main
from pinnace.keras import own_modules
from pinnace.keras.registry import deserialize_keras_object

if TYPE_CHECKING:
    from pathlib import Path

GATES = """
import pinnace as tf

class Gate(tf.keras.layers.Layer):
    def call(self, x):
        return x * 2.0
"""


@pytest.fixture
def gated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a class from a module beside it that is not imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(own_modules.VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "gates_of_mine.py").write_text(GATES)
    space: dict[str, type] = {"__name__": "gates_of_mine"}
    exec(GATES, space)
    model = tf.keras.Sequential([tf.keras.Input((2,)), space["Gate"](), tf.keras.layers.Dense(1)])
    model.save(tmp_path / "gated.keras")
    return tmp_path / "gated.keras"


def test_a_command_is_told_of_the_module(gated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(gated)]) == 1
    assert "Try: --import MODULE" in capsys.readouterr().err
    assert main(["show", str(gated), "--import", "gates_of_mine"]) == 0
    assert "serving_default" in capsys.readouterr().out
    model = tf.keras.models.load_model(gated)
    np.testing.assert_array_equal(model.layers[0](np.ones((1, 2), np.float32)), [[2.0, 2.0]])


def test_a_module_that_is_not_there_is_told(
    gated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(gated), "--import=nowhere_at_all"]) == 1
    assert "No module named 'nowhere_at_all'" in capsys.readouterr().err
    assert main(["show", str(gated), "--import"]) == 1
    assert "--import must be followed by the name of a module" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["keras.layers", "keras.src.layers.preprocessing"])
def test_a_class_of_keras_that_is_missing_is_called_missing(module: str) -> None:
    config = {"module": module, "class_name": "RandomSomething", "config": {}}
    with pytest.raises(ValueError, match=rf"pinnace has no RandomSomething: {module}\.Random"):
        deserialize_keras_object(config)


def test_messages_call_modules_by_their_public_names() -> None:
    with pytest.raises(AttributeError, match=r"'pinnace\.keras\.utils' has no attribute"):
        tf.keras.utils.nothing  # noqa: B018 (it raises)
