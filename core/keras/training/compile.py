"""Compiled: what `compile` tells a model, and how outputs become a loss and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from pinnace.framework import structure
from pinnace.keras import optimizers as _optimizers
from pinnace.keras.layer import Layer
from pinnace.keras.metrics.means import Mean
from pinnace.keras.metrics.metric import Metric
from pinnace.keras.no_effect import no_effect
from pinnace.keras.training.compiled_loss import CompileLoss
from pinnace.keras.training.compiled_metrics import CompileMetrics
from pinnace.keras.training.outputs import names_of_outputs
from pinnace.ops.array import casting, shapes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from pinnace.keras.optimizers.optimizer import Optimizer


_HOW = ("jit_compile", "steps_per_execution", "auto_scale_loss")


class OlderCompileOptions(TypedDict, total=False):
    """Arguments of `compile` in older programs; they have no effect."""

    distribute: Any
    target_tensors: Any
    sample_weight_mode: Any


class Compiled(Layer):
    """The part of `Model` that knows optimizer, loss and metrics."""

    _TF_MODULE_IGNORED_PROPERTIES = Layer._TF_MODULE_IGNORED_PROPERTIES | {
        *("_compiled", "_step_functions", "_loss_tracker", "history", "optimizer"),
    }

    optimizer: Optimizer  # None before `compile`; programs that train should not have to ask
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
        **kwargs: Unpack[OlderCompileOptions],
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
            steps_per_execution: above 1 without effect, and told so.
            jit_compile: True without effect, and told so.
            auto_scale_loss: False without effect, and told so.
            **kwargs: of older programs: without effect, and told so.
        """
        if kwargs:
            unknown = sorted(set(kwargs) - OlderCompileOptions.__optional_keys__)
            if unknown:
                raise TypeError(f"compile: unknown arguments {', '.join(unknown)}")
        if isinstance(steps_per_execution, bool) or steps_per_execution < 1:
            raise ValueError(
                f"compile: steps_per_execution must be at least 1, got {steps_per_execution}"
            )
        for name, is_given, why in (
            ("steps_per_execution", steps_per_execution != 1, "a step costs little to start"),
            ("jit_compile", jit_compile is True, "what is compiled is chosen by measurement"),
            ("auto_scale_loss", not auto_scale_loss, "no loss is scaled: all is float32"),
            *((name, given is not None, "it is of Keras 2") for name, given in kwargs.items()),
        ):
            if is_given:
                no_effect("compile", name, why)
        chosen: Any = None if optimizer is None else _optimizers.get(optimizer)
        self.optimizer = chosen
        names = names_of_outputs(self)
        self.__dict__["_compiled"] = _Compilation(
            None if loss is None else CompileLoss(loss, loss_weights, names),
            CompileMetrics(metrics, weighted_metrics, output_names=names),
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
        given = {**compilation.given, "optimizer": self.optimizer, "jit_compile": False}
        return {k: registry.serialize_keras_object(v) for k, v in given.items()}

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """`compile` with what `get_compile_config` gave."""
        from pinnace.keras import registry

        # What a file says of how Keras runs steps, nobody here asked for.
        told = {k: v for k, v in config.items() if k not in _HOW}
        self.compile(**{k: registry.deserialize_keras_object(v) for k, v in told.items()})

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
        """The loss's mean, what `compile` was given as one, and the attributes of layers.

        What `compile` was given is a CompileMetrics: its `update_state(y, y_pred, sample_weight=…)`
        keeps the weights from metrics that are not weighted.
        """
        found: dict[int, Metric] = {}
        tracker = self.__dict__.get("_loss_tracker")
        if tracker is not None:
            found[id(tracker)] = tracker
        compilation = self.__dict__.get("_compiled")
        if compilation is not None:
            for metric in compilation.all_metrics():
                found[id(metric)] = metric
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
        within = () if compilation is None else compilation.metrics.metrics
        for metric in within:
            found.pop(id(metric), None)
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
        for metric in self.metrics:
            result = metric.result()
            results.update(result if isinstance(result, dict) else {metric.name: result})
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
        """What `compile` was given as one, then those of the losses of several outputs."""
        own = [] if self.metrics.is_empty else [self.metrics]
        return [*own, *([] if self.loss is None else self.loss.trackers)]
