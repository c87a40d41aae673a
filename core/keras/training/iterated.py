"""Steps that take an iterator: the results of `make_train_function`, and inputs of overrides."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras.training.data_adapter import as_batch
from pinnace.ops.array import joining

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pinnace.keras.models.model import Model


def over_iterator(model: Model, kind: str) -> Callable[[Any], Any]:
    """A function of an iterator of batches that takes `steps_per_execution` of them.

    Args:
        model: the model with the step.
        kind: "train", "test" or "predict".

    Returns:
        A function that returns the result of the last step; for "predict", it takes all batches and
        returns the joined outputs. It raises StopIteration if there is no batch.
    """

    def function(iterator: Iterable[Any]) -> Any:
        count = None if kind == "predict" else model.steps_per_execution
        found = [_step(model, kind, data) for data in itertools.islice(iter(iterator), count)]
        if not found:
            raise StopIteration
        if kind != "predict" or len(found) == 1:
            return found[-1]
        return structure.map_structure(lambda *parts: joining.concat(list(parts), 0), *found)

    return function


def _step(model: Model, kind: str, data: Any) -> Any:
    batch = as_batch(f"{kind}_function", data)
    steps = model._step_functions
    if kind != "predict":
        steps.prepare(batch, training=kind == "train")
    tensors = [x for x in structure.flatten(batch) if x is not None]
    return steps.function(kind, batch, quiet=False)(*tensors)


def by_override(model: Model, kind: str) -> Callable[[Any], Any]:
    """A step that calls the result of a subclass's `make_…_function` for one batch.

    Args:
        model: the model whose class overrides it.
        kind: "train", "test" or "predict".
    """

    def step(data: Any) -> Any:
        getattr(model, f"make_{kind}_function")()
        function = getattr(model, f"{kind}_function")
        return function([data] if kind == "predict" else iter([data]))

    return step
