"""Losses: functions that training minimises."""

from typing import Any

from pinnace.keras import registry as _registry
from pinnace.keras.losses import distances as _distances
from pinnace.keras.losses import margins as _margins
from pinnace.keras.losses import overlaps as _overlaps
from pinnace.keras.losses import probabilities as _probabilities
from pinnace.keras.losses import sequences as _sequences
from pinnace.keras.losses import similarities as _similarities
from pinnace.keras.losses import tempered as _tempered
from pinnace.keras.losses.distances import CosineSimilarity as CosineSimilarity
from pinnace.keras.losses.distances import Huber as Huber
from pinnace.keras.losses.distances import LogCosh as LogCosh
from pinnace.keras.losses.distances import MeanAbsoluteError as MeanAbsoluteError
from pinnace.keras.losses.distances import (
    MeanAbsolutePercentageError as MeanAbsolutePercentageError,
)
from pinnace.keras.losses.distances import MeanSquaredError as MeanSquaredError
from pinnace.keras.losses.distances import (
    MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
)
from pinnace.keras.losses.distances import Poisson as Poisson
from pinnace.keras.losses.distances import cosine_similarity as cosine_similarity
from pinnace.keras.losses.distances import huber as huber
from pinnace.keras.losses.distances import log_cosh as log_cosh
from pinnace.keras.losses.distances import mean_absolute_error as mean_absolute_error
from pinnace.keras.losses.distances import (
    mean_absolute_percentage_error as mean_absolute_percentage_error,
)
from pinnace.keras.losses.distances import mean_squared_error as mean_squared_error
from pinnace.keras.losses.distances import (
    mean_squared_logarithmic_error as mean_squared_logarithmic_error,
)
from pinnace.keras.losses.distances import poisson as poisson
from pinnace.keras.losses.loss import Loss as Loss
from pinnace.keras.losses.loss import LossFunctionWrapper as LossFunctionWrapper
from pinnace.keras.losses.margins import CategoricalHinge as CategoricalHinge
from pinnace.keras.losses.margins import Hinge as Hinge
from pinnace.keras.losses.margins import SquaredHinge as SquaredHinge
from pinnace.keras.losses.margins import categorical_hinge as categorical_hinge
from pinnace.keras.losses.margins import hinge as hinge
from pinnace.keras.losses.margins import squared_hinge as squared_hinge
from pinnace.keras.losses.overlaps import Dice as Dice
from pinnace.keras.losses.overlaps import Tversky as Tversky
from pinnace.keras.losses.overlaps import dice as dice
from pinnace.keras.losses.overlaps import tversky as tversky
from pinnace.keras.losses.probabilities import BinaryCrossentropy as BinaryCrossentropy
from pinnace.keras.losses.probabilities import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from pinnace.keras.losses.probabilities import CategoricalCrossentropy as CategoricalCrossentropy
from pinnace.keras.losses.probabilities import KLDivergence as KLDivergence
from pinnace.keras.losses.probabilities import (
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
)
from pinnace.keras.losses.probabilities import binary_crossentropy as binary_crossentropy
from pinnace.keras.losses.probabilities import (
    binary_focal_crossentropy as binary_focal_crossentropy,
)
from pinnace.keras.losses.probabilities import categorical_crossentropy as categorical_crossentropy
from pinnace.keras.losses.probabilities import kl_divergence as kl_divergence
from pinnace.keras.losses.probabilities import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from pinnace.keras.losses.reductions import Reduction as Reduction
from pinnace.keras.losses.sequences import CTC as CTC
from pinnace.keras.losses.sequences import ctc as ctc
from pinnace.keras.losses.similarities import Circle as Circle
from pinnace.keras.losses.similarities import circle as circle
from pinnace.keras.losses.tempered import (
    CategoricalFocalCrossentropy as CategoricalFocalCrossentropy,
)
from pinnace.keras.losses.tempered import (
    CategoricalGeneralizedCrossEntropy as CategoricalGeneralizedCrossEntropy,
)
from pinnace.keras.losses.tempered import (
    categorical_focal_crossentropy as categorical_focal_crossentropy,
)
from pinnace.keras.losses.tempered import (
    categorical_generalized_cross_entropy as categorical_generalized_cross_entropy,
)

_CLASSES = (
    *(CosineSimilarity, Huber, LogCosh, MeanAbsoluteError, MeanAbsolutePercentageError),
    *(MeanSquaredError, MeanSquaredLogarithmicError, Poisson, CategoricalHinge, Hinge),
    *(SquaredHinge, BinaryCrossentropy, BinaryFocalCrossentropy, CategoricalCrossentropy),
    *(KLDivergence, SparseCategoricalCrossentropy, Dice, Tversky, CTC),
    *(CategoricalFocalCrossentropy, CategoricalGeneralizedCrossEntropy, Circle),
)
_FUNCTIONS: dict[str, Any] = {
    name: function
    for module in (
        _distances,
        _margins,
        _overlaps,
        _probabilities,
        _sequences,
        _similarities,
        _tempered,
    )
    for name, function in vars(module).items()
    if not name.startswith("_")
    and getattr(function, "__module__", "") == module.__name__
    and not isinstance(function, type)
}


def is_one(fn: Any) -> bool:
    """Whether it is a function or object of this module."""
    return isinstance(fn, Loss) or any(fn is one for one in _FUNCTIONS.values())


_TABLE: dict[str, Any] = {
    **{cls.__name__: cls for cls in _CLASSES},
    **{name: f for name, f in _FUNCTIONS.items() if name not in {"pair", "logits_behind"}},
    "mse": mean_squared_error,
    "MSE": mean_squared_error,
    "mae": mean_absolute_error,
    "MAE": mean_absolute_error,
    "mape": mean_absolute_percentage_error,
    "MAPE": mean_absolute_percentage_error,
    "msle": mean_squared_logarithmic_error,
    "MSLE": mean_squared_logarithmic_error,
    "bce": binary_crossentropy,
    "BCE": binary_crossentropy,
    "kld": kl_divergence,
    "KLD": kl_divergence,
    "logcosh": log_cosh,
    "kullback_leibler_divergence": kl_divergence,
    "cosine_similarity": _distances.negative_cosine_similarity,
}


def get(identifier: Any) -> Any:
    """The loss for a name, configuration, function or object.

    Raises:
        ValueError: an unknown name.
    """
    return _registry.by_name("loss", identifier, _TABLE)


def serialize(loss: Any) -> Any:
    """The configuration of a loss."""
    return _registry.serialize_keras_object(loss)


def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The loss with that configuration.

    Args:
        name: the result of `serialize`, or a name.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    if isinstance(name, str):
        return get(name)
    return _registry.deserialize_keras_object(name, custom_objects)


MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
BCE = bce = binary_crossentropy
KLD = kld = kl_divergence
logcosh = log_cosh
kullback_leibler_divergence = kl_divergence
