"""Networks of keras.applications with their configuration, and with all weights disturbed."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

# This folder is `programs` in the other process, and `oracle.programs` in this one.
from .applications import disturb, facts_of, made, text, write  # noqa: TID252


def network(tf: Any, _: Any, maker: Any, keywords: Any, path: Any, x: Any) -> list[Any]:
    """Like `applications.network`; the second text is the configuration.

    Args:
        tf: TensorFlow.
        maker: name of the function.
        keywords: its arguments, JSON; `weights` is None.
        path: file to write, in the format of its extension; empty for none.
        x: images.
    """
    tf.keras.utils.clear_session()
    with blank(tf.keras, not text(path)):
        model = made(tf, text(maker), json.loads(text(keywords)))
    told = [json.dumps(facts_of(model, model.operations)), model.to_json()]
    outputs = []
    if text(path):
        disturb_all(model)
        write(model, text(path))
        outputs = [model(x, training=False)]
    return [*map(tf.constant, told), *outputs]


def published(tf: Any, _: Any, maker: Any, keywords: Any) -> list[Any]:
    """The file that a network requests for its published weights, and its structure."""
    from keras.src.utils import file_utils

    asked: list[Any] = []

    def get_file(fname: str, origin: str, cache_subdir: str, file_hash: str) -> str:
        asked.extend([cache_subdir, fname, origin, file_hash])
        return fname

    kept = file_utils.get_file, tf.keras.Model.load_weights
    file_utils.get_file, tf.keras.Model.load_weights = get_file, lambda *_: None
    tf.keras.utils.clear_session()
    try:
        with blank(tf.keras, True):
            model = made(tf, text(maker), {"weights": "imagenet", **json.loads(text(keywords))})
    finally:
        file_utils.get_file, tf.keras.Model.load_weights = kept
    told = asked, facts_of(model, model.operations)
    return [tf.constant(json.dumps(one)) for one in told]


def digests(tf: Any, _: Any, module: Any) -> list[Any]:
    """Member of a family -> digests of its two files."""
    import importlib

    found = importlib.import_module(f"keras.src.applications.{text(module)}")
    return [tf.constant(json.dumps(found.WEIGHTS_HASHES))]


def dropped(tf: Any, _: Any, path: Any, x: Any) -> list[Any]:
    """The outputs of a small model with StochasticDepth, which is written as a whole."""
    from keras.src.applications.convnext import StochasticDepth

    layers = [tf.keras.Input((3,)), tf.keras.layers.Dense(4), StochasticDepth(0.3)]
    model = tf.keras.Sequential(layers)
    write(model, text(path))
    return [model(x, training=False)]


def read(tf: Any, _: Any, path: Any, x: Any) -> list[Any]:
    """The outputs of a whole model in a file, and its configuration."""
    model = tf.keras.models.load_model(text(path), compile=False)
    return [model(x, training=False), tf.constant(model.to_json())]


@contextlib.contextmanager
def blank(keras: Any, wanted: bool) -> Iterator[None]:
    """Inside the block weights are zeros, if their values are not needed; for both sides.

    Drawing the hundreds of millions of weights of the largest networks would take most of the time.
    """
    kind = keras.initializers.VarianceScaling
    before = kind.__call__
    if wanted:
        kind.__call__ = lambda _, shape, dtype=None, **__: keras.initializers.Zeros()(shape, dtype)
    try:
        yield
    finally:
        kind.__call__ = before


def disturb_all(model: Any) -> None:
    """Like `disturb`, also for the scales of residuals and images; for both sides."""
    disturb(model)
    rng = np.random.default_rng(8)
    for v in model.weights:
        kind = v.name.partition(":")[0].rpartition("/")[2]
        if kind.startswith("variable"):
            # The weight of LayerScale, which is initially so small that residuals have no effect.
            v.assign(rng.uniform(0.2, 0.4, v.shape))
        elif kind in {"mean", "variance"}:
            v.assign(rng.uniform(0.2, 0.6, v.shape))
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):
            # A call reads values derived from mean and variance, which loading a file updates, too.
            layer.finalize_state()
