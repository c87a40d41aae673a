"""The networks VGG16 and VGG19: 3x3 convolutions in five blocks, then three dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.layers import Conv2D, Dense, Flatten, MaxPooling2D

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.applications.published import Published
    from pinnace.keras.models.model import Model

_FILTERS = (64, 128, 256, 512, 512)


def vgg(asked: Arguments, depths: tuple[int, ...], file: Published) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        depths: convolutions in each block.
        file: its published weights.

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
    return asked.model(image, x, file)
