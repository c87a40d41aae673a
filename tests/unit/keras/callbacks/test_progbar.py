"""`keras.utils.Progbar`: its output to a terminal, to a file, to the log."""

import logging
import sys

import numpy as np
import pytest

import pinnace as tf


def _measured(bar: tf.keras.utils.Progbar) -> None:
    bar.update(1, [("loss", 1.0), ("rate", 0.5)])
    bar.update(3, [("loss", 4.0), ("rate", 0.25)])
    bar.update(4, [("loss", np.float32(7.0))], finalize=False)


def test_means_count_steps_and_stateful_metrics_are_the_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bar = tf.keras.utils.Progbar(None, interval=0, stateful_metrics=["rate"])
    _measured(bar)
    # One step of 1, two of 4, one of 7: a mean of 4.
    assert capsys.readouterr().out.splitlines()[-1].endswith(" - loss: 4.0000 - rate: 0.2500")


def test_a_file_gets_lines_and_the_last_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    bar = tf.keras.utils.Progbar(12, width=6, interval=0, unit_name="sample")
    bar.add(6, [("loss", 1e-5)])
    bar.add(6, [("loss", 1e-5)])
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(" 6/12 ━━━╌╌╌ ")
    assert last.startswith("12/12 ━━━━━━ ")
    assert "/sample" in last
    assert last.endswith(" - loss: 1.0000e-05")


def test_a_screen_has_one_line_that_is_drawn_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    bar = tf.keras.utils.Progbar(2, interval=0)
    bar.update(1, [("a_long_name", 1.0)])
    bar.update(2)
    out = capsys.readouterr().out
    assert out.count("\r") == 2
    assert out.count("\n") == 1
    assert out.endswith("\n")


def test_the_log_gets_the_lines_when_logging_is_not_interactive(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    tf.keras.utils.disable_interactive_logging()
    try:
        with caplog.at_level(logging.INFO, logger="absl"):
            tf.keras.utils.Progbar(1, verbose=2).update(1, [("loss", 2.0)])
            model.fit(np.zeros((4, 2)), np.zeros((4, 1)), verbose=2)
    finally:
        tf.keras.utils.enable_interactive_logging()
    assert capsys.readouterr().out == ""
    assert caplog.messages[0].endswith(" - loss: 2.0000")
    assert any("Epoch 1/1" in text for text in caplog.messages)


def test_silence_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    _measured(tf.keras.utils.Progbar(4, verbose=0))
    assert capsys.readouterr().out == ""
