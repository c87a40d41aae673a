"""Steps: what happens to one batch, as plain Python or as one traced function."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pinnace.autodiff.tape import GradientTape
from pinnace.framework import structure, tracebacks
from pinnace.framework.context import init_scope
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.function import Function
from pinnace.keras.training.compile import Compiled
from pinnace.keras.training.data_adapter import Batch, unpack_x_y_sample_weight

if TYPE_CHECKING:
    from collections.abc import Callable


class Steps(Compiled):
    """The part of `Model` that trains on, tests or predicts one batch."""

    def train_step(self, data: Any) -> dict[str, Any]:
        """Train on one batch; a subclass may do it otherwise.

        Args:
            data: x, (x, y) or (x, y, sample_weight).

        Returns:
            What the progress bar shows.
        """
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        variables = self.trainable_variables
        optimizer = self.optimizer
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            y_pred = self(x, training=True)
            loss = self.compute_loss(
                x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True
            )
            scaled = loss if optimizer is None else optimizer.scale_loss(loss)
        self._note_loss(loss, x)
        if variables and optimizer is not None:
            gradients = tape.gradient(scaled, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Test on one batch; a subclass may do it otherwise."""
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self.compute_loss(
            x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False
        )
        self._note_loss(loss, x)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        """The outputs for one batch; a subclass may do it otherwise."""
        x, _, _ = unpack_x_y_sample_weight(data)
        return self(x, training=False)

    # As functions.

    def _step_function(self, kind: str, batch: Batch, *, quiet: bool) -> Callable[..., Any]:
        """Takes a batch's tensors, flat; gives the step's result, or nothing if `quiet`."""
        functions: dict[Any, Callable[..., Any]] = self.__dict__.setdefault("_step_functions", {})
        key = (kind, quiet, self.run_eagerly, _layout(batch))
        found = functions.get(key)
        if found is None:
            found = functions[key] = self._make_step(kind, batch, quiet)
        return found

    def _make_step(self, kind: str, batch: Batch, quiet: bool) -> Callable[..., Any]:
        step = getattr(self, f"{kind}_step")
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

        # The first batch size has a graph of its own, all others share one.
        return (
            run
            if self.run_eagerly
            else Function(run, reduce_retracing=True, name=f"{kind}_function")
        )

    def _is_plain(self, kind: str) -> bool:
        """Whether a step does what it does here, so that its result is that of the metrics."""
        names = {f"{kind}_step", "compute_metrics", "get_metrics_result"}
        cls = type(self)
        return all(getattr(cls, name) is getattr(Steps, name) for name in names)

    # Before the first step.

    def _function_for(
        self, kind: str, batch: Batch, plain: bool, *, first: bool
    ) -> Callable[..., Any]:
        """The step for a batch; before the first one of an epoch the metrics forget."""
        if first:
            self._prepare(batch, training=kind == "train")
            self.reset_metrics()
        return self._step_function(kind, batch, quiet=plain)

    def _prepare(self, batch: Batch, *, training: bool) -> None:
        """Make weights, metrics and the optimizer's variables, so that no step makes any."""
        compilation = self.__dict__.get("_compiled")
        needed = not self.built or (
            compilation is not None
            and (not compilation.metrics.built or (training and not self._optimizer_built()))
        )
        if not needed:
            return
        x, y, _ = unpack_x_y_sample_weight(batch)
        y_pred = self._outputs_for(x)
        if y_pred is not None and y is not None and compilation is not None:
            open_y = structure.map_structure(_open_batch, y)
            if compilation.loss is not None and compilation.loss._pairs is None:
                compilation.loss.build(open_y, y_pred)
            if not compilation.metrics.built:
                compilation.metrics.build(open_y, y_pred)
        # Layers that only the step itself calls are built in it, and the optimizer after them.
        whole = all(layer.built for layer in self._flatten_layers(include_self=False))
        if training and whole and self.optimizer is not None and not self._optimizer_built():
            with init_scope():
                self.optimizer.build(self.trainable_variables)

    def _optimizer_built(self) -> bool:
        return self.optimizer is None or self.optimizer.built

    def _outputs_for(self, x: Any) -> Any:
        """Specs of the outputs; None if only a step of its own knows how to call the model."""
        try:
            return self.compute_output_spec(structure.map_structure(_open_batch, x))
        except Exception:
            # A call that needs to know the batch size is tried with it.
            with contextlib.suppress(Exception):
                return self.compute_output_spec(structure.map_structure(_spec, x))
            if type(self).train_step is not Steps.train_step:
                return None
            raise

    @tracebacks.entry
    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Train on one batch.

        Returns:
            The loss, a list of it and the metrics if there are any, or a dict.
        """
        self._compilation("train_on_batch")
        return self._on_batch("train", x, y, sample_weight, class_weight, return_dict)

    @tracebacks.entry
    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """Test on one batch; see `train_on_batch`."""
        self._compilation("test_on_batch")
        return self._on_batch("test", x, y, sample_weight, None, return_dict)

    def _on_batch(
        self, kind: str, x: Any, y: Any, weight: Any, class_weight: Any, return_dict: bool
    ) -> Any:
        from pinnace.keras.training.data_adapter import batches_of

        size = 2**31 - 1
        batches = batches_of(
            f"{kind}_on_batch", x, y, weight, batch_size=size, class_weight=class_weight
        )
        batch = next(batches.epoch())
        self._prepare(batch, training=kind == "train")
        self.reset_metrics()  # Keras: what is told is of this batch alone
        logs = self._step_function(kind, batch, quiet=False)(*tensors_of(batch))
        found = numbers_of(logs)
        return found if return_dict else in_order(self, found)

    @tracebacks.entry
    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch, as arrays."""
        from pinnace.keras.training.data_adapter import batches_of

        batch = next(batches_of("predict_on_batch", x, batch_size=2**31 - 1).epoch())
        outputs = self._step_function("predict", batch, quiet=False)(*tensors_of(batch))
        return structure.map_structure(lambda y: y.numpy(), outputs)


def tensors_of(batch: Batch) -> list[Tensor]:
    """The tensors of a batch, flat."""
    return [x for x in structure.flatten(batch) if x is not None]


def in_order(model: Compiled, logs: dict[str, Any]) -> Any:
    """The loss, then the metrics in the order of `model.metrics`; the loss alone as a number."""
    names: list[str] = []
    for metric in model.metrics:
        names += [m.name for m in getattr(metric, "metrics", [metric])]
    known = [name for name in dict.fromkeys(names) if name in logs]
    # Keras: those that are named after an output too come last, by name.
    values = [logs[name] for name in (*known, *sorted(set(logs) - set(known)))]
    return values[0] if len(values) == 1 else values


def numbers_of(logs: dict[str, Any]) -> dict[str, Any]:
    """What a step gave as numbers, in alphabetical order; what a dict in it holds stands beside."""
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
    """The structure of a batch, hashable."""

    def layout(part: Any) -> object:
        if isinstance(part, dict):
            return ("dict", tuple((key, layout(part[key])) for key in sorted(part)))
        if isinstance(part, (list, tuple)):
            return (type(part).__name__, tuple([layout(item) for item in part]))
        return part is None

    return tuple([layout(part) for part in batch])


def _spec(x: Any) -> Any:
    return TensorSpec.of(x.shape, x.dtype) if isinstance(x, Tensor) else x


def _open_batch(x: Any) -> Any:
    """The spec of a tensor, the batch axis left open."""
    if not isinstance(x, Tensor) or not x.shape.rank:
        return _spec(x)
    return TensorSpec((None, *x.shape[1:]), x.dtype)
