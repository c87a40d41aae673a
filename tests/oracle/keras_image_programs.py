"""`keras.ops.image`: see `both`.

python keras_image_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
ops = keras.ops
image = ops.image

RNG = np.random.default_rng(3)
X = RNG.random((2, 9, 7, 3)).astype("float32")
BYTES = RNG.integers(0, 256, (2, 9, 7, 3)).astype("uint8")
FIRST = X.transpose(0, 3, 1, 2).copy()
VOLUMES = RNG.random((2, 5, 6, 7, 2)).astype("float32")
TURN = np.array([[0.9, 0.2, 0.5, -0.1, 1.1, -0.25, 0, 0], [1, 0, 2, 0, 1, -3, 0, 0]], "float32")
CORNERS = np.array([[0, 0], [6, 0], [0, 8], [6, 8]], "float32")
MOVED = CORNERS + RNG.uniform(-1.5, 1.5, (2, 4, 2)).astype("float32")
PLACES = RNG.uniform(-1, 8, (2, 5, 6)).astype("float32")
FAR = RNG.uniform(-12, 22, (2, 5, 6)).astype("float32")
GREY = X[0, :, :, 0].copy()


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.tolist()]


def each(name: str, inputs: Any, *settings: Any) -> Any:
    """The results of a function for each input, with each of the settings."""
    return [getattr(image, name)(x, **options) for x in inputs for options in settings or [{}]]


def sizes(**options: Any) -> Any:
    return each("resize", [X, X[0], BYTES], *({"size": s, **options} for s in ((4, 5), (13, 8))))


def affine(**options: Any) -> Any:
    return [image.affine_transform(x, TURN, **options) for x in (X, BYTES, X.astype("float64"))]


def scaled(**options: Any) -> Any:
    scale, translation = np.array([0.6, 1.7], "float32"), np.array([0.4, -1.3], "float32")
    return image.scale_and_translate(X, (2, 6, 11, 3), scale, translation, (1, 2), **options)


def modelled() -> Any:
    """The functions in functional models."""
    inputs = keras.Input((9, 7, 3))
    found = []
    for function in (
        lambda x: image.resize(x, (4, 5)),
        lambda x: image.pad_images(x, 1, 2, target_height=12, target_width=10),
        lambda x: image.crop_images(x, 1, 2, 3, 2),
        lambda x: image.extract_patches(x, 3, 2, padding="same"),
        lambda x: image.gaussian_blur(x, (5, 3), (1.5, 0.5)),
        lambda x: image.rgb_to_grayscale(image.hsv_to_rgb(image.rgb_to_hsv(x))),
        lambda x: image.sobel_edges(x),
    ):
        outputs = function(inputs)
        model = keras.Model(inputs, outputs)
        found.append([list(outputs.shape), model(X)])
        again = keras.Model.from_config(model.get_config())
        found.append(again(X))
    return found


def errors() -> Any:
    wrong: Any = [
        lambda: image.rgb_to_grayscale(X[0, 0]),
        lambda: image.rgb_to_grayscale(X[..., :2]),
        lambda: image.rgb_to_hsv(BYTES),
        lambda: image.resize(X, (3,)),
        lambda: image.resize(X, (3, 4), interpolation="cubic"),
        lambda: image.resize(X, (3, 4), fill_mode="wrap"),
        lambda: image.resize(X, (3, 4), crop_to_aspect_ratio=True, pad_to_aspect_ratio=True),
        lambda: image.affine_transform(X, TURN, fill_mode="mirror"),
        lambda: image.affine_transform(X, TURN[None]),
        lambda: image.perspective_transform(X, CORNERS[:3], CORNERS[:3]),
        lambda: image.perspective_transform(X, CORNERS, MOVED),
        lambda: image.map_coordinates(GREY, PLACES[:1], 1),
        lambda: image.map_coordinates(GREY, PLACES, 2),
        lambda: image.pad_images(X, 1, 2, 3, 4, 5),
        lambda: image.pad_images(X, 1, 2, target_height=5, target_width=20),
        lambda: image.crop_images(X, 1, 2),
        lambda: image.crop_images(X, -1, 2, 3, 4),
        lambda: image.extract_patches(X, "3"),
        lambda: image.extract_patches(X, (1, 2, 3, 4)),
        lambda: image.scale_and_translate(X, (2, 3, 3, 3), [1.0], [0.0], (1,), "area"),
        lambda: ops.vectorize(3),
    ]
    found = []
    for one in wrong:
        try:
            one()
            found.append("none")
        except Exception as error:
            found.append(type(error).__name__)
    return found


PROGRAMS = {
    "grayscale": lambda: each("rgb_to_grayscale", [X, X[0], X[..., :1], BYTES]),
    "grayscale_first": lambda: each("rgb_to_grayscale", [FIRST], {"data_format": "channels_first"}),
    "hsv": lambda: each("rgb_to_hsv", [X, X[1], X.astype("float64")]),
    "rgb": lambda: each("hsv_to_rgb", [X, X[1]]),
    "hsv_first": lambda: each("rgb_to_hsv", [FIRST, FIRST[0]], {"data_format": "channels_first"}),
    "resize": sizes,
    "resize_nearest": lambda: sizes(interpolation="nearest"),
    "resize_bicubic": lambda: sizes(interpolation="bicubic", antialias=True),
    "resize_lanczos": lambda: sizes(interpolation="lanczos3"),
    "resize_crop": lambda: sizes(crop_to_aspect_ratio=True),
    "resize_pad": lambda: sizes(pad_to_aspect_ratio=True, fill_value=2),
    "resize_first": lambda: each(
        "resize", [FIRST, FIRST[0]], {"size": (4, 5), "data_format": "channels_first"}
    ),
    "affine": affine,
    "affine_nearest": lambda: affine(interpolation="nearest", fill_value=0.5),
    "affine_reflect": lambda: affine(fill_mode="reflect"),
    "affine_wrap": lambda: affine(fill_mode="wrap"),
    "affine_edge": lambda: affine(fill_mode="nearest"),
    "affine_single": lambda: [
        image.affine_transform(X[0], TURN[0]),
        image.affine_transform(X, TURN[0]),
        image.affine_transform(FIRST, TURN, data_format="channels_first"),
    ],
    "perspective": lambda: [
        image.perspective_transform(X, np.stack([CORNERS] * 2), MOVED, fill_value=0.25),
        image.perspective_transform(X, CORNERS, MOVED[0], interpolation="nearest"),
        image.perspective_transform(X[0], CORNERS, MOVED[1]),
        image.perspective_transform(FIRST, CORNERS, MOVED[1], data_format="channels_first"),
    ],
    "places": lambda: [
        image.map_coordinates(x, places, order, mode, 0.5)
        for x in (GREY, (GREY * 100).astype("int32"))
        for places, mode in (
            (FAR, "constant"),
            (FAR, "nearest"),
            (FAR, "wrap"),
            (FAR, "reflect"),
            (np.clip(PLACES, 0, 5), "mirror"),
        )
        for order in (0, 1)
    ],
    "pad": lambda: [
        *each(
            "pad_images",
            [X, X[0], BYTES],
            {
                "top_padding": 1,
                "left_padding": 2,
                "target_height": 12,
                "target_width": 9,
            },
        ),
        *each(
            "pad_images",
            [X],
            {
                "bottom_padding": 1,
                "left_padding": 0,
                "right_padding": 3,
                "target_height": 12,
            },
        ),
        *each(
            "pad_images",
            [FIRST],
            {
                "top_padding": 1,
                "left_padding": 2,
                "bottom_padding": 0,
                "right_padding": 1,
                "data_format": "channels_first",
            },
        ),
    ],
    "crop": lambda: [
        *each(
            "crop_images",
            [X, X[0], BYTES],
            {
                "top_cropping": 1,
                "left_cropping": 2,
                "target_height": 3,
                "target_width": 4,
            },
        ),
        *each(
            "crop_images",
            [X],
            {
                "bottom_cropping": 1,
                "left_cropping": 0,
                "right_cropping": 3,
                "target_height": 2,
            },
        ),
        *each(
            "crop_images",
            [FIRST],
            {
                "top_cropping": 1,
                "left_cropping": 2,
                "bottom_cropping": 0,
                "right_cropping": 1,
                "data_format": "channels_first",
            },
        ),
    ],
    "patches": lambda: [
        *each("extract_patches", [X, X[0]], {"size": 3}, {"size": (2, 3), "strides": 1}),
        *each("extract_patches", [X], {"size": 3, "strides": (2, 1), "padding": "same"}),
        *each("extract_patches", [X], {"size": 2, "strides": 1, "dilation_rate": 2}),
        *each("extract_patches", [FIRST], {"size": 2, "data_format": "channels_first"}),
        *each("extract_patches", [VOLUMES], {"size": (2, 3, 2)}),
    ],
    "patches_3d": lambda: [
        *each("extract_patches_3d", [VOLUMES, VOLUMES[0]], {"size": 2}),
        *each(
            "extract_patches_3d", [VOLUMES], {"size": (2, 3, 1), "strides": 2, "padding": "same"}
        ),
        *each(
            "extract_patches_3d",
            [VOLUMES.transpose(0, 4, 1, 2, 3)],
            {"size": (2, 3, 1), "data_format": "channels_first"},
        ),
    ],
    "blur": lambda: [
        *each("gaussian_blur", [X, X[0]], {}, {"kernel_size": (5, 3), "sigma": (0.5, 2.0)}),
        *each("gaussian_blur", [FIRST], {"data_format": "channels_first"}),
    ],
    "elastic": lambda: [
        *each("elastic_transform", [X, X[0]], {"seed": 7}, {"seed": 3, "alpha": 2.0, "sigma": 1.5}),
        *each(
            "elastic_transform",
            [X],
            *(
                {"seed": 5, "alpha": 9.0, "sigma": 1.0, "fill_mode": m, "interpolation": i}
                for m, i in (("constant", "nearest"), ("wrap", "bilinear"), ("nearest", "bilinear"))
            ),
        ),
        *each("elastic_transform", [FIRST], {"seed": 7, "data_format": "channels_first"}),
    ],
    "scale": lambda: scaled(method="linear"),
    "scale_plain": lambda: scaled(method="bilinear", antialias=False),
    "scale_cubic": lambda: scaled(method="cubic"),
    "scale_lanczos": lambda: scaled(method="lanczos5"),
    "sobel": lambda: [
        *each("sobel_edges", [X]),
        *each("sobel_edges", [FIRST], {"data_format": "channels_first"}),
    ],
    "ssim": lambda: [
        image.ssim(X, X[::-1], filter_size=5),
        image.ssim(X[0], X[1], 2.0, 3, 0.5, 0.02, 0.05),
        image.ssim(FIRST, FIRST[::-1], filter_size=7, data_format="channels_first"),
    ],
    "models": modelled,
    "errors": errors,
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
