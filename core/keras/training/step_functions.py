"""StepFunctions: the step for one batch, as plain Python or as a traced function."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pinnace.framework import jobs, structure
from pinnace.framework.context import init_scope
from pinnace.framework.places import ReplicaPlace, current, entered
from pinnace.framework.tensor import Tensor
from pinnace.functions.function import Function
from pinnace.keras.forms import with_open_batch
from pinnace.keras.layer_part import LayerPart
from pinnace.keras.symbolic import spec_of
from pinnace.keras.training import limits
from pinnace.keras.training.class_weights import ClassWeights
from pinnace.keras.training.data_adapter import batches_of, unpack_x_y_sample_weight
from pinnace.keras.training.outputs import without_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.distribute.strategy import Strategy
    from pinnace.keras.models.model import Model
    from pinnace.keras.training.batches import Batch, Batches

_nowhere = contextlib.nullcontext
# Enough batches for any dataset.
_WHOLE = 2**31 - 1


class StepFunctions(LayerPart):
    """The functions of a model that train on, test or predict one batch.

    Attributes:
        made: (kind, whether it is quiet, whether it is Python, layout of the batch) -> function.
        strategy: the strategy in whose scope the model was made; None for none.
    """

    _owner: Model

    def __init__(self, owner: Model) -> None:
        super().__init__(owner)
        self.made: dict[Any, Callable[..., Any]] = {}
        place = current()
        self.strategy: Strategy | None = None if place is None else place.strategy

    def __getstate__(self) -> dict[str, Any]:
        """The state without traced functions, which are traced again, and without a strategy."""
        return {**vars(self), "made": {}, "strategy": None}

    def scope(self) -> Any:
        """The scope of the strategy in which the model was created."""
        return _nowhere() if self.strategy is None else self.strategy.scope()

    def batches_of(self, who: str, x: Any, *args: Any, **options: Any) -> Batches:
        """The data of a training method as batches; with several processes, this one's share."""
        options["steps"] = limits.limited_steps(options.get("steps"))
        options["class_weight"] = self._class_weights(who, options.get("class_weight"))
        if not self._several():
            return batches_of(who, x, *args, **options)
        from pinnace.keras.training import dealing

        x = dealing.distributed(self.strategy, x)
        return dealing.own_batches(self.strategy, batches_of(who, x, *args, **options), x)

    def _class_weights(self, who: str, given: Any) -> ClassWeights | None:
        """The class weights, for the form of y that the loss expects."""
        empty = given is None or (hasattr(given, "__len__") and not len(given))
        return None if empty else ClassWeights(who, given, self._holds_numbers)

    def _holds_numbers(self, rank: int) -> bool:
        """Whether y with this many axes, the last one longer than 1, contains class indices."""
        loss = self._owner._compilation.loss
        known = None if loss is None else loss.takes_class_numbers
        if known is not None:
            return known
        # Any other loss compares rows with rows; class indices have fewer axes than the output.
        outputs = getattr(self._owner, "outputs", None) or [None]
        return outputs[0] is not None and rank < len(outputs[0].shape)

    def in_own_share(self) -> Any:
        """A block in which metrics cover only this process, without communication."""
        return entered(ReplicaPlace(self.strategy, 0)) if self.spans_processes else _nowhere()

    @property
    def spans_processes(self) -> bool:
        """Whether other processes train the model together with this one."""
        return self.strategy is not None and self.strategy.extended._spans_processes

    def any_of(self, flag: bool, what: str) -> bool:
        """Whether the flag is set in any process that trains the model."""
        return jobs.any_of(flag, what) if self.spans_processes else flag

    def _several(self) -> bool:
        return self.strategy is not None and self.strategy.num_replicas_in_sync > 1

    def clear(self) -> None:
        """Discard the compiled steps."""
        self.made = {}
        model = self._owner
        model.train_function = model.test_function = model.predict_function = None

    def over_iterator(self, kind: str, force: bool) -> Callable[[Any], Any]:
        """The model's `train_function` or its counterparts; see `make_train_function`."""
        name = f"{kind}_function"
        if force or getattr(self._owner, name) is None:
            from pinnace.keras.training import iterated  # few programs call it

            setattr(self._owner, name, iterated.over_iterator(self._owner, kind))
        made: Callable[[Any], Any] = getattr(self._owner, name)
        return made

    def function(
        self, kind: str, batch: Batch, *, quiet: bool, whole: bool = False
    ) -> Callable[..., Any]:
        """A function of a batch's flat tensors that returns the step's result, or None if `quiet`.

        With several replicas each gets its part of the batch, or all of it if it is `whole`.
        """
        key = (kind, quiet, whole, self._owner.run_eagerly, _layout(batch))
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self._make(kind, batch, quiet, whole)
        return found

    def _make(self, kind: str, batch: Batch, quiet: bool, whole: bool) -> Callable[..., Any]:
        step = getattr(self._owner, f"{kind}_step")
        overridden = self._owner._overrides(f"make_{kind}_function")
        if overridden:
            from pinnace.keras.training import iterated  # few models do

            step = iterated.by_override(self._owner, kind)
        if self._several():
            from pinnace.keras.training import dealing  # most models have no replicas

            step = dealing.on_replicas(self.strategy, step, kind == "predict", quiet)
        elif self.strategy is not None:
            from pinnace.keras.training import dealing  # most models have no strategy

            step = dealing.on_the_only_replica(self.strategy, step)
        given = structure.map_structure(lambda x: x is not None, batch)

        def run(*tensors: Any) -> Any:
            filled = iter(tensors)
            data = structure.map_structure(
                lambda is_there: next(filled) if is_there else None, given
            )
            # Keras: a batch of x alone is x, not a tuple, unless x is one itself.
            alone = len(data) == 1 and not isinstance(data[0], (list, tuple))
            result = step(data[0] if alone else data)
            return None if quiet else result

        # The first batch size has a separate graph, all others share one.
        made: Callable[..., Any] = (
            run
            if self._owner.run_eagerly or overridden
            else Function(run, reduce_retracing=True, name=f"{kind}_function")
        )
        return dealing.dealt(self.strategy, made, whole) if self._several() else made

    def is_plain(self, kind: str) -> bool:
        """Whether a step is Model's own, whose result is that of the metrics."""
        return not self._owner._overrides(
            *(f"{kind}_step", f"make_{kind}_function"), "compute_metrics", "get_metrics_result"
        )

    # Before the first step.

    def function_for(
        self, kind: str, batch: Batch, plain: bool, *, first: bool
    ) -> Callable[..., Any]:
        """The step for a batch; resets the metrics before the first one of an epoch."""
        if first:
            self._owner.reset_metrics()
            self.prepare(batch, training=kind == "train")
        return self.function(kind, batch, quiet=plain)

    def prepare(self, batch: Batch, *, training: bool) -> None:
        """Create weights, metrics and the optimizer's variables, so that no step creates any."""
        if self._several():
            from pinnace.keras.training import dealing

            batch = dealing.first_replicas(batch)
        with self.scope():
            self._prepare(batch, training)

    def _prepare(self, batch: Batch, training: bool) -> None:
        model = self._owner
        loss, metrics = model._compilation.loss, model._compilation.metrics
        needed = not model.built or (
            metrics is not None
            and (not metrics.built or (training and not self._optimizer_built()))
        )
        if not needed:
            return
        x, y, _ = unpack_x_y_sample_weight(batch)
        y_pred = self._outputs_for(x)
        if y_pred is not None and y is not None and metrics is not None:
            open_y = structure.map_structure(_open_batch, y)
            if loss is not None and not loss.built:
                loss.build(open_y, y_pred)
            if not metrics.built:
                metrics.build(open_y, y_pred)
        # Layers that only the step calls are built there, and the optimizer afterwards.
        whole = all(layer.built for layer in model._flatten_layers(include_self=False))
        if training and whole and model.optimizer is not None and not self._optimizer_built():
            with init_scope():
                model.optimizer.build(model.trainable_variables)

    def _optimizer_built(self) -> bool:
        return self._owner.optimizer is None or self._owner.optimizer.built

    def _outputs_for(self, x: Any) -> Any:
        """Specs of the outputs; None if only a custom step can call the model."""
        model = self._owner
        try:
            found = model.compute_output_spec(structure.map_structure(_open_batch, x))
        except Exception:
            # A call that needs the batch size is tried with it.
            with contextlib.suppress(Exception):
                return model.compute_output_spec(structure.map_structure(spec_of, x))
            if model._overrides("train_step"):
                return None
            raise
        return found if model._overrides("call") else without_list(found)

    # A single batch.

    def on_batch(
        self, kind: str, x: Any, y: Any, weight: Any, class_weight: Any, return_dict: bool
    ) -> Any:
        """Train or test on one batch; see `Model.train_on_batch`."""
        who = f"{kind}_on_batch"
        self._owner._compilation.require(who)
        classes = self._class_weights(who, class_weight)
        batches = batches_of(
            who, x, y, weight, batch_size=_WHOLE, class_weight=classes, upright=False
        )
        batch = next(batches.epoch())
        self._owner.reset_metrics()  # Keras: the results are for this batch alone
        self.prepare(batch, training=kind == "train")
        # Keras: one batch alone is not split.
        logs = self.function(kind, batch, quiet=False, whole=True)(*tensors_of(batch))
        found = numbers_of(logs)
        return found if return_dict else in_order(self._owner, found)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch, as arrays."""
        batch = next(batches_of("predict_on_batch", x, batch_size=_WHOLE, upright=False).epoch())
        outputs = self.function("predict", batch, quiet=False)(*tensors_of(batch))
        return structure.map_structure(lambda y: y.numpy(), outputs)


def tensors_of(batch: Batch) -> list[Tensor]:
    """The tensors of a batch, flat."""
    return [x for x in structure.flatten(batch) if x is not None]


def in_order(model: Model, logs: dict[str, Any]) -> Any:
    """The loss, then the metrics in the order of `model.metrics`; a single loss as a number."""
    names: list[str] = []
    for metric in model.metrics:
        names += [m.name for m in getattr(metric, "metrics", [metric])]
    known = [name for name in names if name in logs]
    # Keras: metrics with other names in logs (of one output, or `weighted_`) come last, sorted by
    # name. A metric in both `metrics` and `weighted_metrics` has its unweighted value there.
    values = [logs[name] for name in (*known, *sorted(set(logs) - set(known)))]
    return values[0] if len(values) == 1 else values


def numbers_of(logs: dict[str, Any]) -> dict[str, Any]:
    """A step's results as numbers, in alphabetical order; nested dicts are flattened."""
    found: dict[str, Any] = {}
    for name in sorted(logs):
        value = logs[name]
        found.update(numbers_of(value) if isinstance(value, dict) else {name: python_number(value)})
    return found


def python_number(value: Any) -> Any:
    """A scalar tensor as a float; other tensors as arrays."""
    if isinstance(value, Tensor):
        return float(value) if value.ndim == 0 else value.numpy()
    return value


def _layout(batch: Batch) -> object:
    """The structure of a batch and the ranks in it, hashable.

    A function shared by batches of two ranks would lose the static rank.
    """

    def layout(part: Any) -> object:
        if isinstance(part, dict):
            return ("dict", tuple((key, layout(part[key])) for key in sorted(part)))
        if isinstance(part, (list, tuple)):
            return (type(part).__name__, tuple([layout(item) for item in part]))
        shape = getattr(part, "shape", None)  # parts of replicas have none
        return type(part).__name__ if shape is None else len(shape)

    return tuple([layout(part) for part in batch])


def _open_batch(x: Any) -> Any:
    """The spec of a tensor, with an open batch axis."""
    return with_open_batch(spec_of(x))
