"""CheckpointManager: several checkpoints in a folder, the old ones deleted."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.checkpoint.state_file import checkpoint_exists, read_state, write_state
from pinnace.framework import jobs
from pinnace.framework.context import init_scope
from pinnace.storage.bundle import index_path
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.checkpoint.checkpoint import Checkpoint, CheckpointOptions
    from pinnace.framework.variable import Variable

_HOUR_S = 3600.0


class CheckpointManager:
    """Saves checkpoints under increasing numbers and deletes old ones.

    Args:
        checkpoint: the checkpoint to save.
        directory: the folder.
        max_to_keep: how many are kept; None keeps all.
        keep_checkpoint_every_n_hours: keep one for good each time this has passed.
        checkpoint_name: the files begin with it.
        step_counter: counts training steps; needed for `checkpoint_interval`.
        checkpoint_interval: save only if this many steps have passed.
        init_fn: called by `restore_or_initialize` when there is nothing to restore.
        last_checkpoint_step: the step of the newest checkpoint, which `checkpoint_interval` counts
            from.

    Raises:
        ValueError: `max_to_keep` is below 1; an interval without a counter.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Variable | None = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(
                f"CheckpointManager: max_to_keep must be None or at least 1, got {max_to_keep}"
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("CheckpointManager: checkpoint_interval needs a step_counter")
        self._checkpoint = checkpoint
        self._directory = os.fspath(directory)
        self._max_to_keep = max_to_keep
        self._keep_every_s = (
            None
            if keep_checkpoint_every_n_hours is None
            else keep_checkpoint_every_n_hours * _HOUR_S
        )
        self._name = checkpoint_name
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init = init_fn
        self._latest: str | None = None
        self._last_step: int | None = last_checkpoint_step
        # Path -> when it was written, in seconds since 1970; oldest first.
        self._kept: dict[str, float] = {}
        self._last_preserved = time.time()
        self._read_folder()

    def _read_folder(self) -> None:
        state = read_state(self._directory)
        if state is None:
            return
        paths = list(state.all_model_checkpoint_paths)
        times = list(state.all_model_checkpoint_timestamps)
        now, self._last_preserved = self._last_preserved, state.last_preserved_timestamp
        if now < self._last_preserved:
            logging.getLogger("pinnace").warning(
                "CheckpointManager: the clock is %.1f s behind the last preserved checkpoint "
                "timestamp in %r: existing checkpoints are kept",
                self._last_preserved - now,
                self._directory,
            )
            self._last_preserved = now
        if len(times) != len(paths):
            times = [self._last_preserved] * len(paths)
        # Checkpoints that other code wrote, or that are preserved for good, must not be deleted
        # here.
        self._kept = {
            path: min(written, now)
            for path, written in zip(paths, times, strict=True)
            if min(written, now) > self._last_preserved and checkpoint_exists(path)
        }
        if checkpoint_exists(state.model_checkpoint_path):
            self._latest = state.model_checkpoint_path

    @property
    def directory(self) -> str:
        """The folder of the checkpoints."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The `Checkpoint` that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The number of steps that must pass between two saves."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The newest checkpoint."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, oldest first."""
        return list(self._kept)

    def save(
        self,
        checkpoint_number: int | Variable | None = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:
        """Save under the next number, and delete the oldest beyond the limit.

        Args:
            checkpoint_number: instead of the next one.
            check_interval: whether to do nothing before the interval has passed.
            options: see `CheckpointOptions`.

        Returns:
            The path; None if nothing was saved.
        """
        step = None if self._step_counter is None else int(self._step_counter)
        if self._interval is not None and check_interval and step is not None:
            if self._last_step is not None and step < self._last_step + self._interval:
                return None
            self._last_step = step
        counter = self._checkpoint.save_counter
        with init_scope():
            counter.assign_add(np.int64(1))
        number = int(counter) if checkpoint_number is None else int(checkpoint_number)
        with jobs.chief_writes(f"saving a checkpoint in {self._directory!r}") as writes:
            # Joined as strings: pathlib would drop a leading "./".
            prefix = os.path.join(self._directory, self._name)  # noqa: PTH118
            path = self._checkpoint.write(f"{prefix}-{number}", options)
            self._kept.pop(path, None)
            self._kept[path] = time.time()
            self._latest = path
            old = self._take_old()
            if writes:
                # The state file is written first, so that every checkpoint it names exists at any
                # time.
                self._write_state()
                for one in old:
                    _delete(one)
        return path

    def _take_old(self) -> list[str]:
        """The checkpoints that are no longer kept."""
        old: list[str] = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            written = self._kept.pop(path)
            if self._keep_every_s is not None and (
                written - self._keep_every_s >= self._last_preserved
            ):
                self._last_preserved = written
            else:
                old.append(path)
        return old

    def _write_state(self) -> None:
        if self._latest is not None:
            write_state(
                self._directory,
                self._latest,
                list(self._kept),
                list(self._kept.values()),
                self._last_preserved,
            )

    def restore_or_initialize(self) -> str | None:
        """Restore the newest checkpoint.

        Returns:
            Its path; None if there is none, after `init_fn` was called.
        """
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._step_counter is not None:
                self._last_step = int(self._step_counter)
            return self._latest
        if self._init is not None:
            self._init()
        return None

    def sync(self) -> None:
        """Accepted for TensorFlow's sake: saves are done when they return."""


def _delete(prefix: str) -> None:
    """Remove the files of a checkpoint; the index first, since without it no checkpoint exists."""
    folder, name = Path(prefix).parent, Path(prefix).name
    data = re.compile(re.escape(name) + r"\.data-\d{5,}-of-\d{5,}\Z")
    with explained("delete checkpoint", prefix), contextlib.suppress(FileNotFoundError):
        Path(index_path(prefix)).unlink(missing_ok=True)
        for path in folder.iterdir():
            if data.match(path.name):
                path.unlink(missing_ok=True)
