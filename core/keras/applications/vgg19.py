"""`keras.applications.vgg19`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications import imagenet_utils
from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import Published
from pinnace.keras.applications.vgg import vgg

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model

_URL = (
    "https://storage.googleapis.com/tensorflow/keras-applications/"
    "vgg19/vgg19_weights_tf_dim_ordering_tf_kernels"
)
_FILES = {
    True: Published(f"{_URL}.h5", "cbe5617147190e668d6c5d5026f83318"),
    False: Published(f"{_URL}_notop.h5", "253f8cb515780f3b799900260a226db6"),
}


def VGG19(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "vgg19",
) -> Model:
    """VGG19: 16 convolutions and 3 dense layers, for pictures of 224 x 224.

    Args:
        include_top: whether it ends in the three dense layers.
        weights: None for random values, `imagenet` for those that Keras publishes, or the path of a
            file of weights.
        input_tensor: a KerasTensor to begin with, instead of an Input of its own.
        input_shape: (height, width, channels), at least 32 x 32; height and width may be None
            without the top.
        pooling: without the top: None, `avg` or `max`, over height and width.
        classes: how many, with the top.
        classifier_activation: of the last layer; None gives logits.
        name: of the model.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch,
        height / 32, width / 32, 512], pooled [batch, 512]. Give it what `preprocess_input` gives.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    asked = Arguments(
        who="VGG19",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return vgg(asked, (2, 2, 4, 4, 4), _FILES[asked.include_top])


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Blue, green, red, less ImageNet's means; see `imagenet_utils.preprocess_input`.

    Args:
        x: pictures, red, green, blue in 0 to 255.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
    """
    return imagenet_utils.preprocess_input(x, data_format, "caffe")
