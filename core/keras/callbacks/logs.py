"""Callbacks that log training: CSVLogger, TensorBoard."""

# Hooks have fixed parameters, used or not.
# ruff: noqa: ARG002

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace import summary
from pinnace.framework.no_effect import no_effect
from pinnace.keras.callbacks.callback import Callback

if TYPE_CHECKING:
    from typing import TextIO


class CSVLogger(Callback):
    """Appends the logs of each epoch to a CSV file.

    Args:
        filename: path of the table.
        separator: between its columns.
        append: whether rows are added to a table that is there.
    """

    of_the_chief = True

    def __init__(
        self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False
    ) -> None:
        super().__init__()
        self.filename = os.fspath(filename)
        self.sep = separator
        self.append = append
        self.keys: list[str] | None = None
        self._file: TextIO | None = None
        self._writer: Any = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training: open the table."""
        path = Path(self.filename)
        goes_on = self.append and path.is_file() and path.stat().st_size > 0
        self._with_header = not goes_on
        self._file = path.open("a" if self.append else "w", newline="", encoding="utf-8")
        self.append = True  # training that goes on later adds to it

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch: write a row."""
        if self._file is None:
            raise RuntimeError("CSVLogger: on_train_begin must be called first")
        logs = logs or {}
        if self.keys is None:
            # Logs of validation may first appear after a later epoch.
            self.keys = sorted(logs)
            if not any(key.startswith("val_") for key in self.keys):
                self.keys += [f"val_{key}" for key in self.keys]
        if self._writer is None:
            self._writer = csv.DictWriter(
                self._file,
                ["epoch", *self.keys],
                delimiter=self.sep,
                restval="NA",
                extrasaction="ignore",
            )
            if self._with_header:
                self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **{k: _cell(v) for k, v in logs.items()}})
        self._file.flush()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after training: close the table."""
        if self._file is not None:
            self._file.close()
        self._file = self._writer = None


def _cell(value: Any) -> Any:
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else f'"[{", ".join(map(str, array.tolist()))}]"'


def _batches(given: Any) -> tuple[int, int] | None:
    """The first and the last batch that is profiled."""
    parts = given.split(",") if isinstance(given, str) else given
    try:
        pair = [int(one) for one in parts] if isinstance(parts, list | tuple) else [int(parts)] * 2
    except (TypeError, ValueError):
        pair = []
    if len(pair) == 1:
        pair *= 2
    if len(pair) != 2 or pair[0] < 0 or pair[1] < pair[0]:
        raise ValueError(
            "TensorBoard: profile_batch must be a batch's number or a pair of them, the first not "
            f"above the last, got {given!r}"
        )
    return (pair[0], pair[1]) if pair[0] else None


class TensorBoard(Callback):
    """Writes logs, and histograms of the weights, for TensorBoard.

    Args:
        log_dir: folder; `train` and `validation` in it hold the files.
        histogram_freq: epochs between histograms; 0 for none.
        write_graph: whether the graph of the training step is written, once.
        write_images: has no effect, which a warning says.
        write_steps_per_second: whether the speed is written.
        update_freq: `epoch`, `batch`, or a number of batches, for the numbers of training.
        profile_batch: the batch, or the first and the last one, that is profiled into
            `log_dir/train`; counted from 1 over all epochs, 0 for none.
        embeddings_freq: has no effect, which a warning says.
        embeddings_metadata: likewise.
    """

    of_the_chief = True

    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: str | int = "epoch",
        profile_batch: Any = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
    ) -> None:
        super().__init__()
        for name, given, why in (
            ("write_images", write_images, "weights are written as histograms (histogram_freq)"),
            ("embeddings_freq", embeddings_freq, "embeddings are not shown"),
            ("embeddings_metadata", embeddings_metadata, "embeddings are not shown"),
        ):
            if given:
                no_effect("TensorBoard", name, why)
        self._profiled = _batches(profile_batch)
        self._batch, self._profiles = 0, False
        self.write_graph = write_graph
        self.log_dir = os.fspath(log_dir)
        self.histogram_freq = histogram_freq
        self.write_steps_per_second = write_steps_per_second
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.wants_batches = update_freq != "epoch" or bool(self._profiled)
        self._writers: dict[str, Any] = {}
        self._steps = self._steps_before = 0
        self._began = 0.0

    def _writer(self, name: str) -> Any:
        if name not in self._writers:
            self._writers[name] = summary.create_file_writer(str(Path(self.log_dir) / name))
        return self._writers[name]

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training: continue the optimizer's step count."""
        self._steps = self._iterations()

    def _iterations(self) -> int:
        optimizer = getattr(self.model, "optimizer", None)
        return int(optimizer.iterations.numpy()) if optimizer is not None else 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch: note the time."""
        self._began, self._steps_before = time.perf_counter(), self._iterations()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a batch: start the profile if this is its first batch."""
        self._batch += 1
        if self._profiled and self._batch == self._profiled[0]:
            from pinnace.profiler import experimental

            experimental.start(str(Path(self.log_dir) / "train"))
            self._profiles = True

    def _end_profile(self) -> None:
        if self._profiles:
            from pinnace.profiler import experimental

            self._profiles = False
            experimental.stop()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a batch: write summaries if they are due."""
        if self._profiled and self._batch >= self._profiled[1]:
            self._end_profile()
        self._steps += 1
        if self.update_freq == "epoch" or self._steps % int(self.update_freq):
            return
        self._write("train", {f"batch_{k}": v for k, v in (logs or {}).items()}, self._steps)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch: write summaries."""
        logs = logs or {}
        training = {k: v for k, v in logs.items() if not k.startswith("val_")}
        testing = {k.removeprefix("val_"): v for k, v in logs.items() if k.startswith("val_")}
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            training["learning_rate"] = float(np.asarray(optimizer.learning_rate))
        if self.write_steps_per_second:
            passed = time.perf_counter() - self._began
            training["steps_per_second"] = (self._iterations() - self._steps_before) / passed
        self._write("train", {f"epoch_{k}": v for k, v in training.items()}, epoch)
        if testing:
            self._write("validation", {f"epoch_{k}": v for k, v in testing.items()}, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            with self._writer("train").as_default():
                for weight in self.model.weights:
                    name = weight.node_name
                    summary.histogram(f"{name}/histogram", weight.value(), step=epoch)
        if self.write_graph:
            self._write_graph()
        for writer in self._writers.values():
            writer.flush()

    def _write_graph(self) -> None:
        """Write the first graph of a training step, unless steps run as plain Python."""
        for (kind, *_), function in self.model._step_functions.made.items():
            if kind == "train" and hasattr(function, "concrete_functions"):
                with self._writer("train").as_default():
                    summary.graph(function.concrete_functions()[0])
                self.write_graph = False
                return

    def _write(self, name: str, values: dict[str, Any], step: int) -> None:
        with self._writer(name).as_default():
            for key, value in values.items():
                summary.scalar(key, value, step=step)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after training: close the files."""
        self._end_profile()
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
