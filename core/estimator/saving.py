"""When checkpoints are written during training."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, cast

from pinnace.checkpoint import CheckpointManager, latest_checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.checkpoint import Checkpoint
    from pinnace.estimator.building import BuiltModel
    from pinnace.estimator.hooks import CheckpointSaverListener
    from pinnace.estimator.run_config import RunConfig


class Saving:
    """Restores the newest checkpoint of a folder, and writes more during training.

    Args:
        folder: their folder.
        model: the model with the variables.
        config: the configuration, which says how often to save.
        listeners: the listeners notified of saves.
    """

    def __init__(
        self,
        folder: str,
        model: BuiltModel,
        config: RunConfig,
        listeners: Sequence[CheckpointSaverListener],
    ) -> None:
        self._step = model.global_step
        self._listeners = tuple(listeners)
        self._every_steps = config.save_checkpoints_steps
        self._every_s = config.save_checkpoints_secs
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 (a text, not a file)
        self._manager = CheckpointManager(
            # It needs `write` and `save_counter`, no more.
            cast("Checkpoint", model.variables),
            folder,
            config.keep_checkpoint_max or None,
            config.keep_checkpoint_every_n_hours,
            checkpoint_name="model.ckpt",
        )
        newest = latest_checkpoint(folder)
        self.resumed = newest is not None
        if newest is not None:
            model.variables.read(newest)
        self._saved_step = int(self._step.numpy()) if self.resumed else None
        self._saved_s = time.monotonic()

    def begin(self) -> None:
        """Write the untrained model, unless there is a checkpoint."""
        for listener in self._listeners:
            listener.begin()
        if not self.resumed:
            self.save()

    def after_step(self) -> bool:
        """Write a checkpoint if one is due; True if a listener wants to stop."""
        step = int(self._step.numpy())
        since = step - (self._saved_step or 0)
        due = self._every_steps is not None and since >= self._every_steps
        if self._every_s is not None:
            due = due or time.monotonic() - self._saved_s >= self._every_s
        return self.save() if due else False

    def end(self) -> None:
        """Write the final state unless it was written already."""
        step = int(self._step.numpy())
        if step != self._saved_step:
            self.save()
        for listener in self._listeners:
            listener.end(None, step)

    def save(self) -> bool:
        """Write a checkpoint; True if a listener wants to stop."""
        step = int(self._step.numpy())
        for listener in self._listeners:
            listener.before_save(None, step)
        self._manager.save(step)
        self._saved_step = step
        self._saved_s = time.monotonic()
        answers: list[Any] = [listener.after_save(None, step) for listener in self._listeners]
        return any(answers)
