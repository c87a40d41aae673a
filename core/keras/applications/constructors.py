"""Decorators that give a network's constructor the usual public arguments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pinnace.keras.applications.arguments import Arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.models.model import Model

_Function = TypeVar("_Function", bound="Callable[..., Any]")
INCLUDE_TOP = "include_top: whether it ends in classes.\n"
_TEXT = """Args:
    {first}weights: None for random values, `imagenet` for those that Keras publishes, or the path
        of a file of weights.
    input_tensor: a KerasTensor to begin with, instead of an Input of its own.
    input_shape: (height, width, channels), at least {least_size} x {least_size}; height and width
        may be None without the top.
    pooling: without the top: None, `avg` or `max`, over height and width.
    classes: the number of classes, with the top.
    classifier_activation: activation of the last layer; None gives logits.
    {last}name: of the model.

Returns:
    A model: [batch, height, width, channels] -> [batch, classes]; without the top
    [batch, {gives}

Raises:
    ValueError: an argument that does not go with the others.
    NotFoundError: the published weights are not in Keras' cache and cannot be fetched."""


class Usual(Protocol):
    """A constructor with the arguments that most networks have, in their usual order."""

    def __call__(  # noqa: D102 (the class says it)
        self,
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
        name: str | None = ...,
    ) -> Model: ...


def usual(
    known_as: str, gives: str, least_size: int = 32
) -> Callable[[Callable[[Arguments], Model]], Usual]:
    """A decorator for constructors from `Arguments`, which adds the usual parameters.

    Args:
        known_as: the name of the model, if none is given.
        gives: the end of the docstring's "Returns": the sizes without the top, what pixels are.
        least_size: the smallest height and width, for the docstring.
    """

    def decorated(build: Callable[[Arguments], Model]) -> Usual:
        def made(
            include_top: bool = True,
            weights: Any = "imagenet",
            input_tensor: Any = None,
            input_shape: Any = None,
            pooling: str | None = None,
            classes: int = 1000,
            classifier_activation: Any = "softmax",
            name: str | None = known_as,
        ) -> Model:
            asked = Arguments.of(build.__name__, locals())
            return build(asked)

        return told(made, build, gives, least_size=least_size)

    return decorated


def told(
    made: _Function,
    build: Callable[..., Model],
    gives: str,
    *,
    first: str = INCLUDE_TOP,
    last: str = "",
    least_size: int = 32,
) -> _Function:
    """`made` with the name of `build`, and its docstring extended by the arguments.

    Args:
        made: the public function.
        build: the function that it calls.
        gives: see `usual`.
        first: the docstring's text on the arguments before `weights`, a line each.
        last: likewise for the arguments before `name`.
        least_size: see `usual`.
    """
    about, _, source = inspect.cleandoc(build.__doc__ or "").partition("\n\n")
    indented = [text.replace("\n", "\n    ") for text in (first, last)]
    text = _TEXT.format(first=indented[0], last=indented[1], gives=gives, least_size=least_size)
    made.__doc__ = "\n\n".join(filter(None, (about, text, source)))
    made.__name__, made.__qualname__ = build.__name__, build.__qualname__
    made.__module__ = build.__module__
    return made
