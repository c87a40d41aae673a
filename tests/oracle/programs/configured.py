"""Networks of keras.applications with their configuration, and with all weights disturbed."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

# The other process knows this folder as `programs`, this one as `oracle.programs`.
from .applications import disturb, facts_of, made, text, write  # noqa: TID252


def network(tf: Any, _: Any, maker: Any, keywords: Any, path: Any, x: Any) -> list[Any]:
    """As `applications.network`; the second text is the configuration.

    Args:
        tf: TensorFlow.
        maker: name of the function.
        keywords: its arguments, JSON; `weights` is None.
        path: file to write, its ending says how; empty for none.
        x: pictures.
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
    """The file that a network asks for its published weights, and what the network is made of."""
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
    """A small model with StochasticDepth, which is written whole; what it gives."""
    from keras.src.applications.convnext import StochasticDepth

    layers = [tf.keras.Input((3,)), tf.keras.layers.Dense(4), StochasticDepth(0.3)]
    model = tf.keras.Sequential(layers)
    write(model, text(path))
    return [model(x, training=False)]


def read(tf: Any, _: Any, path: Any, x: Any) -> list[Any]:
    """What a whole model in a file gives, and its configuration."""
    model = tf.keras.models.load_model(text(path), compile=False)
    return [model(x, training=False), tf.constant(model.to_json())]


@contextlib.contextmanager
def blank(keras: Any, wanted: bool) -> Iterator[None]:
    """Inside the block weights are zeros, if their values are not asked for; for both sides.

    Drawing the hundreds of millions of the largest networks takes longer than all of the rest.
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
    """As `disturb`, and what residuals and pictures are scaled by; for both sides."""
    disturb(model)
    rng = np.random.default_rng(8)
    for v in model.weights:
        kind = v.name.partition(":")[0].rpartition("/")[2]
        if kind.startswith("variable"):
            # The weight of LayerScale, which begins so small that residuals do not count.
            v.assign(rng.uniform(0.2, 0.4, v.shape))
        elif kind in {"mean", "variance"}:
            v.assign(rng.uniform(0.2, 0.6, v.shape))
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):
            # A call reads what this makes of mean and variance, as it does after a file was read.
            layer.finalize_state()
