"""ClassWeights: sample weights determined by the samples' classes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import structure
from pinnace.framework.tensor import Array, Tensor, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ClassWeights:
    """The weights that `class_weight` assigns to the samples of a batch.

    Args:
        who: name of the caller in messages, such as `fit`.
        weights: class -> factor; a class that is missing counts once.
        holds_numbers: takes the rank of a y whose last axis is longer than 1; says whether it holds
            numbers of classes, and not a row for each thing that is classified.

    Raises:
        ValueError: `weights` is no mapping of class numbers to factors.
    """

    def __init__(
        self, who: str, weights: Mapping[Any, Any], holds_numbers: Callable[[int], bool]
    ) -> None:
        self._who = who
        self._holds_numbers = holds_numbers
        found = dict(sorted(self._entries(weights)))
        self._classes = np.array(list(found), np.int64)
        self._factors = np.array(list(found.values()), np.float32)

    def _entries(self, weights: Any) -> list[tuple[int, float]]:
        if not hasattr(weights, "items"):
            raise ValueError(
                f"{self._who}: class_weight must be a dict of class numbers to factors, got "
                f"{weights!r:.100}\n  Try: class_weight=dict(enumerate(factors))"
            )
        return [(self._class(key), self._factor(key, value)) for key, value in weights.items()]

    def _class(self, key: Any) -> int:
        try:
            return operator.index(key)
        except TypeError:
            if isinstance(key, (float, np.floating)) and float(key).is_integer():
                return int(key)
        remedy = "{int(key): value for key, value in class_weight.items()}"
        raise ValueError(
            f"{self._who}: the keys of class_weight must be class numbers, got {key!r}"
            + (f"\n  Try: class_weight={remedy}" if str(key).isdecimal() else "")
        )

    def _factor(self, key: Any, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{self._who}: class_weight[{key!r}] must be a number, got {value!r}"
            ) from None

    def added_to(self, x: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """A batch, or all arrays, with the factors in its sample weights.

        Raises:
            ValueError: `y` is not one array or tensor of classes.
        """
        if y is None or structure.is_nested(y):
            raise ValueError(
                f"{self._who}: class_weight needs one y of class numbers or one-hot rows; for a "
                "model of several outputs\n  Try: sample_weight=[weights of each output]"
            )
        found = self.of(np.asarray(y._array if isinstance(y, Tensor) else y))
        if sample_weight is not None:
            found = self._times(found, np.asarray(sample_weight))
        return x, y, wrap(found) if isinstance(y, Tensor) else found

    def of(self, y: Array) -> Array:
        """The weight of each class in y, given as indices or one-hot rows."""
        if y.dtype.kind not in "biuf" and y.dtype.name != "bfloat16":
            raise ValueError(
                f"{self._who}: class_weight needs a y of class numbers or one-hot rows, got "
                f"{y.dtype.name}"
            )
        if y.ndim > 1 and y.shape[-1] == 1:
            y = y[..., 0]
        elif y.ndim > 1 and not self._holds_numbers(y.ndim):
            y = y.argmax(-1)
        classes = np.rint(y.astype(np.float64)).astype(np.int64) if y.dtype.kind not in "iu" else y
        place = np.minimum(np.searchsorted(self._classes, classes), len(self._classes) - 1)
        known = self._classes[place] == classes
        return np.where(known, self._factors[place], np.float32(1))

    def _times(self, found: Array, given: Array) -> Array:
        """The product of weights, where one may be per sample and the other per element."""
        axes = max(found.ndim, given.ndim)
        if given.ndim == found.ndim + 1 and given.shape[-1] == 1:
            given, axes = given[..., 0], found.ndim
        one, other = (a.reshape(a.shape + (1,) * (axes - a.ndim)) for a in (found, given))
        try:
            return np.asarray(one * other, np.float32)
        except ValueError:
            raise ValueError(
                f"{self._who}: sample_weight {list(given.shape)} must fit the classes of y, "
                f"{list(found.shape)}"
            ) from None
