"""SwapEMAWeights: tests and predictions with the averages of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.callbacks.callback import Callback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.variable import Variable


class SwapEMAWeights(Callback):
    """Evaluates and saves a model with the moving averages of an optimizer with `use_ema=True`.

    Args:
        swap_on_epoch: whether they are the model's weights from the end of an epoch to the next
            one's beginning, too, for callbacks such as ModelCheckpoint that come after this one.
    """

    def __init__(self, swap_on_epoch: bool = False) -> None:
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        self._swapped = False

    def _pairs(self) -> Iterator[tuple[Variable, Variable]]:
        """The weights and their averages.

        Raises:
            ValueError: the optimizer keeps no averages.
        """
        optimizer: Any = self.model.optimizer
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)
        several = getattr(optimizer, "optimizers", [optimizer])
        keeping = [one for one in several if getattr(one, "use_ema", False)]
        if not keeping:
            raise ValueError(
                "SwapEMAWeights must be used when `use_ema=True` is set on the optimizer, "
                f"got {type(optimizer).__name__} with use_ema=False"
            )
        for one in keeping:
            for variable in one._targets:
                yield variable, one.slot("average", variable)

    def _swap(self, into: bool) -> None:
        """Exchange weights and averages, unless that is already done."""
        if self._swapped is into:
            return
        for variable, average in self._pairs():
            value = variable.numpy()
            variable.assign(average.numpy())
            average.assign(value)
        self._swapped = into

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Train with the weights."""
        del epoch, logs
        if self.swap_on_epoch:
            self._swap(False)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Let other callbacks see the averages, if requested."""
        del logs
        if not self.swap_on_epoch or self._swapped:
            return
        self._swap(True)
        # After training the weights are the averages, taken from the optimizer.
        if epoch == self.params["epochs"] - 1:
            for variable, average in self._pairs():
                average.assign(variable.numpy())

    def on_test_begin(self, logs: Any = None) -> None:
        """Test with the averages."""
        del logs
        self._swap(True)

    def on_test_end(self, logs: Any = None) -> None:
        """Go on with the weights."""
        del logs
        self._swap(False)

    def on_predict_begin(self, logs: Any = None) -> None:
        """Predict with the averages."""
        del logs
        self._swap(True)

    def on_predict_end(self, logs: Any = None) -> None:
        """Go on with the weights."""
        del logs
        self._swap(False)
