"""Compilation: the arguments of `compile`, and the loss and metrics of outputs."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, TypedDict

from pinnace.framework import structure
from pinnace.framework.close_names import arguments_of, unknown_arguments
from pinnace.keras import registry, replicas
from pinnace.keras.forms import samples_of
from pinnace.keras.layer_part import LayerPart
from pinnace.keras.metrics.means import Mean
from pinnace.keras.metrics.metric import metrics_in
from pinnace.keras.training.compiled_loss import CompileLoss
from pinnace.keras.training.compiled_metrics import CompileMetrics
from pinnace.keras.training.outputs import names_of_outputs
from pinnace.ops.array import casting
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.keras.metrics.metric import Metric
    from pinnace.keras.models.model import Model

# Arguments about how steps run, not about what they compute.
_HOW = ("jit_compile", "steps_per_execution", "auto_scale_loss")


class OlderCompileOptions(TypedDict, total=False):
    """Arguments of `compile` in older programs, without effect."""

    distribute: Any
    target_tensors: Any
    sample_weight_mode: Any


class Compilation(LayerPart):
    """The arguments of `compile`.

    Attributes:
        given: its arguments by name; None before it is called.
        loss: the losses of all outputs as one, if there are any.
        metrics: the metrics of all outputs as one.
        tracker: the mean of the loss.
        run_eagerly: whether steps are run as plain Python.
        steps_per_execution: how many batches callbacks see as one.
        jit_compile: kept as given; steps run by machine code from the first one in any case.
    """

    _owner: Model

    def __init__(self, owner: Model) -> None:
        super().__init__(owner)
        self.given: dict[str, Any] | None = None
        self.loss: CompileLoss | None = None
        self.metrics: CompileMetrics | None = None
        self.tracker: Mean | None = None
        self.run_eagerly = False
        self.steps_per_execution = 1
        self.jit_compile = False

    def set(self, given: dict[str, Any]) -> None:
        """Set the arguments of `compile`, given by name."""
        names = names_of_outputs(self._owner)
        loss = given["loss"]
        # Keras: the name of a Sequential's output is unknown to the loss.
        shown = not self._owner._lists_layers
        losses = (
            None
            if loss is None
            else CompileLoss(loss, given["loss_weights"], names, shows_names=shown)
        )
        self.metrics = CompileMetrics(
            given["metrics"], given["weighted_metrics"], output_names=names
        )
        self.loss = losses
        self.given = given
        self.tracker = Mean(name="loss")
        self.run_eagerly = given["run_eagerly"]
        self.steps_per_execution = int(given["steps_per_execution"])
        self.jit_compile = given["jit_compile"] is True and not self.run_eagerly

    def require(self, who: str) -> None:
        """Raise ValueError if `compile` was not called."""
        if self.given is None:
            raise ValueError(
                f"{who}: {self._owner._described()} must be compiled first: model.compile(...)"
            )

    def config(self) -> dict[str, Any] | None:
        """The arguments of `compile` in JSON-serializable form."""
        if self.given is None:
            return None
        how = {"jit_compile": self.jit_compile, "steps_per_execution": self.steps_per_execution}
        given = {**self.given, "optimizer": self._owner.optimizer, **how}
        return {k: registry.serialize_keras_object(v) for k, v in given.items()}

    # Metrics.

    def all_metrics(self) -> list[Metric]:
        """The mean loss, the metrics given to `compile`, and those in layers' attributes."""
        every = [*self._own_metrics(), *metrics_in(self._owner)]
        found = {id(metric): metric for metric in every}
        for metric in () if self.metrics is None else self.metrics.metrics:
            found.pop(id(metric), None)
        return list(found.values())

    def _own_metrics(self) -> list[Metric]:
        """The mean loss, the metrics given to `compile`, and the mean losses of several outputs."""
        found: list[Metric] = [] if self.tracker is None else [self.tracker]
        if self.metrics is not None and not self.metrics.is_empty:
            found.append(self.metrics)
        return [*found, *([] if self.loss is None else self.loss.trackers)]

    # Loss and metrics of a batch.

    def total_loss(self, y: Any, y_pred: Any, sample_weight: Any) -> Any:
        """The loss of a batch including losses of layers; see `Model.compute_loss`."""
        self.require("compute_loss")
        parts = []
        if self.loss is not None and y is not None:
            parts.append(self.loss(y, y_pred, sample_weight))
        parts.extend(replicas.shared(_summed(loss)) for loss in self._owner.losses)
        if not parts:
            raise ValueError(
                f"{self._owner._described()}: there is no loss\n"
                "  Try: compile(loss=...) and a y, or add_loss in a layer"
            )
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def update_metrics(self, y: Any, y_pred: Any, sample_weight: Any) -> None:
        """Update the metrics with a batch."""
        self.require("compute_metrics")
        if y is not None and self.metrics is not None:
            self.metrics.update_state(y, y_pred, sample_weight)

    def note_loss(self, loss: Any, x: Any) -> None:
        """Add a loss to its mean, weighted by the number of samples."""
        first = next(part for part in structure.flatten(x) if part is not None)
        size = first.shape[0] if first.shape.rank else 1
        count = samples_of(first) if size is None else float(size)
        if self.tracker is not None:
            weight = casting.cast(count, "float32")
            self.tracker.update_state(replicas.whole(loss), sample_weight=weight)


def without_effect(method: Callable[..., Any], older: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The arguments of `compile` that were given and have no effect, and why.

    Raises:
        TypeError: an argument that `compile` does not have.
    """
    unknown = sorted(set(older) - OlderCompileOptions.__optional_keys__)
    if unknown:
        raise TypeError(unknown_arguments("compile", unknown, arguments_of(method)))
    return [(name, "it is of Keras 2") for name, value in older.items() if value is not None]


def check_how(steps: Any, jit_compile: Any) -> None:
    """Check the arguments of `compile` that say how steps are run.

    Raises:
        ValueError: fewer than one step in an execution, or another `jit_compile`.
    """
    if isinstance(steps, bool) or not isinstance(steps, Integral) or steps < 1:
        raise ValueError(
            f"compile: steps_per_execution must be an integer of at least 1, got {steps!r}"
        )
    if jit_compile not in (True, False, "auto", None):
        raise ValueError(f"compile: jit_compile must be True, False or 'auto', got {jit_compile!r}")


def arguments(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `compile` from the result of `Compilation.config`."""
    # How Keras ran the steps, which a file records, does not apply here.
    told = {k: v for k, v in config.items() if k not in _HOW}
    return {k: registry.deserialize_keras_object(v) for k, v in told.items()}


def _summed(loss: Any) -> Any:
    """A layer's added loss, possibly per sample, as a scalar."""
    number = casting.cast(loss, "float32")
    return number if number.shape.rank == 0 else reduction.reduce_sum(number)
