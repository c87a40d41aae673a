"""Images scaled, centred and whitened, by the statistics of a set of images."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from pinnace.keras.augmentation import global_random
from pinnace.keras.augmentation.iterators import check_pictures

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array

# Added to a deviation, which may be 0.
_LITTLE = 1e-6


class Standards:
    """The deterministic part of ImageDataGenerator, where the arguments are documented."""

    preprocessing_function: Callable[[Any], Any] | None
    rescale: float | None
    samplewise_center: bool
    samplewise_std_normalization: bool
    featurewise_center: bool
    featurewise_std_normalization: bool
    zca_whitening: bool
    zca_epsilon: float
    dtype: Any
    data_format: str
    row_axis: int
    col_axis: int
    # Statistics computed by `fit`.
    mean: Array | None
    std: Array | None
    zca_whitening_matrix: Array | None

    def random_transform(self, x: Array, seed: int | None = None) -> Array:
        """A randomly transformed image; subclasses implement it."""
        raise NotImplementedError

    def standardize(self, x: Any) -> Any:
        """An image or batch, normalized as configured; changes `x` in place.

        Args:
            x: [..., height, width, channels] of floats.
        """
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + _LITTLE
        mean, matrix = self.mean, self.zca_whitening_matrix
        std: Any = self.std
        if self.featurewise_center and _fitted("featurewise_center", mean):
            x -= mean
        if self.featurewise_std_normalization and _fitted("featurewise_std_normalization", std):
            x /= std + _LITTLE
        if self.zca_whitening and _fitted("zca_whitening", matrix):
            x = np.reshape(x.reshape(-1, math.prod(x.shape[-3:])) @ matrix, x.shape)
        return x

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Compute the configured means, deviations and whitening matrix.

        Args:
            x: [n, height, width, channels].
            augment: whether pictures are changed at random before.
            rounds: number of random changes of each picture, with `augment`.
            seed: seed of NumPy's generator; None leaves it as it is.

        Raises:
            ValueError: other axes.
        """
        x = np.array(x, self.dtype)
        check_pictures("ImageDataGenerator.fit: x", x, self.data_format)
        if seed is not None:
            global_random.seed(seed)
        if self.rescale:
            x *= self.rescale
        if augment:
            x = np.array([self.random_transform(each) for _ in range(rounds) for each in x])
            x = x.astype(self.dtype, copy=False)
        axes = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = np.mean(x, axis=axes, keepdims=True)[0]
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=axes, keepdims=True)[0]
            x /= self.std + _LITTLE
        if self.zca_whitening:
            u, s, _ = np.linalg.svd(x.reshape(len(x), -1).T, full_matrices=False)
            scale = np.sqrt(len(x)) / (s + self.zca_epsilon)
            self.zca_whitening_matrix = (u * scale).dot(u.T)


def _fitted(name: str, value: Array | None) -> TypeGuard[Array]:
    if value is None:
        warnings.warn(
            f"ImageDataGenerator: {name} has no effect before `fit`\n  Try: fit(x) first",
            UserWarning,
            stacklevel=3,
        )
    return value is not None
