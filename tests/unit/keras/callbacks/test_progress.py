"""ProgbarLogger on a terminal: a bar while it runs, and a final line."""

import sys
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import layers
from pinnace.keras.callbacks import progress

X = np.ones((64, 3), np.float32)
Y = np.ones((64, 1), np.float32)


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model, with stdout replaced by a terminal."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    made = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def test_a_line_stays(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_EVERY_S", 60.0)  # a busy machine updates in between
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
    shown = keras.callbacks.ProgbarLogger()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=[breaking, shown])
    assert shown._bar is None


def test_a_notebook_shows_a_line_that_changes_while_an_epoch_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "_EVERY_S", 0.0)
    made = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    made.compile("sgd", "mse")
    made.fit(X, Y, epochs=2, batch_size=16)
    epochs = capsys.readouterr().out.split("Epoch ")[1:]
    assert len(epochs) == 2
    for text in epochs:
        drawn = text.split("\r")[1:]
        assert [line.split()[0] for line in drawn] == ["1/4", "2/4", "3/4", "4/4", "4/4"]
        assert all("loss: " in line for line in drawn)
        assert drawn[0].count("━") < drawn[-1].count("━")
        assert text.endswith("\n")
        assert "\n" not in "".join(drawn[:-1])


def test_a_log_file_gets_a_line_now_and_then_while_an_epoch_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    made.compile("sgd", "mse")
    for every, count in ((0.0, 5), (3600.0, 1)):
        monkeypatch.setattr(progress, "_LINE_EVERY_S", every)
        made.fit(X, Y, batch_size=16)
        lines = [line for line in capsys.readouterr().out.splitlines() if "loss" in line]
        assert len(lines) == count
        assert lines[-1].startswith("4/4 - ")
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.0)
    made.fit(X, Y, batch_size=16, verbose=2)
    assert capsys.readouterr().out.count("loss") == 1


def test_a_notebook_shows_models_tensors_and_datasets_as_tables() -> None:
    made = keras.Sequential([keras.Input((3,)), layers.Dense(1, name="<last>")])
    assert "<td>&lt;last&gt; (Dense)</td><td>(None, 1)</td><td>4</td>" in made._repr_html_()
    shown = tf.constant(np.arange(400).reshape(20, 20))._repr_html_()
    assert "shape=(20, 20), dtype=int64" in shown
    assert "<td>399</td>" in shown
    assert "<td>190</td>" not in shown
    assert "<td>&lt;b&gt;</td>" in tf.constant(["<b>"])._repr_html_()
    for x in (tf.constant(1.5), tf.zeros([0, 3]), tf.zeros([2, 2, 2])):
        assert x.dtype.name in x._repr_html_()
    slices = tf.data.Dataset.from_tensor_slices({"x": X, "y": Y}).batch(8).repeat()
    shown = slices._repr_html_()
    assert "elements: without end" in shown
    assert "<td>x</td><td>float32</td><td>(None, 3)</td>" in shown


def test_a_summary_says_what_is_connected_to_what(capsys: pytest.CaptureFixture[str]) -> None:
    x = keras.Input((3,), name="x")
    shared = layers.Dense(3, name="shared")
    y = layers.Add(name="sum")([shared(x), shared(layers.ReLU(name="relu")(x))])
    keras.Model(x, y).summary()
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[-2:] == ["Connected", "to"]
    ends = {line.split()[0]: line for line in lines[4:8]}
    assert ends["sum"].endswith("shared[0][0], shared[1][0]")
    assert ends["shared"].endswith("x[0][0], relu[0][0]")
    # Keras: a linear model does not list connections.
    keras.Model(x, shared(x)).summary()
    assert "Connected" not in capsys.readouterr().out


def test_a_summary_shows_a_range_of_layers(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["first", "two", "three", "four"]
    model = keras.Sequential([keras.Input((3,)), *[layers.Dense(3, name=n) for n in names]])
    model.summary(layer_range=["two", "thr"])
    text = capsys.readouterr().out
    assert [name in text for name in names] == [False, True, True, False]
    with pytest.raises(ValueError, match="layer_range must name layers, got 'five'"):
        model.summary(layer_range=["two", "five"])


def test_the_summary_is_a_rich_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = on_terminal(monkeypatch)
    model.summary()
    text = capsys.readouterr().out
    assert "dense" in text
    assert "┃" in text
