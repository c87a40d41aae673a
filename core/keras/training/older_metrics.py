"""OlderMetrics: the compiled metrics with the interface before Keras 3."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.keras.metrics.means import Mean

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


class OlderMetrics:
    """`model.compiled_metrics` for older `train_step`s.

    Args:
        model: the model with the metrics.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update all metrics with a batch; warns.

        Args:
            y: truths.
            y_pred: outputs.
            sample_weight: factors of the samples.
        """
        warnings.warn(
            "`model.compiled_metrics` is deprecated: use e.g. `for metric in self.metrics: "
            "metric.update_state(y, y_pred)`",
            stacklevel=2,
        )
        for metric in self._model.metrics:
            if isinstance(metric, Mean):  # Keras: of the loss, it is the outputs' mean then
                metric.update_state(y_pred, sample_weight=sample_weight)
            else:
                metric.update_state(y, y_pred, sample_weight=sample_weight)
