"""VGG16 and VGG19: 3x3 convolutions in five blocks, then three dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.published import pair
from pinnace.keras.layers import Conv2D, Dense, Flatten, MaxPooling2D

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/"
_FILTERS = (64, 128, 256, 512, 512)
# The digests of the files, with the classes and without.
_DIGESTS = {
    "vgg16": ("64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"),
    "vgg19": ("cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"),
}
# For the docstrings.
_GIVES = """height / 32,
    width / 32, 512], pooled [batch, 512]. Give it what `preprocess_input` gives."""


@usual("vgg16", _GIVES)
def VGG16(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """VGG16: 13 convolutions and 3 dense layers, for images of 224 x 224."""
    return _vgg(asked, "vgg16", (2, 2, 3, 3, 3))


@usual("vgg19", _GIVES)
def VGG19(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """VGG19: 16 convolutions and 3 dense layers, for images of 224 x 224."""
    return _vgg(asked, "vgg19", (2, 2, 4, 4, 4))


def _vgg(asked: Arguments, which: str, depths: tuple[int, ...]) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `vgg16` or `vgg19`.
        depths: the convolutions in each block.

    Source:
        Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
        Recognition", 2014, table 1, D and E; names and order of layers are Keras'.
    """
    image = asked.image(asked.checked_shape())
    x = image
    for block, (depth, filters) in enumerate(zip(depths, _FILTERS, strict=True), 1):
        for layer in range(1, depth + 1):
            name = f"block{block}_conv{layer}"
            x = Conv2D(filters, (3, 3), activation="relu", padding="same", name=name)(x)
        x = MaxPooling2D((2, 2), strides=(2, 2), name=f"block{block}_pool")(x)
    if asked.include_top:
        x = Flatten(name="flatten")(x)
        x = Dense(4096, activation="relu", name="fc1")(x)
        x = Dense(4096, activation="relu", name="fc2")(x)
        x = asked.classified(x)
    else:
        x = asked.pooled(x)
    files = pair(f"{_URL}{which}/{which}_weights_tf_dim_ordering_tf_kernels", *_DIGESTS[which])
    return asked.model(image, x, files[asked.include_top])
