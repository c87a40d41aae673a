"""Threads that run one model while its forms are made and replaced get the plan's results."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import rejections
from pinnace.engine.source import Source
from pinnace.framework import config
from tests.soak.threads import storm
from tests.support.corpus import GOLDEN
from tests.unit.engine.test_tiers import normal, region


@pytest.mark.parametrize("name", ["keras_cnn", "keras_lstm"])
def test_eight_threads_get_the_answers_of_the_plan(name: str) -> None:
    before = rejections.count()
    found = storm(GOLDEN / name / "model", seconds=2.0)
    assert not found.wrong
    assert found.answers > 0
    assert rejections.count() == before


def test_functions_for_two_shapes_that_are_written_at_once_call_their_own_regions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names of regions are the plan's: one written between another's definition and use hid it."""
    monkeypatch.setattr(config.settings, "tier", "compiled")
    function = tf.function(region, input_signature=[tf.TensorSpec([None, 512], tf.float32)])
    inputs = [tf.constant(normal(64, 512)), tf.constant(normal(96, 512))]
    wanted = [np.tanh(x.numpy() * 1.5 + 0.25) * np.exp(-x.numpy()) for x in inputs]
    body, other = Source.body, threading.Event()

    def slow(self: Any, *arguments: Any, **options: Any) -> Any:
        lines = body(self, *arguments, **options)
        if any("f" in line.split("=")[1][:2] for line in lines if "=" in line):
            # The first thread continues when the other one has written, or cannot.
            if other.is_set():
                return lines
            other.set()
            threading.Event().wait(0.5)
        return lines

    monkeypatch.setattr(Source, "body", slow)
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        found[number] = function(inputs[number]).numpy()

    function.get_concrete_function()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for number, one in enumerate(wanted):
        np.testing.assert_allclose(found[number], one, rtol=1e-5, atol=1e-5)
