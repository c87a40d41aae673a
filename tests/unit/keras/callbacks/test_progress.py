"""ProgbarLogger on a terminal: a bar while it runs, a line that stays."""

import sys
from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers

X = np.ones((64, 3), np.float32)
Y = np.ones((64, 1), np.float32)


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model, on what says that it is a terminal."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    made = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def test_a_line_stays(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    model = on_terminal(monkeypatch)
    model.fit(X, Y, epochs=2, validation_data=(X, Y))
    lines = [line for line in capsys.readouterr().out.splitlines() if "loss" in line]
    assert len(lines) == 2
    assert all("2/2 ━━━━" in line and " - val_loss: " in line for line in lines)
    model.evaluate(X, Y)
    model.predict(X)
    assert capsys.readouterr().out.count("2/2 ━━━━") == 2


def test_the_bar_is_taken_away_when_training_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    model = on_terminal(monkeypatch)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    breaking = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    progress = keras.callbacks.ProgbarLogger()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=[breaking, progress])
    assert progress._bar is None


def test_the_summary_is_a_rich_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = on_terminal(monkeypatch)
    model.summary()
    text = capsys.readouterr().out
    assert "dense" in text
    assert "┃" in text
