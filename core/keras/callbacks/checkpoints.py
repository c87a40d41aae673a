"""Callbacks that save the model during training: ModelCheckpoint, BackupAndRestore."""

# Hooks have fixed parameters, used or not.
# ruff: noqa: ARG002

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from pinnace.checkpoint.checkpoint import Checkpoint
from pinnace.framework import jobs
from pinnace.keras.callbacks.callback import Callback
from pinnace.keras.callbacks.stopping import Monitor
from pinnace.keras.checkpoint_weights import read_checkpoint
from pinnace.storage.atomic import write_file


class ModelCheckpoint(Monitor):
    """Writes the model, or its weights, after epochs or batches.

    Args:
        filepath: path to write to; `{epoch}`, `{batch}` and the names in the logs are filled in, as
            `weights-{epoch:02d}-{val_loss:.2f}`. See `Model.save` and `Model.save_weights` for the
            endings.
        monitor: the number that says how good the model is.
        verbose: whether to report each save.
        save_best_only: whether to write improvements only.
        save_weights_only: whether only the weights are written.
        mode: whether lower (`min`) or higher (`max`) is better; `auto` asks the metric.
        save_freq: `epoch`, or a number of batches.
        initial_value_threshold: the value that the first saved one must improve on.

    Raises:
        ValueError: unknown save_freq.
    """

    def __init__(
        self,
        filepath: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__(monitor, mode, 0.0)
        if save_freq != "epoch" and not (isinstance(save_freq, int) and save_freq > 0):
            raise ValueError(
                "ModelCheckpoint: Unrecognized save_freq: save_freq must be 'epoch' or a number of "
                f"batches, got {save_freq!r}"
            )
        self.filepath = os.fspath(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.save_freq = save_freq
        self.wants_batches = save_freq != "epoch"
        self.best = initial_value_threshold
        self._epoch = 0
        self._batches = 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch: record its number."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a batch: save the model if it is due."""
        if self.save_freq == "epoch":
            return
        self._batches += 1
        if self._batches >= int(self.save_freq):
            self._batches = 0
            self._save(logs or {}, batch=batch + 1)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch: save the model if it is due."""
        if self.save_freq == "epoch":
            self._save(logs or {})

    def _save(self, logs: dict[str, Any], **numbers: int) -> None:
        try:
            path = self.filepath.format(epoch=self._epoch + 1, **{**numbers, **logs})
        except KeyError as error:
            raise KeyError(
                f"ModelCheckpoint: filepath {self.filepath!r} names {error}, there is "
                f"{', '.join(['epoch', *numbers, *logs])}"
            ) from None
        if not self._is_due(logs, path):
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)

    def _is_due(self, logs: dict[str, Any], path: str) -> bool:
        if not self.save_best_only:
            self._say(f"saving to {path}")
            return True
        value = logs.get(self.monitor)
        if value is None:
            warnings.warn(
                f"ModelCheckpoint: monitor {self.monitor!r} is not among {', '.join(logs)}: "
                "the model is written whether it is better or not",
                stacklevel=4,
            )
            return True
        best = self._worst() if self.best is None else self.best
        if not self._is_better(value, best):
            self._say(f"{self.monitor} {value:.5f} is not better than {best:.5f}")
            return False
        self._say(f"{self.monitor} {value:.5f} is better than {best:.5f}, saving to {path}")
        self.best = value
        return True

    def _say(self, text: str) -> None:
        if self.verbose and jobs.is_chief():
            sys.stdout.write(f"\nEpoch {self._epoch + 1}: {text}\n")


class BackupAndRestore(Callback):
    """Resumes training where it was interrupted, if the program is started again.

    Weights, optimizer, epoch and batch number are saved after each epoch.

    Args:
        backup_dir: a folder that nothing else writes into.
        save_freq: `epoch`, or a number of batches.
        double_checkpoint: accepted for Keras' sake: a backup is replaced as a whole or not at all.
        delete_checkpoint: whether the backup goes away once training has ended.

    Raises:
        ValueError: no folder; another save_freq.
    """

    def __init__(
        self,
        backup_dir: str | os.PathLike[str],
        save_freq: str | int = "epoch",
        double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        del double_checkpoint
        if not backup_dir or not os.fspath(backup_dir):
            raise ValueError(
                "BackupAndRestore: Empty `backup_dir` argument passed: it must name a folder, got "
                f"{backup_dir!r}"
            )
        if save_freq != "epoch" and not (isinstance(save_freq, int) and save_freq > 0):
            raise ValueError(
                "BackupAndRestore: Invalid value for argument `save_freq`: it must be 'epoch' or a "
                f"number of batches, got {save_freq!r}"
            )
        self.backup_dir = Path(backup_dir)
        self.save_freq = save_freq
        self.wants_batches = save_freq != "epoch"
        self.delete_checkpoint = delete_checkpoint
        self._epoch = 0
        self._batches = 0
        self._number = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training: restore a saved state."""
        note = self.backup_dir / "training_metadata.json"
        found = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else None
        found = jobs.agreed(found, "whether there is a backup to go on from")
        if found is None:
            return
        self._number = int(found["number"])
        read_checkpoint(
            self.model,
            self._checkpoint(),
            str(self.backup_dir / f"backup-{self._number}"),
            "BackupAndRestore",
            "another backup_dir, or take this one away to begin anew",
        )
        self.model._model_trainer.first_epoch = int(found["epoch"])

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch: record its number."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a batch: save the model if it is due."""
        if self.save_freq == "epoch":
            return
        self._batches += 1
        if self._batches >= int(self.save_freq):
            self._batches = 0
            self._write(self._epoch, batch + 1)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch: save the state."""
        self._write(epoch + 1, 0)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after training: delete the backup."""
        if self.delete_checkpoint:
            with jobs.chief_writes("taking the backup away") as writes:
                if writes and self.backup_dir.is_dir():
                    shutil.rmtree(self.backup_dir)

    def _checkpoint(self) -> Checkpoint:
        # The optimizer is a child of the model: its slots are matched with the weights.
        return Checkpoint(model=self.model)

    def _write(self, epoch: int, batch: int) -> None:
        before, self._number = self._number, self._number + 1
        with jobs.chief_writes("writing a backup") as writes:
            if writes:
                self.backup_dir.mkdir(parents=True, exist_ok=True)
            self._checkpoint().write(str(self.backup_dir / f"backup-{self._number}"))
            if writes:
                self._note(epoch, batch, before)

    def _note(self, epoch: int, batch: int, before: int) -> None:
        # The files it names are complete: it is written last.
        note = {"epoch": epoch, "batch": batch, "number": self._number}
        write_file(self.backup_dir / "training_metadata.json", json.dumps(note).encode())
        for old in self.backup_dir.glob(f"backup-{before}.*"):
            old.unlink()
