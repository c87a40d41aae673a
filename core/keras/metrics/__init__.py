"""Metrics: measures of a model's quality."""

from typing import Any

from pinnace.keras import registry as _registry
from pinnace.keras.losses import binary_crossentropy as binary_crossentropy
from pinnace.keras.losses import binary_focal_crossentropy as binary_focal_crossentropy
from pinnace.keras.losses import categorical_crossentropy as categorical_crossentropy
from pinnace.keras.losses import categorical_focal_crossentropy as categorical_focal_crossentropy
from pinnace.keras.losses import categorical_hinge as categorical_hinge
from pinnace.keras.losses import hinge as hinge
from pinnace.keras.losses import huber as huber
from pinnace.keras.losses import kl_divergence as kl_divergence
from pinnace.keras.losses import log_cosh as log_cosh
from pinnace.keras.losses import mean_absolute_error as mean_absolute_error
from pinnace.keras.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
from pinnace.keras.losses import mean_squared_error as mean_squared_error
from pinnace.keras.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from pinnace.keras.losses import poisson as poisson
from pinnace.keras.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from pinnace.keras.losses import squared_hinge as squared_hinge
from pinnace.keras.metrics.accuracies import Accuracy as Accuracy
from pinnace.keras.metrics.accuracies import BinaryAccuracy as BinaryAccuracy
from pinnace.keras.metrics.accuracies import CategoricalAccuracy as CategoricalAccuracy
from pinnace.keras.metrics.accuracies import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from pinnace.keras.metrics.accuracies import (
    SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
)
from pinnace.keras.metrics.accuracies import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from pinnace.keras.metrics.accuracies import accuracy as accuracy
from pinnace.keras.metrics.accuracies import binary_accuracy as binary_accuracy
from pinnace.keras.metrics.accuracies import categorical_accuracy as categorical_accuracy
from pinnace.keras.metrics.accuracies import (
    sparse_categorical_accuracy as sparse_categorical_accuracy,
)
from pinnace.keras.metrics.accuracies import (
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
)
from pinnace.keras.metrics.accuracies import (
    top_k_categorical_accuracy as top_k_categorical_accuracy,
)
from pinnace.keras.metrics.auc import AUC as AUC
from pinnace.keras.metrics.confusion import FalseNegatives as FalseNegatives
from pinnace.keras.metrics.confusion import FalsePositives as FalsePositives
from pinnace.keras.metrics.confusion import Precision as Precision
from pinnace.keras.metrics.confusion import Recall as Recall
from pinnace.keras.metrics.confusion import TrueNegatives as TrueNegatives
from pinnace.keras.metrics.confusion import TruePositives as TruePositives
from pinnace.keras.metrics.correlations import ConcordanceCorrelation as ConcordanceCorrelation
from pinnace.keras.metrics.correlations import PearsonCorrelation as PearsonCorrelation
from pinnace.keras.metrics.correlations import (
    concordance_correlation as concordance_correlation,
)
from pinnace.keras.metrics.correlations import pearson_correlation as pearson_correlation
from pinnace.keras.metrics.errors import BinaryCrossentropy as BinaryCrossentropy
from pinnace.keras.metrics.errors import CategoricalCrossentropy as CategoricalCrossentropy
from pinnace.keras.metrics.errors import CategoricalHinge as CategoricalHinge
from pinnace.keras.metrics.errors import CosineSimilarity as CosineSimilarity
from pinnace.keras.metrics.errors import Hinge as Hinge
from pinnace.keras.metrics.errors import KLDivergence as KLDivergence
from pinnace.keras.metrics.errors import LogCoshError as LogCoshError
from pinnace.keras.metrics.errors import MeanAbsoluteError as MeanAbsoluteError
from pinnace.keras.metrics.errors import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from pinnace.keras.metrics.errors import MeanSquaredError as MeanSquaredError
from pinnace.keras.metrics.errors import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from pinnace.keras.metrics.errors import Poisson as Poisson
from pinnace.keras.metrics.errors import RootMeanSquaredError as RootMeanSquaredError
from pinnace.keras.metrics.errors import (
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
)
from pinnace.keras.metrics.errors import SquaredHinge as SquaredHinge
from pinnace.keras.metrics.explained import R2Score as R2Score
from pinnace.keras.metrics.f_scores import F1Score as F1Score
from pinnace.keras.metrics.f_scores import FBetaScore as FBetaScore
from pinnace.keras.metrics.means import Mean as Mean
from pinnace.keras.metrics.means import MeanMetricWrapper as MeanMetricWrapper
from pinnace.keras.metrics.means import Sum as Sum
from pinnace.keras.metrics.metric import Metric as Metric
from pinnace.keras.metrics.operating_points import PrecisionAtRecall as PrecisionAtRecall
from pinnace.keras.metrics.operating_points import RecallAtPrecision as RecallAtPrecision
from pinnace.keras.metrics.operating_points import (
    SensitivityAtSpecificity as SensitivityAtSpecificity,
)
from pinnace.keras.metrics.operating_points import (
    SpecificityAtSensitivity as SpecificityAtSensitivity,
)
from pinnace.keras.metrics.overlaps import BinaryIoU as BinaryIoU
from pinnace.keras.metrics.overlaps import IoU as IoU
from pinnace.keras.metrics.overlaps import MeanIoU as MeanIoU
from pinnace.keras.metrics.overlaps import OneHotIoU as OneHotIoU
from pinnace.keras.metrics.overlaps import OneHotMeanIoU as OneHotMeanIoU

_CLASSES = (
    *(Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy),
    *(SparseTopKCategoricalAccuracy, TopKCategoricalAccuracy, AUC, FalseNegatives),
    *(FalsePositives, Precision, Recall, TrueNegatives, TruePositives, BinaryCrossentropy),
    *(CategoricalCrossentropy, CategoricalHinge, CosineSimilarity, Hinge, KLDivergence),
    *(LogCoshError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredError),
    *(MeanSquaredLogarithmicError, Poisson, RootMeanSquaredError, SparseCategoricalCrossentropy),
    *(SquaredHinge, Mean, Sum, F1Score, FBetaScore, BinaryIoU, IoU, MeanIoU, OneHotIoU),
    *(OneHotMeanIoU, PrecisionAtRecall, RecallAtPrecision, SensitivityAtSpecificity),
    *(SpecificityAtSensitivity, R2Score, PearsonCorrelation, ConcordanceCorrelation),
)
_TABLE: dict[str, Any] = _registry.named(
    *_CLASSES,
    mse=MeanSquaredError,
    MSE=MeanSquaredError,
    mae=MeanAbsoluteError,
    MAE=MeanAbsoluteError,
    mape=MeanAbsolutePercentageError,
    MAPE=MeanAbsolutePercentageError,
    msle=MeanSquaredLogarithmicError,
    rmse=RootMeanSquaredError,
    bce=BinaryCrossentropy,
    kld=KLDivergence,
)


def get(identifier: Any) -> Any:
    """The metric for a name, configuration, function or object.

    Raises:
        ValueError: an unknown name.
    """
    return _registry.by_name("metric", identifier, _TABLE)


def serialize(metric: Any) -> Any:
    """The configuration of a metric."""
    return _registry.serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The metric with that configuration.

    Args:
        config: the result of `serialize`, or a name.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    if isinstance(config, str):
        return get(config)
    return _registry.deserialize_keras_object(config, custom_objects)


MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
