"""Programs with random image augmentation, run by Keras and by this library.

Run as a program: `python changed_pictures.py PACKAGES FOLDER ANSWERS`, where PACKAGES has SciPy,
Pillow and pandas.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "turned": {"rotation_range": 40},
    "turned upright": {"rotation_range": 40, "data_format": "channels_first"},
    "shifted": {"width_shift_range": 0.3, "height_shift_range": 0.2, "fill_mode": "reflect"},
    "shifted by pixels": {"width_shift_range": 3, "height_shift_range": [1, 2], "cval": 0.5},
    "constant": {"shear_range": 30.0, "fill_mode": "constant", "cval": 7.0},
    "wrapped": {"zoom_range": [0.5, 1.7], "fill_mode": "wrap", "rotation_range": 10},
    "nearest pixel": {"zoom_range": 0.4, "interpolation_order": 0, "fill_mode": "reflect"},
    "splines": {"rotation_range": 90, "interpolation_order": 3, "fill_mode": "reflect"},
    "flipped": {"horizontal_flip": True, "vertical_flip": True, "rescale": 1 / 255},
    "coloured": {"channel_shift_range": 40.0, "brightness_range": (0.5, 1.5)},
    "centred": {"samplewise_center": True, "samplewise_std_normalization": True},
    "all": {
        "rotation_range": 20,
        "width_shift_range": 0.1,
        "height_shift_range": 0.1,
        "shear_range": 10,
        "zoom_range": 0.2,
        "horizontal_flip": True,
        "rescale": 0.5,
        "channel_shift_range": 9.0,
        "featurewise_center": True,
        "featurewise_std_normalization": True,
        "validation_split": 0.4,
    },
    "whitened": {"zca_whitening": True, "zca_epsilon": 1e-3, "rotation_range": 5},
}


def pictures() -> Any:
    return np.random.default_rng(1).integers(0, 256, (10, 7, 9, 3)).astype(np.float32)


def write_files(folder: Path) -> None:
    """Write two folders of images, one with a subfolder, and files that are not images."""
    from PIL import Image

    for number, x in enumerate(pictures()):
        name = f"{'cats' if number % 3 else 'dogs/young'}/{number}.{'jpg' if number % 2 else 'PNG'}"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(x.astype(np.uint8)).save(folder / name)
    (folder / "cats" / "notes.txt").write_text("no picture")
    (folder / "list.txt").write_text("no class")


def _single(image: Any, kind: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    x = pictures()
    for name, settings in CHANGES.items():
        change = kind(**settings)
        own = x.transpose(0, 3, 1, 2) if settings.get("data_format") == "channels_first" else x
        change.fit(own, augment=name == "all", rounds=2, seed=3)
        found[f"{name}: fitted"] = [change.mean, change.std, change.zca_whitening_matrix]
        for seed in range(4):
            drawn = change.get_random_transform(own[0].shape, seed)
            found[f"{name}: drawn {seed}"] = [drawn[key] for key in sorted(drawn)]
            found[f"{name}: changed {seed}"] = [
                change.apply_transform(own[seed].copy(), drawn),
                change.random_transform(own[seed].copy(), seed),
                change.standardize(own[seed].copy()),
            ]
        flow = change.flow(own, np.arange(10), batch_size=4, seed=11)
        found[f"{name}: flow"] = [
            next(flow),
            next(flow),
            next(flow),
            next(flow),
            flow[1],
            len(flow),
        ]
    np.random.seed(5)  # noqa: NPY002 (the generator that Keras draws from)
    found["functions"] = [
        image.random_rotation(x[0], 30, 0, 1, 2),
        image.random_shift(x[0], 0.2, 0.3, 0, 1, 2, "wrap"),
        image.random_shear(x[0], 20, 0, 1, 2, "constant", 3.0),
        image.random_zoom(x[0], (0.5, 2.0), 0, 1, 2, interpolation_order=0),
        image.random_channel_shift(x[0], 30.0, 2),
        image.random_brightness(x[0], (0.2, 2.0)),
        image.apply_brightness_shift(x[0] - 90, 1.3, scale=False),
        image.apply_channel_shift(x[0], 12.5, 2),
        image.apply_affine_transform(x[0].astype(np.uint8), 33, 1.5, -2, 5, 0.7, 1.2, 0, 1, 2),
        image.apply_affine_transform(
            x[0].transpose(1, 0, 2), 33, 1.5, row_axis=1, col_axis=0, channel_axis=2
        ),
    ]
    return found


def _batches(kind: Any, folder: Path) -> dict[str, Any]:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

    found: dict[str, Any] = {}
    x, y, weight = pictures(), np.arange(10) % 2, np.arange(10) / 4
    change = kind(rotation_range=20, horizontal_flip=True, validation_split=0.4)
    for subset in ("training", "validation"):
        flow = change.flow((x, [y, x[:, 0]]), y, 4, seed=2, subset=subset)
        found[f"subset {subset}"] = [next(flow), next(flow), flow.n]
    plain = change.flow(x, y, 3, shuffle=False, sample_weight=weight)
    np.random.seed(9)  # noqa: NPY002
    found["weights"] = [next(plain), plain[2]]
    of_folders: dict[str, dict[str, Any]] = {
        "default": {},
        "sparse": {"class_mode": "sparse", "color_mode": "grayscale", "target_size": (5, 4)},
        "binary": {"class_mode": "binary", "subset": "training", "classes": ["dogs", "cats"]},
        "input": {"class_mode": "input", "subset": "validation", "interpolation": "bilinear"},
        "none": {"class_mode": None, "color_mode": "rgba", "shuffle": False},
        "ratio": {"keep_aspect_ratio": True, "target_size": (12, 4)},
    }
    for name, options in of_folders.items():
        flow = change.flow_from_directory(
            folder, seed=4, batch_size=4, **{"target_size": (6, 8), **options}
        )
        found[f"folder {name}"] = [
            [*flow.class_indices.items()], flow.classes, flow.filenames,
            next(flow), next(flow), flow[0],
        ]  # fmt: skip
    table = pd.DataFrame(
        {
            "filename": [*(f"{n}.jpg" for n in (1, 5, 7)), "gone.jpg", "notes.txt"],
            "class": ["a", "b", "a", "b", "a"],
            "many": [["a"], ["a", "b"], ["c", "b"], ["a"], ["a"]],
            "number": [0.5, 1.5, 2.5, 3.5, 4.5],
            "weight": [1, 2, 3, 4, 5],
        }
    )
    of_tables: dict[str, dict[str, Any]] = {
        "default": {},
        "several": {"y_col": "many"},
        "some": {"y_col": "many", "classes": ["b", "a"]},
        "binary": {"class_mode": "binary", "weight_col": "weight", "shuffle": False},
        "raw": {"class_mode": "raw", "y_col": "number"},
        "rows": {"class_mode": "raw", "y_col": ["number", "weight"]},
        "outputs": {"class_mode": "multi_output", "y_col": ["number", "weight"]},
        "subset": {"class_mode": None, "subset": "training"},
    }
    for name, options in of_tables.items():
        flow = change.flow_from_dataframe(
            table, str(folder / "cats"), seed=4, batch_size=2, target_size=(6, 8), **options
        )
        found[f"table {name}"] = [flow.filenames, next(flow), next(flow)]
    saved = folder.parent / "saved"
    saved.mkdir(exist_ok=True)
    flow = kind().flow(x, None, 2, seed=1, save_to_dir=saved, save_prefix="a")
    found["saved"] = [next(flow), sorted(path.name for path in saved.iterdir())]
    return found


def _plain(value: Any) -> Any:
    """A form for JSON: arrays as dtype, shape and bytes of float64."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "values": value.astype(np.float64).tolist()}
    return value.item() if isinstance(value, np.generic) else value


def answers(image: Any, folder: Path) -> dict[str, Any]:
    """All results by the name of their call."""
    kind = image.ImageDataGenerator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without files, settings that override others
        found = {**_single(image, kind), **_batches(kind, folder)}
    return {name: _plain(value) for name, value in found.items()}


def _main() -> None:
    packages, folder, out = sys.argv[1:]
    sys.path.append(packages)
    import scipy.ndimage

    # Keras imports it from a module that newer SciPy versions do not have.
    scipy.ndimage.interpolation = scipy.ndimage
    from keras.src.legacy.preprocessing import (  # type: ignore[import-not-found, unused-ignore]
        image,
    )

    Path(out).write_text(json.dumps(answers(image, Path(folder))))


if __name__ == "__main__":
    _main()
