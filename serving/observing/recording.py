"""Requests and their answers on disk: TFRecord files of PredictionLogs.

The record of a request has the tensors of the signature's inputs and outputs, independent of the
protocol. Warm-up and `pinnace replay` read such files.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import OpError, UnavailableError
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.messages.prediction_log import encode_log
from pinnace.serving.observing.background import Background
from pinnace.storage.atomic import sync_file, sync_folder
from pinnace.storage.record import RecordWriter

if TYPE_CHECKING:
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.reply import Reply
    from pinnace.serving.running.signatures import Arrays

_Sample: TypeAlias = "tuple[Servable, str, Arrays, Arrays, float]"

SUFFIX = ".tfrecord"

_FILES = 8  # into which the space is divided
_FLUSH_S = 1.0
_MOST_WAITING_BYTES = 2**28
_PAUSE_S = 30.0  # after a failure, such as a full disk


class Recorder:
    """Writes a part of the answered requests, in a thread.

    A file is `.NAME.part` while it grows, and is renamed when it is complete; the oldest ones are
    removed when all of them are too large.

    Args:
        folder: created if it does not exist.
        fraction: the fraction of requests to record, from 0 to 1.
        max_bytes: limit of all files of the folder together.
        workers: the number of processes that record into the folder.

    Raises:
        UnavailableError: the folder cannot be written.
    """

    def __init__(self, folder: str, fraction: float, max_bytes: int, workers: int = 1) -> None:
        self._folder = Path(folder)
        self._fraction = fraction
        self._room = max(max_bytes // (_FILES * workers), 1)
        self._rest = max_bytes - self._room * workers  # for complete files
        self._random = random.Random()
        self._writer: RecordWriter | None = None
        self._part = self._folder
        self._size = 0
        self._count = 0
        self._flushed = 0.0
        self._paused_until = 0.0
        try:
            self._folder.mkdir(0o750, parents=True, exist_ok=True)  # it has clients' inputs
            probe = self._folder / f".{os.getpid()}.probe"
            probe.write_bytes(b"")
            probe.unlink()
            self._sweep()
        except OSError as error:
            raise UnavailableError(
                f"record {folder}: cannot be written: {error.strerror}"
            ) from None
        self._background: Background[_Sample] = Background(
            "record", self._consume, most_bytes=_MOST_WAITING_BYTES, idle=self._flush
        )

    def observe(self, exchanging: Exchanging, _: Reply | None, error: BaseException | None) -> None:
        """Record an answered request. Called on the event loop."""
        servable, decoded = exchanging.servable, exchanging.decoded
        outputs = exchanging.outputs
        if error is not None or servable is None or decoded is None or outputs is None:
            return
        if decoded.sequence is not None:  # replayed alone, it would have another answer
            return
        if self._fraction < 1 and self._random.random() >= self._fraction:
            return
        size = sum(a.nbytes for arrays in (decoded.feeds, outputs) for a in arrays.values())
        sample = (servable, decoded.signature_name, decoded.feeds, outputs, time.time())
        self._background.put(sample, size)

    def close(self) -> None:
        """Write the pending requests, and finish the file."""
        self._background.close()
        try:
            self._finish()
        except (OpError, OSError) as error:
            LOG.error("record: %s", one_line(error))

    def _consume(self, samples: list[_Sample]) -> None:
        if time.monotonic() < self._paused_until:
            return
        try:
            for sample in samples:
                record = encode_log(*sample)
                self._write(record)
            self._flush()
        except (OpError, OSError):
            self._paused_until = time.monotonic() + _PAUSE_S
            self._abandon()
            raise

    def _write(self, record: bytes) -> None:
        if self._writer is not None and self._size + len(record) > self._room:
            self._finish()
        if self._writer is None:
            self._count += 1
            name = f"requests-{time.time_ns() // 1_000_000}-{os.getpid()}-{self._count}{SUFFIX}"
            self._part = self._folder / f".{name}.part"
            self._writer = RecordWriter(self._part)
            self._size = 0
            self._make_room()
        self._writer.write(record)
        self._size += len(record) + 16

    def _flush(self) -> None:
        now = time.monotonic()
        if self._writer is not None and now - self._flushed >= _FLUSH_S:
            self._flushed = now
            self._writer.flush()

    def _finish(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close()
            with self._part.open("rb+") as file:
                sync_file(file)
            self._part.rename(self._part.with_name(self._part.name[1 : -len(".part")]))
            sync_folder(self._folder)
        except (OpError, OSError):
            self._part.unlink(missing_ok=True)
            raise

    def _abandon(self) -> None:
        """Remove the file that could not be written, which frees its space."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(OpError, OSError):
                writer.close()
            self._part.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove the unfinished files of killed processes."""
        for path in self._folder.glob(f".requests-*{SUFFIX}.part"):
            if os.name == "nt":  # where signal 0 is Ctrl-C, and open files cannot be removed
                with contextlib.suppress(OSError):
                    path.unlink()
                continue
            pid = path.name.split("-")[2]
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                path.unlink(missing_ok=True)
            except (OSError, ValueError):
                continue  # the file of a running process

    def _make_room(self) -> None:
        found = []
        for path in self._folder.glob(f"requests-*{SUFFIX}"):
            with contextlib.suppress(OSError):  # another worker has removed it
                facts = path.stat()
                found.append((facts.st_mtime, facts.st_size, path))
        found.sort()
        total = sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= self._rest:
                break
            path.unlink(missing_ok=True)
            total -= size
