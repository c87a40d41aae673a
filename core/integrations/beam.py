"""A model for Beam's `RunInference`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from apache_beam.ml.inference.base import ModelHandler, PredictionResult

from pinnace.deploy.models.runners import Runner, load_runner
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class PinnaceModelHandler(ModelHandler[Any, PredictionResult, Runner]):  # type: ignore[misc]
    """Maps examples to outputs: arrays, or dicts of arrays by input name.

    Args:
        model: path of a SavedModel, or of a file that `pinnace run` takes; all workers must reach
            it there.
        signature: its name; `serving_default` or the only one if None.
        batch_size: rows of a run of the model, at most.
    """

    def __init__(self, model: str, signature: str | None = None, *, batch_size: int = 256) -> None:
        self._model = model
        self._signature = signature
        super().__init__(max_batch_size=batch_size, model_id=model)

    def load_model(self) -> Runner:
        """Load the signature to run."""
        return load_runner(Path(self._model), self._signature)

    def run_inference(
        self,
        batch: Sequence[Any],
        model: Runner,
        inference_args: Mapping[str, Any] | None = None,
    ) -> Iterable[PredictionResult]:
        """The outputs of a batch: for each example a dict of arrays by the names of outputs.

        Args:
            batch: examples without an axis of rows.
            model: from `load_model`.
            inference_args: must be None.

        Raises:
            InvalidArgumentError: an example has other names than the signature, or there are
                arguments.
        """
        if inference_args:
            raise InvalidArgumentError(f"there are no inference_args, got {inference_args}")
        rows = [one if isinstance(one, dict) else {next(iter(model.inputs)): one} for one in batch]
        for row in rows:
            if set(row) != set(model.inputs):
                names, got = ", ".join(model.inputs), ", ".join(map(str, row))
                raise InvalidArgumentError(f"an example must have {names}; got {got}")
        found = model.run(
            {
                name: np.stack([np.asarray(row[name], spec.dtype.numpy) for row in rows])
                for name, spec in model.inputs.items()
            }
        )
        return [
            PredictionResult(
                one, {name: array[place] for name, array in found.items()}, self._model
            )
            for place, one in enumerate(batch)
        ]

    def get_metrics_namespace(self) -> str:
        """The namespace under which Beam shows the metrics of this handler."""
        return "BeamML_Pinnace"
