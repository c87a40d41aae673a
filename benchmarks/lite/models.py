"""The SavedModels of `make lite`: those of the tests, the digits, and a member of each family."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pinnace as tf

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from interop import made_here  # noqa: E402 - the path is set above

GOLDEN = ROOT / "tests" / "golden" / "saved_models"
DIGITS = ROOT / "models" / "digits" / "1"
# Of keras.applications, the smallest member of each.
FAMILIES = (
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "DenseNet121",
    "NASNetMobile",
    "ResNet50",
    "ResNet50V2",
    "Xception",
    "InceptionV3",
    "ConvNeXtTiny",
    "InceptionResNetV2",
    "VGG16",
)
SIZE = 96
# TFLiteConverter takes most recurrent layers with a fixed batch alone.
ONE_ROW = ("LSTM", "GRU")


class Model(NamedTuple):
    """A model to convert.

    Attributes:
        name: in the table.
        folder: of the SavedModel.
    """

    name: str
    folder: Path


def models(scratch: Path, families: Sequence[str]) -> Iterator[Model]:
    """Every model; those that are no files of the tests are written first.

    Args:
        scratch: where to.
        families: of FAMILIES.
    """
    if not (DIGITS / "saved_model.pb").exists():
        raise SystemExit(f"compare: {DIGITS} is missing\n  Try: make lite, which trains it first")
    for file in sorted(GOLDEN.glob("*/model")):
        yield Model(file.parent.name, file)
    for name in made_here.MODELS:
        folder, _ = made_here.write(name, scratch / f"interop_{name}")
        yield Model(f"ours_{name}", folder)
    for name in ONE_ROW:
        layer = getattr(tf.keras.layers, name)(24, return_sequences=True)
        model = tf.keras.Sequential(
            [tf.keras.Input((16, 12), batch_size=1), layer, tf.keras.layers.Dense(4)]
        )
        yield Model(f"{name}, one row", _exported(model, scratch / name))
    yield Model("digits", DIGITS)
    for name in families:
        # Of VGG, three quarters of the weights are those of its top.
        top = {"include_top": False, "pooling": "avg"} if name == "VGG16" else {}
        rest = {} if top else {"classifier_activation": None}
        make = getattr(tf.keras.applications, name)
        model = make(weights=None, input_shape=(SIZE, SIZE, 3), **top, **rest)
        yield Model(name, _exported(model, scratch / name))


def _exported(model: Any, folder: Path) -> Path:
    draw_weights(model, 1)
    model.export(str(folder), verbose=False)
    return folder


def draw_weights(model: Any, seed: int) -> None:
    """Weights with which every layer's numbers are as large as those of a trained one.

    With those that Keras begins with, deep networks give the same for any picture.
    """
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        shape, last = tuple(weight.shape), weight.path.rsplit("/", 1)[-1]
        if last in {"moving_variance", "variance"}:
            value = rng.uniform(0.5, 1.5, shape)
        elif last == "gamma":
            value = rng.uniform(0.7, 1.1, shape)
        elif len(shape) < 2:
            value = rng.normal(0, 0.1, shape)
        else:
            depthwise = len(shape) == 4 and shape[-1] == 1 and shape[-2] > 3
            inputs = np.prod(shape[:2]) if depthwise else np.prod(shape[:-1])
            value = rng.normal(0, np.sqrt(1.5 / inputs), shape)
        if last == "gamma" and "layer_scale" in weight.path:
            value = rng.uniform(0.05, 0.2, shape)
        weight.assign(value.astype(np.float32))
