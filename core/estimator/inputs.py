"""The results of input functions: batches of features and labels, one after another."""

from __future__ import annotations

import inspect
import itertools
from typing import TYPE_CHECKING, Any

from pinnace.data.dataset import Dataset
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Batches:
    """Features and labels, in their structures; labels are None where there are none.

    Args:
        given: a dataset, (features, labels), or features.
        who: begins error messages.

    Attributes:
        features: specs of the features.
        labels: specs of the labels, or None.
        endless: whether the same tensors come again and again.
    """

    def __init__(self, given: Any, who: str) -> None:
        if given is None:
            raise ValueError(f"{who}: input_fn must return a Dataset or tensors, got None")
        self._who = who
        self.endless = not isinstance(given, Dataset)
        if isinstance(given, Dataset):
            self._given: Any = given
            specs = given.element_spec
        else:
            self._given = _as_tensors(given)
            specs = structure.map_structure(_spec_of, self._given)
        self.features, self.labels = self._pair(specs)

    def _pair(self, element: Any) -> tuple[Any, Any]:
        if not isinstance(element, (tuple, list)):
            return element, None
        if len(element) != 2:
            raise ValueError(
                f"{self._who}: input_fn must give features, or (features, labels), got "
                f"{len(element)} parts\n  Try: a dict of features"
            )
        return element[0], element[1]

    def drop_labels(self) -> None:
        """Replace labels by None from now on."""
        self.labels = None

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        elements = itertools.repeat(self._given) if self.endless else self._given
        for element in elements:
            features, labels = self._pair(element)
            yield features, None if self.labels is None else labels


def batches_of(input_fn: Callable[..., Any], known: dict[str, Any], who: str) -> Batches:
    """The batches of an input function.

    Args:
        input_fn: may take any of `known` by name.
        known: mode, params, config.
        who: begins error messages.

    Raises:
        TypeError: the input function is no function.
        ValueError: the input function returned something other than batches.
    """
    if not callable(input_fn):
        raise TypeError(f"{who}: input_fn must be a function, got {type(input_fn).__name__}")
    return Batches(input_fn(**accepted(input_fn, known)), who)


def accepted(function: Callable[..., Any], known: dict[str, Any]) -> dict[str, Any]:
    """The items of `known` that a function accepts by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a built-in without a signature
        return {}
    return {name: value for name, value in known.items() if name in parameters}


def _as_tensors(given: Any) -> Any:
    return structure.map_structure(lambda x: None if x is None else convert_to_tensor(x), given)


def _spec_of(x: Any) -> Any:
    return None if x is None else TensorSpec.of(x.shape, x.dtype)
