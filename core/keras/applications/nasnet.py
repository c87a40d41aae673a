"""`keras.applications.nasnet`: NASNetMobile and NASNetLarge, made of cells found by search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.keras.applications.about_zero import preprocess_input as preprocess_input
from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.nasnet_cells import normal_cell, normalized, reduction_cell
from pinnace.keras.applications.published import Published
from pinnace.keras.layers import Activation, Conv2D, GlobalAveragePooling2D

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/nasnet/NASNet-"
_FILES = {
    ("mobile", True): Published(
        f"{_URL}mobile.h5", "020fb642bf7360b370c678b08e0adf61", "nasnet_mobile.h5"
    ),
    ("mobile", False): Published(
        f"{_URL}mobile-no-top.h5", "1ed92395b5b598bdda52abe5c0dbfd63", "nasnet_mobile_no_top.h5"
    ),
    ("large", True): Published(
        f"{_URL}large.h5", "11577c9a518f0070763c2b964a382f17", "nasnet_large.h5"
    ),
    ("large", False): Published(
        f"{_URL}large-no-top.h5", "d81d89dc07e6e56530c4e77faddd61b5", "nasnet_large_no_top.h5"
    ),
}


class _Kind(NamedTuple):
    """A member of the family: filters, cells between reductions, usual pictures.

    `skips`: whether the cell after a reduction goes back to before the cell before it.
    """

    filters: int
    cells: int
    stem: int
    skips: bool
    size: int


_KINDS = {
    "mobile": _Kind(filters=44, cells=4, stem=32, skips=False, size=224),
    "large": _Kind(filters=168, cells=6, stem=96, skips=True, size=331),
}


def NASNetMobile(  # noqa: N802 (Keras' name)
    input_shape: Any = None,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "nasnet_mobile",
) -> Model:
    """NASNet-A (4 @ 1056): 12 normal cells, for images of 224 x 224.

    Args:
        input_shape: (height, width, channels), at least 32 x 32, all known; None is (224, 224, 3).
        include_top: whether it ends in classes.
        weights: None for random values, `imagenet` for those that Keras publishes, or the path of a
            file of weights.
        input_tensor: a KerasTensor to begin with, instead of an Input of its own.
        pooling: without the top: None, `avg` or `max`, over height and width.
        classes: the number of classes, with the top.
        classifier_activation: activation of the last layer; None gives logits.
        name: name of the model.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch, 7, 7,
        1056] for 224 x 224, pooled [batch, 1056]. Its input is the result of `preprocess_input`.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    if not include_top and input_shape is None:
        input_shape = (224, 224, 3)
    return _model("mobile", Arguments.of("NASNetMobile", locals()))


def NASNetLarge(  # noqa: N802 (Keras' name)
    input_shape: Any = None,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "nasnet_large",
) -> Model:
    """NASNet-A (6 @ 4032): 18 normal cells, for images of 331 x 331; 4032 channels at the end.

    Args:
        input_shape: (height, width, channels), at least 32 x 32, all known; None is (331, 331, 3)
            with the top, and must not be left without it.
        include_top: see `NASNetMobile`.
        weights: see there.
        input_tensor: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: name of the model.
    """
    return _model("large", Arguments.of("NASNetLarge", locals()))


def _model(which: str, asked: Arguments) -> Model:
    kind = _KINDS[which]
    image = asked.image(asked.checked_shape(kind.size))
    if None in image.shape[1:3]:
        # A cell depends on whether the previous one halved the image. With unknown sizes Keras
        # assumes that none did, and its models fail when they are called.
        raise ValueError(
            f"{asked.who}: height and width must be known, got {image.spec.shape.text}\n"
            f"  Try: input_shape=({kind.size}, {kind.size}, 3)"
        )
    x = Conv2D(
        kind.stem,
        (3, 3),
        strides=(2, 2),
        padding="valid",
        use_bias=False,
        kernel_initializer="he_normal",
        name="stem_conv1",
    )(image)
    x = _cells(normalized(x, "stem_bn1"), kind)
    x = Activation("relu")(x)
    x = asked.classified(GlobalAveragePooling2D()(x)) if asked.include_top else asked.pooled(x)
    return asked.model(image, x, _FILES[which, asked.include_top])


def _cells(x: Any, kind: _Kind) -> Any:
    """The stem's two reductions, and three rows of normal cells with reductions between them."""
    filters = kind.filters
    previous, x = x, reduction_cell(x, None, filters // 4, "stem_1")
    previous, x = x, reduction_cell(x, previous, filters // 2, "stem_2")
    for row in range(3):
        first = row * kind.cells
        if row:
            before, start = previous, x
            x = reduction_cell(x, before, filters * 2**row, f"reduce_{first}")
            previous = before if kind.skips else start
        for number in range(first, first + kind.cells):
            which = f"{number + 1 if row else number}"
            previous, x = x, normal_cell(x, previous, filters * 2**row, which)
    return x
