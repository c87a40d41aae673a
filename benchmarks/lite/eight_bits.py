"""What weights of 8 bits cost, with activations of 8 and of 16, two classifiers on rows unseen.

One is that of the demo, for handwritten digits of 8 by 8. The other one is a small MobileNetV2 for
the same digits in coloured pictures of 32 by 32, on grounds and at places that are drawn.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import pinnace as tf
from lite.models import DIGITS
from pinnace.deploy import lite

# The demo's split.
HELD_OUT = 360
EXAMPLES = 200
SIDE = 32
FLOAT = "float32"
# Bits of the activations -> our file, and TFLiteConverter's.
FILES = {
    8: ("our int8", "TFLiteConverter's int8"),
    16: ("our int16 and int8", "TFLiteConverter's int16 and int8"),
}
# How many points the share of right answers may be below that of float32.
LOSS = 0.01


class Classifier(NamedTuple):
    """A trained model, and rows with labels.

    Attributes:
        name: in the table.
        folder: of the SavedModel.
        examples: rows of the training, to find ranges with.
        rows: others.
        labels: theirs.
    """

    name: str
    folder: Path
    examples: Any
    rows: Any
    labels: Any


def classifiers(scratch: Path) -> list[Classifier]:
    """Both of them; the second one is trained here."""
    known = load_digits()
    order = np.random.default_rng(0).permutation(len(known.target))
    pictures = known.images[order].astype(np.float32)
    labels = known.target[order].astype(np.int32)
    plain = pictures[..., np.newaxis]
    first = Classifier(
        *("digits", DIGITS, plain[HELD_OUT:][:EXAMPLES]),
        *(plain[:HELD_OUT], labels[:HELD_OUT]),
    )
    train, train_labels = _coloured(pictures[HELD_OUT:], labels[HELD_OUT:], 4, 1)
    rows, row_labels = _coloured(pictures[:HELD_OUT], labels[:HELD_OUT], 3, 2)
    tf.keras.utils.set_random_seed(1)
    model = _mobile_net()
    rate = tf.keras.optimizers.schedules.CosineDecay(4e-3, 10 * len(train) // 64)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
    model.fit(train, train_labels, batch_size=64, epochs=10, verbose=0)
    folder = scratch / "coloured"
    model.export(str(folder), verbose=False)
    return [first, Classifier("coloured digits", folder, train[:EXAMPLES], rows, row_labels)]


def _coloured(pictures: Any, labels: Any, times: int, seed: int) -> tuple[Any, Any]:
    """Each digit that many times: of two or three times its size, in colours, on noise."""
    rng = np.random.default_rng(seed)
    made = []
    for picture in np.repeat(pictures, times, axis=0):
        scale = int(rng.integers(2, 4))
        ink = np.kron(picture / 16, np.ones((scale, scale), np.float32))[..., np.newaxis]
        ground, colour = rng.uniform(0, 0.4, 3), rng.uniform(0.6, 1, 3)
        if rng.random() < 0.5:
            ground, colour = colour, ground
        canvas = ground + rng.normal(0, 0.08, (SIDE, SIDE, 3))
        top, left = rng.integers(0, SIDE - 8 * scale + 1, 2)
        part = canvas[top : top + 8 * scale, left : left + 8 * scale]
        part += ink * (colour - ground)
        made.append(np.clip(255 * canvas, 0, 255))
    order = rng.permutation(len(made))
    return np.stack(made).astype(np.float32)[order], np.repeat(labels, times)[order]


def _mobile_net() -> Any:
    """Inverted residual blocks, as in MobileNetV2, for small pictures."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((SIDE, SIDE, 3), name="picture")

    def normal(x: Any, *, active: bool = True) -> Any:
        x = layers.BatchNormalization(momentum=0.9)(x)
        return layers.ReLU(6.0)(x) if active else x

    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = normal(layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x))
    for filters, strides in ((16, 1), (24, 2), (24, 1), (48, 2), (48, 1)):
        before = x
        x = normal(layers.Conv2D(4 * x.shape[-1], 1, use_bias=False)(x))
        x = normal(layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(x))
        x = normal(layers.Conv2D(filters, 1, use_bias=False)(x), active=False)
        if strides == 1 and before.shape[-1] == filters:
            x = layers.Add()([before, x])
    x = layers.GlobalAveragePooling2D()(normal(layers.Conv2D(96, 1, use_bias=False)(x)))
    return tf.keras.Model(inputs, layers.Dense(10, name="digit")(x))


def jobs(scratch: Path) -> list[dict[str, Any]]:
    """What TensorFlow's environment is asked of each classifier."""
    made = []
    for one in classifiers(scratch):
        function = tf.saved_model.load(str(one.folder)).signatures["serving_default"]
        (name,) = function.structured_input_signature[1]
        ours = {bits: labels[0] for bits, labels in FILES.items()}
        files = {
            label: scratch / f"{one.folder.name}_{number}.tflite"
            for number, label in enumerate((FLOAT, *ours.values()))
        }
        lite.export(one.folder, files[FLOAT])
        lite.export(one.folder, files[ours[8]], int8_static={name: one.examples})
        lite.export(one.folder, files[ours[16]], int16_static={name: one.examples})
        rows = scratch / f"{one.folder.name}_rows.npz"
        np.savez(rows, examples=one.examples, rows=one.rows, labels=one.labels)
        job = {"kind": "int8", "name": one.name, "folder": str(one.folder)}
        job |= {"key": "serving_default", "input": [name], "rows": str(rows)}
        made.append(job | {"files": {label: str(file) for label, file in files.items()}})
    return made


def table(answers: dict[str, dict[str, Any]], bits: int) -> list[str]:
    """Lines: the share of rows that each file gets right, and its bytes.

    Args:
        answers: of each classifier.
        bits: of activations.
    """
    labels = (FLOAT, *FILES[bits])
    lines = [
        f"| classifier | {' | '.join(labels)} | bytes | ours | TFLiteConverter's |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in answers.items():
        if "broken" in found:
            lines.append(f"| {name} | {found['broken']} | | | | | |")
            continue
        kinds = [found[label] for label in labels]
        shares = " | ".join(f"{kind['right']:.2%}" for kind in kinds)
        sizes = " | ".join(str(kind["bytes"]) for kind in kinds)
        lines.append(f"| {name} | {shares} | {sizes} |")
    return lines
