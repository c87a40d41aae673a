"""Memory of unloaded models: their weights, and what the engine derived from them, are freed."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import numpy as np

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.servable import Servable

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_waits_for_the_collector(tmp_path: Path) -> None:
    module = tf.Module()
    module.w = tf.Variable(np.eye(512, dtype=np.float32))
    serve = tf.function(lambda x: {"y": tf.nn.relu(tf.nn.relu(x @ module.w) @ module.w)})
    spec = tf.TensorSpec((None, 512), tf.float32, name="x")
    path = tmp_path / "1"
    tf.saved_model.save(module, str(path), signatures={"s": serve.get_concrete_function(spec)})
    gc.collect()
    gc.disable()
    try:
        servable = Servable("m", 1, load_model(path))
        x = np.ones((4, 512), np.float32)
        for rows in (4, 4, 2):
            np.testing.assert_array_equal(servable.run_now("s", {"x": x[:rows]})["y"], x[:rows])
        signature = servable.signatures["s"]
        held = weakref.ref(signature.graph), weakref.ref(plan_of(signature.graph))
        servable.close()
        del servable, signature
        assert [one() for one in held] == [None, None]
    finally:
        gc.enable()
