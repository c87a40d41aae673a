"""`keras.applications.convnext`: residual blocks of a depthwise and two dense layers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pinnace.keras.applications.arguments import Arguments, sources
from pinnace.keras.applications.constructors import INCLUDE_TOP, told
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import pair
from pinnace.keras.applications.residual_layers import LayerScale
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input
from pinnace.keras.layers import (
    Activation,
    Conv2D,
    Dense,
    GlobalAveragePooling2D,
    LayerNormalization,
    Normalization,
)
from pinnace.keras.models.sequential import Sequential

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/convnext/convnext_"
_EPSILON = 1e-6
# The initial scale of the channels of a residual.
_SCALE = 1e-6
# Mean and standard deviation of ImageNet's images, per channel, for values in [0, 1].
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)
# The digests of the files, with the classes and without.
DIGESTS = {
    "tiny": (
        "8ae6e78ce2933352b1ef4008e6dd2f17bc40771563877d156bc6426c7cf503ff",
        "d547c096cabd03329d7be5562c5e14798aa39ed24b474157cef5e85ab9e49ef1",
    ),
    "small": (
        "ce1277d8f1ee5a0ef0e171469089c18f5233860ceaf9b168049cb9263fd7483c",
        "6fc8009faa2f00c1c1dfce59feea9b0745eb260a7dd11bee65c8e20843da6eab",
    ),
    "base": (
        "52cbb006d3dadd03f6e095a8ca1aca47aecdd75acb4bc74bce1f5c695d0086e6",
        "40a20c5548a5e9202f69735ecc06c990e6b7c9d2de39f0361e27baeb24cb7c45",
    ),
    "large": (
        "070c5ed9ed289581e477741d3b34beffa920db8cf590899d6d2c67fba2a198a6",
        "96f02b6f0753d4f543261bc9d09bed650f24dd6bc02ddde3066135b63d23a1cd",
    ),
    "xlarge": (
        "c1f5ccab661354fc3a79a10fa99af82f0fbf10ec65cb894a3ae0815f17a889ee",
        "de3f8a54174130e0cecdc71583354753d557fcf1f4487331558e2a16ba0cfe05",
    ),
}
_GIVES = """height / 32,
    width / 32, {0}], rounded down, pooled [batch, {0}]. The names of all layers begin with that of
    the model."""
_SCALING = """include_preprocessing: whether the model scales pixels from 0 to 255 itself, if they
    have 3 channels; otherwise give it what it was trained on: less ImageNet's mean, by its
    deviation.
"""


class _Network(Protocol):
    def __call__(
        self,
        include_top: bool = True,
        include_preprocessing: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
        name: str | None = ...,
    ) -> Model: ...


def _scaling(
    known_as: str, channels: int
) -> Callable[[Callable[[Arguments, bool], Model]], _Network]:
    """A decorator like `usual`, for functions with an argument for scaling inside the model."""

    def decorated(build: Callable[[Arguments, bool], Model]) -> _Network:
        def made(
            include_top: bool = True,
            include_preprocessing: bool = True,
            weights: Any = "imagenet",
            input_tensor: Any = None,
            input_shape: Any = None,
            pooling: str | None = None,
            classes: int = 1000,
            classifier_activation: Any = "softmax",
            name: str | None = known_as,
        ) -> Model:
            asked = Arguments.of(build.__name__, locals())
            return build(asked, include_preprocessing)

        return told(made, build, _GIVES.format(channels), first=INCLUDE_TOP + _SCALING)

    return decorated


@_scaling("convnext_tiny", 768)
def ConvNeXtTiny(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtTiny: 18 blocks, for images of 224 x 224."""
    return _convnext(asked, "tiny", scales, 96, (3, 3, 9, 3))


@_scaling("convnext_small", 768)
def ConvNeXtSmall(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtSmall: 36 blocks, for images of 224 x 224."""
    return _convnext(asked, "small", scales, 96, (3, 3, 27, 3))


@_scaling("convnext_base", 1024)
def ConvNeXtBase(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtBase: 36 blocks, for images of 224 x 224."""
    return _convnext(asked, "base", scales, 128, (3, 3, 27, 3))


@_scaling("convnext_large", 1536)
def ConvNeXtLarge(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtLarge: 36 blocks, for images of 224 x 224."""
    return _convnext(asked, "large", scales, 192, (3, 3, 27, 3))


@_scaling("convnext_xlarge", 2048)
def ConvNeXtXLarge(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtXLarge: 36 blocks, for images of 224 x 224."""
    return _convnext(asked, "xlarge", scales, 256, (3, 3, 27, 3))


def _convnext(
    asked: Arguments, which: str, scales: bool, channels: int, depths: tuple[int, ...]
) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `tiny`, `small`, `base`, `large` or `xlarge`.
        scales: whether the model scales pixels itself.
        channels: channels of the first stage; each other one has twice as many as the one before.
        depths: the blocks of each stage.

    Source:
        Liu et al., "A ConvNet for the 2020s", 2022; names and order of layers are Keras'.
    """
    name, shape = asked.name, asked.checked_shape()
    image = asked.image(shape)
    x = image
    if scales and shape[-1] == 3:
        x = _normalized(x, f"{name}_prestem_normalization")
    for stage, depth in enumerate(depths):
        x = _reduction(name, stage, channels << stage)(x)
        for place in range(depth):
            x = _block(x, channels << stage, f"{name}_stage_{stage}_block_{place}")
    if asked.include_top:
        x = GlobalAveragePooling2D(name=f"{name}_head_gap")(x)
        x = LayerNormalization(epsilon=_EPSILON, name=f"{name}_head_layernorm")(x)
        x = asked.classified(x, f"{name}_head_dense")
    else:
        x = LayerNormalization(epsilon=_EPSILON)(asked.pooled(x))
    file = pair(f"{_URL}{which}", *DIGESTS[which])[asked.include_top]
    if asked.input_tensor is not None:
        # Keras gives this network a single input instead of a list of one.
        asked, image = replace(asked, input_tensor=None), sources(image)[0]
    return asked.model(image, x, file)


def _normalized(x: Any, name: str) -> Any:
    """Pixels in [0, 255] minus ImageNet's mean, divided by its standard deviation."""
    mean = [mean * 255 for mean in _MEAN]
    variance = [(deviation * 255) ** 2 for deviation in _DEVIATION]
    return Normalization(mean=mean, variance=variance, name=name)(x)


def _reduction(name: str | None, stage: int, channels: int) -> Sequential:
    """The downsampling before a stage's blocks: by 4 in the first stage, by 2 in the others."""
    if stage == 0:
        layers = [
            Conv2D(channels, kernel_size=4, strides=4, name=f"{name}_stem_conv"),
            LayerNormalization(epsilon=_EPSILON, name=f"{name}_stem_layernorm"),
        ]
        return Sequential(layers, name=f"{name}_stem")
    step = f"{name}_downsampling"
    layers = [
        LayerNormalization(epsilon=_EPSILON, name=f"{step}_layernorm_{stage - 1}"),
        Conv2D(channels, kernel_size=2, strides=2, name=f"{step}_conv_{stage - 1}"),
    ]
    return Sequential(layers, name=f"{step}_block_{stage - 1}")


def _block(start: Any, channels: int, name: str) -> Any:
    depthwise = Conv2D(
        channels, kernel_size=7, padding="same", groups=channels, name=f"{name}_depthwise_conv"
    )
    x = LayerNormalization(epsilon=_EPSILON, name=f"{name}_layernorm")(depthwise(start))
    x = Dense(4 * channels, name=f"{name}_pointwise_conv_1")(x)
    x = Activation("gelu", name=f"{name}_gelu")(x)
    x = Dense(channels, name=f"{name}_pointwise_conv_2")(x)
    x = LayerScale(_SCALE, channels, name=f"{name}_layer_scale")(x)
    # The place of Keras' stochastic depth, which its own networks do not use.
    return start + Activation("linear", name=f"{name}_identity")(x)
