"""CompileMetrics: the metrics of all outputs."""

from __future__ import annotations

from typing import Any

from pinnace.framework import structure
from pinnace.keras import metrics as _metrics
from pinnace.keras.losses.loss import Loss
from pinnace.keras.metrics.means import MeanMetricWrapper
from pinnace.keras.metrics.metric import Metric
from pinnace.keras.training.outputs import aligned, outputs_by_name, spread_lists


class CompileMetrics:
    """The metrics of all outputs.

    Args:
        metrics: a list of names, functions or Metrics; a list or dict of lists.
        weighted_metrics: likewise, with sample weights.
    """

    def __init__(self, metrics: Any, weighted_metrics: Any) -> None:
        self._given = (metrics, weighted_metrics)
        self._per_output: list[tuple[str, list[Metric], list[Metric]]] | None = None
        # Metrics that are objects are known before anything is built.
        self._objects = [m for m in _flat((metrics, weighted_metrics)) if isinstance(m, Metric)]
        self.names: dict[int, str] = {}

    @property
    def built(self) -> bool:
        """Whether each output's metrics are decided."""
        return self._per_output is not None

    def all(self) -> list[Metric]:
        """Every metric."""
        if self._per_output is None:
            return list(self._objects)
        return [metric for _, plain, weighted in self._per_output for metric in (*plain, *weighted)]

    def build(self, y: Any, y_pred: Any) -> None:
        """Decide which metrics each output has; `accuracy` depends on shapes."""
        outputs = outputs_by_name(y_pred)
        truths = aligned("y", y, [name for name, _ in outputs])
        plain = spread_lists("metrics", self._given[0], outputs)
        weighted = spread_lists("weighted_metrics", self._given[1], outputs)
        self._per_output = []
        for (name, output), true, one, other in zip(outputs, truths, plain, weighted, strict=True):
            made = [[metric_of(m, true, output) for m in group] for group in (one, other)]
            self._per_output.append((name, *made))  # type: ignore[arg-type]  # two lists
            if len(outputs) > 1:
                for metric in (*made[0], *made[1]):
                    self.names[id(metric)] = f"{name}_{metric.name}"
        self._number_repeated_names()

    def _number_repeated_names(self) -> None:
        seen: dict[str, int] = {}
        for metric in self.all():
            name = self.names.get(id(metric), metric.name)
            count = seen[name] = seen.get(name, 0) + 1
            if count > 1:
                self.names[id(metric)] = f"{name}_{count - 1}"

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take one batch into account."""
        if self._per_output is None:
            self.build(y, y_pred)
        assert self._per_output is not None  # noqa: S101 (build sets it)
        names = [name for name, _, _ in self._per_output]
        truths = aligned("y", y, names)
        predictions = [value for _, value in outputs_by_name(y_pred)]
        weights = aligned("sample_weight", sample_weight, names, same=True)
        for (_, plain, weighted), true, predicted, weight in zip(
            self._per_output, truths, predictions, weights, strict=True
        ):
            for metric in plain:
                metric.update_state(true, predicted)
            for metric in weighted:
                metric.update_state(true, predicted, sample_weight=weight)


def metric_of(identifier: Any, y: Any, y_pred: Any) -> Metric:
    """The Metric that a name, function or object stands for, for an output of that shape."""
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, str) and identifier.lower() in {
        "accuracy",
        "acc",
        "crossentropy",
        "ce",
    }:
        return _by_shape(identifier, y, y_pred)
    found = _metrics.get(identifier)
    if isinstance(found, Metric):
        if isinstance(identifier, str):
            found.name = identifier
        return found
    if isinstance(found, Loss):
        return MeanMetricWrapper(found, name=found.name)
    return MeanMetricWrapper(found)


def _by_shape(name: str, y: Any, y_pred: Any) -> Metric:
    """Accuracy or crossentropy: binary, of class numbers, or of one-hot rows. Source: Keras."""
    true, predicted = y.shape, y_pred.shape
    accuracy = name.lower() in {"accuracy", "acc"}
    binary = len(predicted) > 0 and predicted[-1] == 1
    sparse = len(true) < len(predicted) or (true[-1] == 1 and (predicted[-1] or 2) > 1)
    if accuracy:
        if binary:
            return _metrics.BinaryAccuracy(name=name)
        if sparse:
            return _metrics.SparseCategoricalAccuracy(name=name)
        return _metrics.CategoricalAccuracy(name=name)
    if binary:
        return _metrics.BinaryCrossentropy(name=name)
    if sparse:
        return _metrics.SparseCategoricalCrossentropy(name=name)
    return _metrics.CategoricalCrossentropy(name=name)


def _flat(value: Any) -> list[Any]:
    return [leaf for leaf in structure.flatten(value) if leaf is not None]
