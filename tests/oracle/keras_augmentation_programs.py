"""Layers that augment images, with the same seeds: see `both`.

python keras_augmentation_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers

RNG = np.random.default_rng(11)
X = (RNG.random((4, 12, 10, 3)) * 255).astype("float32")
SHARES = RNG.random((4, 12, 10, 3)).astype("float32")
MASKS = RNG.integers(0, 5, (4, 12, 10, 1)).astype("float32")
LABELS = np.eye(4, dtype="float32")


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return np.asarray(x).astype("float64").tolist()


def config(layer: Any) -> Any:
    found = layer.get_config()
    for name in ("name", "dtype", "trainable"):
        found.pop(name, None)
    return found


def drawn(kind: str, *args: Any, images: Any = X, seeded: bool = True, **options: Any) -> Any:
    """Three calls, one of a single image, and the configuration."""
    seeds = {"seed": 5} if seeded else {}
    layer = getattr(layers, kind)(*args, **seeds, **options)
    found = [layer(images, training=True), layer(images, training=True)]
    found.append(layer(images[0], training=True))
    found.append(layer(images, training=False))
    first = layer.__class__(*args, **seeds, **options, data_format="channels_first")
    # AutoContrast uses the second and third axis as height and width in every format.
    found.append(first(images.transpose(0, 3, 1, 2).copy(), training=True))
    return [found, config(layer)]


def with_all(kind: str, *args: Any, **options: Any) -> Any:
    """Images with labels and masks."""
    layer = getattr(layers, kind)(*args, seed=9, **options)
    # Keras writes its results into the dict that it was given.
    found = [
        layer({"images": X, "labels": LABELS, "segmentation_masks": MASKS}, training=True)
        for _ in range(3)
    ]
    return [found, layer({"images": X[0]}, training=True)["images"], config(layer)]


def mixed(kind: str, **options: Any) -> Any:
    layer = getattr(layers, kind)(seed=4, **options)
    found = [layer({"images": X, "labels": LABELS}, training=True) for _ in range(2)]
    found.append(layer({"images": X, "labels": LABELS}, training=False))
    return [found, config(layer)]


def piped() -> Any:
    layer = layers.Pipeline(
        [layers.RandomFlip(seed=3), layers.Rescaling(0.5), layers.RandomBrightness(0.2, seed=2)]
    )
    again = layers.Pipeline.from_config(layer.get_config())
    return [layer(X, training=True), layer(X, training=False), again(X, training=True)]


PROGRAMS = {
    "brightness": lambda: drawn("RandomBrightness", 0.3),
    "brightness_range": lambda: drawn(
        "RandomBrightness", (-0.1, 0.5), value_range=(0, 1), images=SHARES
    ),
    "contrast": lambda: drawn("RandomContrast", 0.4),
    "contrast_range": lambda: drawn("RandomContrast", (0.3, 0.8)),
    "auto_contrast": lambda: drawn("AutoContrast", seeded=False),
    "auto_contrast_range": lambda: drawn(
        "AutoContrast", value_range=(0, 1), images=SHARES, seeded=False
    ),
    "solarization": lambda: drawn("Solarization", 0.3, 0.6),
    "solarization_range": lambda: drawn(
        "Solarization", (0.1, 0.2), (0.4, 0.9), value_range=(0, 1), images=SHARES
    ),
    "posterization": lambda: drawn("RandomPosterization", 5),
    "posterization_range": lambda: drawn(
        "RandomPosterization", (3, 3), value_range=(0, 1), images=SHARES
    ),
    "degeneration": lambda: drawn("RandomColorDegeneration", (0.2, 0.9)),
    "sharpness": lambda: drawn("RandomSharpness", 0.9),
    "equalization": lambda: drawn("Equalization", seeded=False),
    "equalization_range": lambda: drawn(
        "Equalization", value_range=(0, 1), bins=64, images=SHARES, seeded=False
    ),
    "flip": lambda: drawn("RandomFlip"),
    "flip_horizontal": lambda: with_all("RandomFlip", "horizontal"),
    "flip_vertical": lambda: with_all("RandomFlip", "vertical"),
    "rotation": lambda: drawn("RandomRotation", 0.2),
    "rotation_all": lambda: with_all("RandomRotation", (-0.1, 0.3), fill_mode="constant"),
    "translation": lambda: drawn("RandomTranslation", 0.3, (0.1, 0.2), "wrap"),
    "translation_all": lambda: with_all("RandomTranslation", 0.2, 0.3),
    "shear": lambda: drawn("RandomShear", 0.3, (0.1, 0.2)),
    "shear_all": lambda: with_all("RandomShear", 0.2, 0.3),
    "mix_up": lambda: mixed("MixUp", alpha=0.4),
    "cut_mix": lambda: mixed("CutMix"),
    "cut_mix_range": lambda: mixed("CutMix", factor=(0.5, 0.9)),
    "rand_augment": lambda: drawn("RandAugment", num_ops=3)[0][:3],
    "rand_augment_range": lambda: drawn("RandAugment", (0, 1), 2, 0.3, images=SHARES)[0][:3],
    "pipeline": piped,
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
