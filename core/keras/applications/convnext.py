"""`keras.applications.convnext`: ConvNeXtTiny, and Small to XLarge, which are deeper and wider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.constructors import INCLUDE_TOP, told
from pinnace.keras.applications.convnext_network import convnext
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.models.model import Model

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
    """A decorator as `usual`, of functions that are told whether the model scales pixels."""

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
            asked = Arguments(
                who=build.__name__,
                name=name,
                include_top=include_top,
                weights=weights,
                input_tensor=input_tensor,
                input_shape=input_shape,
                pooling=pooling,
                classes=classes,
                classifier_activation=classifier_activation,
            )
            return build(asked, include_preprocessing)

        return told(made, build, _GIVES.format(channels), first=INCLUDE_TOP + _SCALING)

    return decorated


@_scaling("convnext_tiny", 768)
def ConvNeXtTiny(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtTiny: 18 blocks, for pictures of 224 x 224."""
    return convnext(asked, "tiny", scales)


@_scaling("convnext_small", 768)
def ConvNeXtSmall(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtSmall: 36 blocks, for pictures of 224 x 224."""
    return convnext(asked, "small", scales)


@_scaling("convnext_base", 1024)
def ConvNeXtBase(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtBase: 36 blocks, for pictures of 224 x 224."""
    return convnext(asked, "base", scales)


@_scaling("convnext_large", 1536)
def ConvNeXtLarge(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtLarge: 36 blocks, for pictures of 224 x 224."""
    return convnext(asked, "large", scales)


@_scaling("convnext_xlarge", 2048)
def ConvNeXtXLarge(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """ConvNeXtXLarge: 36 blocks, for pictures of 224 x 224."""
    return convnext(asked, "xlarge", scales)
