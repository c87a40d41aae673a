"""`keras.applications.efficientnet_v2`: EfficientNetV2, B0 to B3 and S, M, L."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.constructors import told
from pinnace.keras.applications.efficientnet_v2_network import efficientnet_v2
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.models.model import Model

_GIVES = """height / 32,
    width / 32, {0}], rounded up, pooled [batch, {0}]."""
_SCALING = """include_preprocessing: whether the model scales pixels from 0 to 255 itself; otherwise
    give it what B0 to B3 were trained on: less ImageNet's mean, by its deviation; S, M and L: from
    -1 to 1.
"""


class _Network(Protocol):
    def __call__(
        self,
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
        include_preprocessing: bool = True,
        name: str | None = ...,
    ) -> Model: ...


def _scaling(
    known_as: str, channels: int
) -> Callable[[Callable[[Arguments, bool], Model]], _Network]:
    """A decorator as `usual`, of functions that are told whether the model scales pixels."""

    def decorated(build: Callable[[Arguments, bool], Model]) -> _Network:
        def made(
            include_top: bool = True,
            weights: Any = "imagenet",
            input_tensor: Any = None,
            input_shape: Any = None,
            pooling: str | None = None,
            classes: int = 1000,
            classifier_activation: Any = "softmax",
            include_preprocessing: bool = True,
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

        return told(made, build, _GIVES.format(channels), last=_SCALING)

    return decorated


@_scaling("efficientnetv2-b0", 1280)
def EfficientNetV2B0(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B0: 21 blocks, for pictures of 224 x 224."""
    return efficientnet_v2(asked, "b0", scales)


@_scaling("efficientnetv2-b1", 1280)
def EfficientNetV2B1(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B1: 27 blocks, for pictures of 240 x 240."""
    return efficientnet_v2(asked, "b1", scales)


@_scaling("efficientnetv2-b2", 1408)
def EfficientNetV2B2(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B2: 28 blocks, for pictures of 260 x 260."""
    return efficientnet_v2(asked, "b2", scales)


@_scaling("efficientnetv2-b3", 1536)
def EfficientNetV2B3(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B3: 32 blocks, for pictures of 300 x 300."""
    return efficientnet_v2(asked, "b3", scales)


@_scaling("efficientnetv2-s", 1280)
def EfficientNetV2S(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2S: 40 blocks, for pictures of 384 x 384."""
    return efficientnet_v2(asked, "s", scales)


@_scaling("efficientnetv2-m", 1280)
def EfficientNetV2M(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2M: 57 blocks, for pictures of 480 x 480."""
    return efficientnet_v2(asked, "m", scales)


@_scaling("efficientnetv2-l", 1280)
def EfficientNetV2L(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2L: 79 blocks, for pictures of 480 x 480."""
    return efficientnet_v2(asked, "l", scales)
