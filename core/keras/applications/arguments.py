"""The common arguments of all networks: their checks, and the inputs and models made of them."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from pinnace.keras import activations
from pinnace.keras.applications import published
from pinnace.keras.config import image_data_format
from pinnace.keras.layers import Dense, GlobalAveragePooling2D, GlobalMaxPooling2D, Input
from pinnace.keras.models.functional import Functional
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from pinnace.keras.applications.published import Published
    from pinnace.keras.models.model import Model

IMAGENET = "imagenet"
# The number of classes that the published weights tell apart.
CLASSES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments that all networks have.

    Args:
        who: the network, for messages.
        name: name of the model.
        include_top: whether it ends in classes.
        weights: None, `imagenet` or the path of a file.
        input_tensor: the tensor the network begins with, instead of an Input of its own.
        input_shape: shape of a picture.
        pooling: without the top: None, `avg` or `max`.
        classes: the number of classes.
        classifier_activation: activation of the last layer.

    Raises:
        ValueError: `weights` has another value, or there are none for this number of classes.
    """

    who: str
    name: str | None
    include_top: bool
    weights: Any
    input_tensor: Any
    input_shape: Any
    pooling: str | None
    classes: int
    classifier_activation: Any

    def __post_init__(self) -> None:
        if image_data_format() != "channels_last":
            raise ValueError(
                f"{self.who}: networks are made with channels last, and keras.config's "
                "image_data_format is channels_first\n"
                "  Try: keras.config.set_image_data_format('channels_last')"
            )
        if not (self.weights is None or self.imagenet or _exists(self.weights)):
            raise ValueError(
                f"{self.who}: weights must be None (random values), 'imagenet', or the path of a "
                f"file that is there, got {self.weights!r}"
            )
        if self.imagenet and self.include_top and self.classes != CLASSES:
            raise ValueError(
                f"{self.who}: classes must be {CLASSES} with weights='imagenet' and "
                f"include_top=True, got {self.classes}\n"
                "  Try: include_top=False, and a Dense layer of your own"
            )

    @classmethod
    def of(cls, who: str, given: dict[str, Any]) -> Self:
        """The arguments with which a network's constructor was called.

        Args:
            who: the network, for messages.
            given: the locals of the function, by name; others than the arguments are passed over.

        Raises:
            ValueError: see the class.
        """
        return cls(who=who, **{field.name: given[field.name] for field in fields(cls)[1:]})

    @property
    def imagenet(self) -> bool:
        """Whether to load the weights that Keras publishes for ImageNet."""
        return isinstance(self.weights, str) and self.weights == IMAGENET

    def checked_shape(
        self, default_size: int = 224, min_size: int = 32, *, flattened: bool | None = None
    ) -> tuple[int | None, ...]:
        """The shape of an image: the requested or the default one.

        Args:
            default_size: height and width of the pictures that the weights were trained on.
            min_size: the smallest height and width.
            flattened: whether height and width must be known; `include_top` if None.

        Raises:
            ValueError: see `image_shape`.
        """
        return image_shape(
            self.input_shape,
            default_size,
            min_size,
            self.include_top if flattened is None else flattened,
            self.weights,
            who=self.who,
        )

    def image(self, shape: tuple[int | None, ...]) -> KerasTensor:
        """The input of the first layer: `input_tensor`, or an Input of that shape.

        Raises:
            ValueError: `input_tensor` is no KerasTensor.
        """
        if self.input_tensor is None:
            return Input(shape=shape)
        if not isinstance(self.input_tensor, KerasTensor):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"{self.who}: input_tensor must be a KerasTensor, from Input or from layers called "
                f"on one, got {type(self.input_tensor).__name__}"
            )
        return self.input_tensor

    def check_activation(self) -> None:
        """Raise for an activation of the last layer that the weights were not trained with.

        Raises:
            ValueError: with weights, the activation is neither None nor `softmax`.
        """
        if self.weights is None:
            return
        fitting = (activations.get("softmax"), activations.get(None))
        if activations.get(self.classifier_activation) not in fitting:
            raise ValueError(
                f"{self.who}: classifier_activation must be None or 'softmax' with weights and "
                f"include_top=True, got {self.classifier_activation!r}"
            )

    def classified(self, x: Any, name: str = "predictions") -> Any:
        """The top of most networks: `Dense(classes)` with its activation, called on x."""
        self.check_activation()
        return Dense(self.classes, activation=self.classifier_activation, name=name)(x)

    def pooled(self, x: Any, average: str | None = None, maximum: str | None = None) -> Any:
        """x pooled according to `pooling`, for networks without their top.

        Args:
            x: [batch, height, width, channels].
            average: name of the layer, if it is that one.
            maximum: likewise.
        """
        if self.pooling == "avg":
            return GlobalAveragePooling2D(name=average)(x)
        if self.pooling == "max":
            return GlobalMaxPooling2D(name=maximum)(x)
        return x

    def model(self, image: KerasTensor, outputs: Any, file: Published | None) -> Model:
        """The network as a model, with its weights.

        Args:
            image: the result of `image`.
            outputs: outputs of the last layer.
            file: the file that Keras publishes for this network; None if there is none.

        Raises:
            NotFoundError: the published weights are not there.
            ValueError: weights do not fit, or none are published.
        """
        inputs = image if self.input_tensor is None else sources(image)
        model = Functional(inputs, outputs, name=self.name)
        if self.imagenet:
            if file is None:
                raise ValueError(
                    f"{self.who}: Keras publishes no weights for it\n  Try: weights=None"
                )
            remedy = ", or weights=None for random values"
            model.load_weights(published.path_of(file, f"{self.who}: weights='imagenet'", remedy))
        elif self.weights is not None:
            model.load_weights(self.weights)
        return model


def _exists(weights: Any) -> bool:
    """Whether it is a path, text or a Path, that exists."""
    return isinstance(weights, (str, os.PathLike)) and os.path.exists(weights)  # noqa: PTH110 (a text)


def image_shape(
    input_shape: Any,
    default_size: int,
    min_size: int,
    require_flatten: bool,
    weights: Any = None,
    *,
    data_format: str | None = None,
    who: str = "input_shape",
) -> tuple[int | None, ...]:
    """The shape of an image: the requested one if it is valid, or the default one.

    Args:
        input_shape: the requested shape, without the batch axis; None asks for the usual one.
        default_size: height and width of the usual one.
        min_size: the smallest height and width.
        require_flatten: whether height and width must be known.
        weights: with `imagenet` a picture has 3 channels, and the usual size if it must be known.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
        who: name of the caller in messages.

    Raises:
        ValueError: the shape is no such one.
    """
    first = (data_format or image_data_format()) == "channels_first"
    imagenet = isinstance(weights, str) and weights == IMAGENET
    given = None if input_shape is None else tuple(input_shape)
    channels = given[0 if first else -1] if given and len(given) == 3 and not imagenet else 3
    if channels not in {1, 3}:
        warnings.warn(
            f"{who}: pictures usually have 1 or 3 channels, got input_shape={given}", stacklevel=5
        )
    usual = _joined(channels, default_size, default_size, first)
    if imagenet and require_flatten and given not in {None, usual}:
        raise ValueError(
            f"{who}: input_shape must be {usual} with weights='imagenet' and include_top=True, "
            f"got {given}"
        )
    if not given:
        return usual if require_flatten else _joined(3, None, None, first)
    if len(given) != 3:
        raise ValueError(f"{who}: input_shape must be a tuple of three integers, got {given}")
    if imagenet and given[0 if first else -1] != 3:
        raise ValueError(
            f"{who}: the input must have 3 channels with weights='imagenet', got "
            f"input_shape={given}"
        )
    sizes = given[1:] if first else given[:2]
    if any(size is not None and size < min_size for size in sizes):
        raise ValueError(
            f"{who}: input size must be at least {min_size}x{min_size}, got input_shape={given}"
        )
    if require_flatten and None in given:
        raise ValueError(
            f"{who}: input_shape must be known in full if include_top is True, got {given}"
        )
    return given


def _joined(
    channels: int | None, height: int | None, width: int | None, first: bool
) -> tuple[int | None, ...]:
    return (channels, height, width) if first else (height, width, channels)


def sources(x: KerasTensor) -> list[KerasTensor]:
    """The inputs from which a tensor is computed, without duplicates."""
    if x.node is None or not x.node.inputs:
        return [x]
    found = [source for one in x.node.inputs for source in sources(one)]
    return list({id(source): source for source in found}.values())
