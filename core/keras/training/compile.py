"""Compiled: what `compile` tells a model, and how outputs become a loss and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras import losses as _losses
from pinnace.keras import metrics as _metrics
from pinnace.keras import optimizers as _optimizers
from pinnace.keras.layer import Layer
from pinnace.keras.losses.loss import Loss, LossFunctionWrapper
from pinnace.keras.metrics.means import Mean, MeanMetricWrapper
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import casting, shapes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.keras.optimizers.optimizer import Optimizer


class Compiled(Layer):
    """The part of `Model` that knows optimizer, loss and metrics."""

    _TF_MODULE_IGNORED_PROPERTIES = Layer._TF_MODULE_IGNORED_PROPERTIES | {
        *("_compiled", "_step_functions", "_loss_tracker", "history", "optimizer"),
    }

    optimizer: Optimizer | None
    stop_training: bool
    _compiled: _Compilation | None
    _step_functions: dict[Any, Any]
    _loss_tracker: Mean | None

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: bool | str = "auto",
        auto_scale_loss: bool = True,
        **kwargs: Any,
    ) -> None:
        """Say how to train.

        Args:
            optimizer: name or object.
            loss: name, function or Loss; a list or dict of them for several outputs.
            loss_weights: factors of the losses of several outputs.
            metrics: list of names, functions or Metrics; a list or dict of lists for several
                outputs.
            weighted_metrics: likewise, with the sample weights taken into account.
            run_eagerly: whether steps are run as plain Python rather than traced.
            steps_per_execution: accepted for Keras' sake: a step costs little to start.
            jit_compile: accepted for Keras' sake: which tier runs is chosen by measurement.
            auto_scale_loss: accepted for Keras' sake.
            **kwargs: accepted for Keras' sake.
        """
        del jit_compile, auto_scale_loss
        if kwargs:
            unknown = sorted(set(kwargs) - {"distribute", "target_tensors", "sample_weight_mode"})
            if unknown:
                raise TypeError(f"compile: unknown arguments {', '.join(unknown)}")
        if isinstance(steps_per_execution, bool) or steps_per_execution < 1:
            raise ValueError(
                f"compile: steps_per_execution must be at least 1, got {steps_per_execution}"
            )
        self.optimizer = None if optimizer is None else _optimizers.get(optimizer)
        self.__dict__["_compiled"] = _Compilation(
            None if loss is None else CompileLoss(loss, loss_weights),
            CompileMetrics(metrics, weighted_metrics),
            {
                "optimizer": optimizer,
                "loss": loss,
                "loss_weights": loss_weights,
                "metrics": metrics,
                "weighted_metrics": weighted_metrics,
                "run_eagerly": run_eagerly,
                "steps_per_execution": steps_per_execution,
            },
        )
        self.__dict__["_loss_tracker"] = Mean(name="loss")
        self.__dict__["_run_eagerly"] = run_eagerly
        self.__dict__["_step_functions"] = {}
        self.stop_training = False

    @property
    def compiled(self) -> bool:
        """Whether `compile` was called."""
        return self.__dict__.get("_compiled") is not None

    @property
    def run_eagerly(self) -> bool:
        """Whether steps are run as plain Python."""
        return bool(self.__dict__.get("_run_eagerly"))

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self.__dict__["_run_eagerly"] = value

    @property
    def loss(self) -> Any:
        """What `compile` was given."""
        compilation = self.__dict__.get("_compiled")
        return None if compilation is None else compilation.given["loss"]

    def get_compile_config(self) -> dict[str, Any] | None:
        """What `compile` was given, as JSON can hold it."""
        from pinnace.keras import registry

        compilation = self.__dict__.get("_compiled")
        if compilation is None:
            return None
        return {k: registry.serialize_keras_object(v) for k, v in compilation.given.items()}

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """`compile` with what `get_compile_config` gave."""
        from pinnace.keras import registry

        self.compile(**{k: registry.deserialize_keras_object(v) for k, v in config.items()})

    def _compilation(self, who: str) -> _Compilation:
        found: _Compilation | None = self.__dict__.get("_compiled")
        if found is None:
            raise ValueError(
                f"{who}: {self._described()} must be compiled first: model.compile(...)"
            )
        return found

    # Metrics.

    @property
    def metrics(self) -> list[Metric]:
        """The loss's mean, those of `compile`, and those that are attributes of layers."""
        found: dict[int, Metric] = {}
        tracker = self.__dict__.get("_loss_tracker")
        if tracker is not None:
            found[id(tracker)] = tracker
        for layer in self._flatten_layers():
            for child in layer._trackable_children().values():
                items = (
                    child._trackable_children().values()
                    if hasattr(child, "_plain_type")
                    else [child]
                )
                for item in items:
                    if isinstance(item, Metric):
                        found[id(item)] = item
        compilation = self.__dict__.get("_compiled")
        if compilation is not None:
            for metric in compilation.all_metrics():
                found[id(metric)] = metric
        return list(found.values())

    @property
    def metrics_names(self) -> list[str]:
        """Their names."""
        return [metric.name for metric in self.metrics]

    @property
    def metrics_variables(self) -> list[Any]:
        """The states of the metrics."""
        return [variable for metric in self.metrics for variable in metric.variables]

    def reset_metrics(self) -> None:
        """Forget what the metrics have seen."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self) -> dict[str, Any]:
        """Name -> what each metric says now."""
        results: dict[str, Any] = {}
        compilation = self.__dict__.get("_compiled")
        prefixed = {} if compilation is None else compilation.names()
        for metric in self.metrics:
            result = metric.result()
            if isinstance(result, dict):
                results.update(result)
            else:
                results[prefixed.get(id(metric), metric.name)] = result
        return results

    # Loss and metrics of a batch.

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """What training makes small, for one batch.

        Args:
            x: inputs.
            y: truths.
            y_pred: outputs.
            sample_weight: factors of the samples.
            training: whether this is a training step.

        Raises:
            ValueError: there is no loss, neither from `compile` nor from `add_loss`.
        """
        del x, training
        compilation = self._compilation("compute_loss")
        parts = []
        if compilation.loss is not None and y is not None:
            parts.append(compilation.loss(y, y_pred, sample_weight))
        parts.extend(casting.cast(loss, "float32") for loss in self.losses)
        if not parts:
            raise ValueError(
                f"{self._described()}: there is no loss\n"
                "  Try: compile(loss=...) and a y, or add_loss in a layer"
            )
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        """Take one batch into account in all metrics; gives what they say."""
        del x
        compilation = self._compilation("compute_metrics")
        if y is not None:
            compilation.metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def _note_loss(self, loss: Any, x: Any) -> None:
        """Take a loss into account in its mean, weighted by the number of samples."""
        tracker = self.__dict__["_loss_tracker"]
        first = structure.flatten(x)[0]
        size = first.shape[0] if first.shape.rank else 1
        count = shapes.shape(first)[0] if size is None else float(size)
        tracker.update_state(loss, sample_weight=casting.cast(count, "float32"))


class _Compilation:
    """What `compile` was told."""

    __slots__ = ("given", "loss", "metrics")

    def __init__(
        self, loss: CompileLoss | None, metrics: CompileMetrics, given: dict[str, Any]
    ) -> None:
        self.loss = loss
        self.metrics = metrics
        self.given = given

    def all_metrics(self) -> list[Metric]:
        """Those of the losses of several outputs, then those of `compile`."""
        own = [] if self.loss is None else self.loss.trackers
        return [*own, *self.metrics.all()]

    def names(self) -> dict[int, str]:
        """Id of a metric -> its name with that of its output."""
        return self.metrics.names


class CompileLoss:
    """The losses of all outputs as one.

    Args:
        loss: a name, function or Loss; a list or dict of them.
        loss_weights: a factor, or a list or dict of them.
    """

    def __init__(self, loss: Any, loss_weights: Any = None) -> None:
        self._given = loss
        self._weights = loss_weights
        self._pairs: list[tuple[str, Loss | None, float | None]] | None = None
        self.trackers: list[Metric] = []
        self._single = not isinstance(loss, (list, tuple, dict))
        if self._single:
            loss_of(loss)  # an unknown name is told at once

    def build(self, y: Any, y_pred: Any) -> None:
        """Decide which loss each output has."""
        del y
        outputs = outputs_by_name(y_pred)
        losses = _spread("loss", self._given, outputs, same=self._single)
        weights = _spread("loss_weights", self._weights, outputs, same=len(outputs) == 1)
        for weight in weights:
            if weight is not None and not isinstance(weight, (int, float)):
                raise ValueError(f"compile: loss_weights must be numbers, got {weight!r}")
        self._pairs = [
            (name, None if one is None else loss_of(one), weight)
            for (name, _), one, weight in zip(outputs, losses, weights, strict=True)
        ]
        if len(outputs) > 1:
            self.trackers = [
                Mean(name=f"{name}_loss") for name, one, _ in self._pairs if one is not None
            ]

    def __call__(self, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """The weighted sum of the losses of a batch."""
        if self._pairs is None:
            self.build(y, y_pred)
        assert self._pairs is not None  # noqa: S101 (build sets it)
        predictions = [value for _, value in outputs_by_name(y_pred)]
        names = [name for name, _, _ in self._pairs]
        truths = aligned("y", y, names)
        weights = aligned("sample_weight", sample_weight, names, same=True)
        total = None
        trackers = iter(self.trackers)
        for (_, loss, factor), true, predicted, weight in zip(
            self._pairs, truths, predictions, weights, strict=True
        ):
            if loss is None:
                continue
            value = casting.cast(loss(true, predicted, weight), "float32")
            if self.trackers:
                next(trackers).update_state(value)
            if factor is not None:
                value = value * factor
            total = value if total is None else total + value
        if total is None:
            raise ValueError("compile: every loss is None")
        return total


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
        plain = _spread_lists("metrics", self._given[0], outputs)
        weighted = _spread_lists("weighted_metrics", self._given[1], outputs)
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


def loss_of(identifier: Any) -> Loss:
    """The Loss that a name, function or object stands for."""
    found = _losses.get(identifier)
    if isinstance(found, Loss):
        return found
    if found is _losses.sparse_categorical_crossentropy:
        return _losses.SparseCategoricalCrossentropy()
    if callable(found):
        return LossFunctionWrapper(found)
    raise ValueError(f"compile: loss must be a name, function or Loss, got {identifier!r}")


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


def outputs_by_name(y_pred: Any) -> list[tuple[str, Any]]:
    """The outputs of a model: a dict's by key, others as output_0, …."""
    if isinstance(y_pred, dict):
        return [(str(key), y_pred[key]) for key in sorted(y_pred)]
    if isinstance(y_pred, (list, tuple)):
        return [(f"output_{index}", value) for index, value in enumerate(y_pred)]
    return [("output_0", y_pred)]


def aligned(what: str, value: Any, names: Sequence[str], *, same: bool = False) -> list[Any]:
    """One entry per output.

    Raises:
        ValueError: another number of them, or a missing name.
    """
    if value is None:
        return [None] * len(names)
    if isinstance(value, dict):
        missing = [name for name in names if name not in value]
        if missing and not same:
            raise ValueError(
                f"{what} must have an entry for {', '.join(missing)}, has {sorted(value)}"
            )
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)) and len(names) > 1:
        if len(value) != len(names):
            raise ValueError(
                f"{what} must have {len(names)} entries, one per output, got {len(value)}"
            )
        return list(value)
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return [value[0]]
    if len(names) == 1 or same:
        return [value] * len(names)
    raise ValueError(f"{what} must have {len(names)} entries, one per output, got one")


def _spread(what: str, given: Any, outputs: Sequence[tuple[str, Any]], *, same: bool) -> list[Any]:
    """One entry per output of what `compile` was given."""
    names = [name for name, _ in outputs]
    if given is None:
        return [None] * len(names)
    if isinstance(given, dict):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ValueError(
                f"compile: {what} names {', '.join(unknown)}, the outputs are {', '.join(names)}"
            )
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(
                f"compile: {what} must have {len(names)} entries, one per output, got {len(given)}"
            )
        return list(given)
    if same:
        return [given] * len(names)
    raise ValueError(
        f"compile: {what} must be a list or dict for {len(names)} outputs, got {given!r}"
    )


def _spread_lists(what: str, given: Any, outputs: Sequence[tuple[str, Any]]) -> list[list[Any]]:
    """A list of metrics per output."""
    if given is None:
        return [[] for _ in outputs]
    if isinstance(given, dict):
        return [_as_list(entry) for entry in _spread(what, given, outputs, same=False)]
    given = _as_list(given)
    if len(outputs) == 1:
        if len(given) == 1 and isinstance(given[0], (list, tuple)):
            given = list(given[0])
        return [given]
    if any(isinstance(entry, (list, tuple)) for entry in given) or len(given) == len(outputs):
        return [_as_list(entry) for entry in _spread(what, given, outputs, same=False)]
    return [list(given) for _ in outputs]


def _as_list(entry: Any) -> list[Any]:
    if entry is None:
        return []
    return list(entry) if isinstance(entry, (list, tuple)) else [entry]


def _flat(value: Any) -> list[Any]:
    return [leaf for leaf in structure.flatten(value) if leaf is not None]
