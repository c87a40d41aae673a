"""CompileMetrics: the metrics of all outputs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras import metrics as _metrics
from pinnace.keras.losses.loss import Loss
from pinnace.keras.metrics.means import MeanMetricWrapper
from pinnace.keras.metrics.metric import Metric
from pinnace.keras.names import class_name_in_snake_case
from pinnace.keras.training.outputs import (
    aligned,
    classes_as,
    is_nested_deeper,
    outputs_by_name,
    shallow,
    spread_lists,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.variable import Variable


class CompileMetrics(Metric):
    """The metrics of all outputs as one, an item of `model.metrics`.

    Args:
        metrics: a list of names, functions or Metrics; a list or dict of lists.
        weighted_metrics: likewise, with sample weights.
        name: `compile_metrics`, unless another is wanted.
        output_names: names of outputs in a list; output_0, … if None.
    """

    # The metrics are not tracked as children of this one.
    _untracked = frozenset({"_given", "_output_names", "_per_output", "_objects", "_names"})

    _given: tuple[Any, Any]
    _output_names: Sequence[str] | None
    _per_output: list[tuple[str, list[Metric], list[Metric]]] | None
    _objects: list[Metric]
    # The names of `metrics`, with output names if there are several outputs, without duplicates.
    _names: list[str]

    def __init__(
        self,
        metrics: Any,
        weighted_metrics: Any,
        name: str = "compile_metrics",
        output_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name=name)
        self._given = (metrics, weighted_metrics)
        self._output_names = output_names
        self._per_output = None
        # Metrics that are objects are known before anything is built.
        self._objects = [m for m in _flat((metrics, weighted_metrics)) if isinstance(m, Metric)]
        self._names = []

    @property
    def built(self) -> bool:
        """Whether each output's metrics are determined."""
        return self._per_output is not None

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not _flat(self._given)

    @property
    def metrics(self) -> list[Metric]:
        """Every metric."""
        if self._per_output is None:
            return list(self._objects)
        return [metric for _, plain, weighted in self._per_output for metric in (*plain, *weighted)]

    @property
    def variables(self) -> list[Variable]:
        """The states of all."""
        return [variable for metric in self.metrics for variable in metric.variables]

    def reset_state(self) -> None:
        """Reset all metrics; before the first step to their initial values, as in Keras."""
        for metric in self.metrics:
            if self.built:
                metric.reset_state()
            else:
                metric._restart()

    def result(self) -> dict[str, Any]:
        """Name -> current result; with several outputs, names begin with that of the output."""
        results: dict[str, Any] = {}
        metrics = self.metrics
        names = self._names or [metric.name for metric in metrics]
        for name, metric in zip(names, metrics, strict=True):
            found = metric.result()
            results.update(found if isinstance(found, dict) else {name: found})
        return results

    def build(self, y: Any, y_pred: Any) -> None:
        """Determine the metrics of each output; `accuracy` depends on shapes."""
        if self.is_empty:
            self._per_output = []  # whatever the targets are
            return
        given = self._given
        if is_nested_deeper(y_pred):
            given = (shallow(given[0], y_pred), shallow(given[1], y_pred))
            y, y_pred = structure.flatten(y), structure.flatten(y_pred)
        outputs = outputs_by_name(y_pred, self._output_names)
        truths = aligned("y", y, [name for name, _ in outputs])
        alone = not structure.is_nested(y_pred)
        plain = spread_lists("metrics", given[0], outputs, alone=alone)
        weighted = spread_lists("weighted_metrics", given[1], outputs, alone=alone)
        made_for: list[tuple[str, list[Metric], list[Metric]]] = []
        for (name, output), true, one, other in zip(outputs, truths, plain, weighted, strict=True):
            made = [[metric_of(m, true, output) for m in group] for group in (one, other)]
            made_for.append((name, made[0], made[1]))
        self._per_output = made_for
        # Keras: names of unknown outputs are ignored.
        known = isinstance(y_pred, dict) or len(self._output_names or ()) == len(outputs)
        several = len(outputs) > 1 and known
        seen: Counter[str] = Counter()
        self._names = []
        for name, *groups in made_for:
            prefix = f"{name}_" if several else ""
            self._names += [_plain_name(prefix + metric.name, seen) for metric in groups[0]]
            self._names += [_weighted_name(prefix, metric.name, seen) for metric in groups[1]]

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update all metrics with a batch."""
        if self._per_output is None:
            self.build(y, y_pred)
        assert self._per_output is not None  # noqa: S101 (build sets it)
        if not self._per_output:
            return
        names = [name for name, _, _ in self._per_output]
        if is_nested_deeper(y_pred):
            y, y_pred = structure.flatten(y), structure.flatten(y_pred)
            if structure.is_nested(sample_weight):
                sample_weight = structure.flatten(sample_weight)
        truths = aligned("y", y, names)
        predictions = [value for _, value in outputs_by_name(y_pred, self._output_names)]
        weights = aligned("sample_weight", sample_weight, names, same=True)
        for (_, plain, weighted), true, predicted, weight in zip(
            self._per_output, truths, predictions, weights, strict=True
        ):
            for metric in plain:
                metric.update_state(true, predicted)
            for metric in weighted:
                metric.update_state(true, predicted, sample_weight=weight)


def metric_of(identifier: Any, y: Any, y_pred: Any) -> Metric:
    """The Metric for a name, function or object, for an output of that shape."""
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
    called = getattr(found, "__name__", type(found).__name__)
    return MeanMetricWrapper(found, name=class_name_in_snake_case(called))


def _by_shape(name: str, y: Any, y_pred: Any) -> Metric:
    """Accuracy or crossentropy for these shapes: binary, sparse, or categorical."""
    what = "Accuracy" if name.lower() in {"accuracy", "acc"} else "Crossentropy"
    prefix = {"binary": "Binary", "sparse": "SparseCategorical", "categorical": "Categorical"}
    kind = getattr(_metrics, prefix[classes_as(y, y_pred)] + what)
    made: Metric = kind(name=name)
    return made


def _plain_name(name: str, seen: Counter[str]) -> str:
    """The name, numbered if it is not new."""
    seen[name] += 1
    return f"{name}_{seen[name] - 1}" if seen[name] > 1 else name


def _weighted_name(prefix: str, name: str, seen: Counter[str]) -> str:
    """The name of a weighted metric, with the prefix `weighted_`. Source: Keras."""
    return _plain_name(f"{prefix}weighted_{name}" if seen[prefix + name] else prefix + name, seen)


def _flat(value: Any) -> list[Any]:
    return [leaf for leaf in structure.flatten(value) if leaf is not None]
